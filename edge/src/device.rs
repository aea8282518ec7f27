//! A device for a client that has none: its cookie travels with the join and with every answer to it, a refusal too, so that
//! whoever tries again after an answer that was lost has the same place.

use crate::incoming::Incoming;
use shared::gate::Buyer;
use shared::http::cookie::{Cookie, DEVICE_LIFE};
use shared::token::DeviceId;
use uuid::Uuid;

/// The cookie of a device that was made just now.
pub(crate) struct NewDevice {
    /// Name and value, as the client would send them.
    pub(crate) pair: String,
    pub(crate) set_cookie: String,
}

impl NewDevice {
    /// `None` for a client that has a device.
    pub(crate) fn of(incoming: &Incoming, buyer: &Buyer<'_>) -> Option<Self> {
        if buyer.device.is_some() {
            return None;
        }
        let mode = &incoming.isolate.config.site.cookie_mode;
        let value = incoming.isolate.keys.seal_device(&DeviceId(*Uuid::new_v4().as_bytes()));
        Some(Self {
            pair: format!("{}={value}", mode.name(Cookie::Device)),
            set_cookie: mode.set(Cookie::Device, &value, DEVICE_LIFE),
        })
    }
}
