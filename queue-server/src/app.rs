//! What every request handler sees.

use crate::{
    clock::Clock, document::LiveDocument, keys::PassSigner, leader::Peers, limits::Limits, members::Members,
    metrics::Metrics, origins::Origins, rooms::Rooms,
};
use shared::{config::Config, http::cookie::CookieMode, token::ServerKeys};
use std::sync::Arc;

/// The parts of a running server.
pub struct App {
    pub config: Config,
    /// What edges are given of it.
    pub document: LiveDocument,
    pub clock: Clock,
    pub keys: ServerKeys,
    pub passes: PassSigner,
    pub members: Members,
    pub rooms: Rooms,
    /// The other servers that could run these rooms; `None`: this server alone does.
    pub peers: Option<Peers>,
    pub origins: Origins,
    pub limits: Limits,
    pub metrics: Arc<Metrics>,
}

impl App {
    /// Which cookies this site uses.
    pub fn cookies(&self) -> &CookieMode {
        &self.config.site.cookie_mode
    }
}
