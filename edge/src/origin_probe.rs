//! Whether the shop was called at all. The runtime does not tell a refused connection from one that broke while the shop
//! worked, and quota must never go back after the shop was called. So after a request that got no reply, the next ones
//! first see whether a connection can be made: where it cannot, the request is not sent, and its quota goes back.

use crate::isolate::Platform;
use crate::limits::Limits;
use futures_util::future::{Either, select};
use shared::config::{ShopConfig, WebOrigin};
use std::pin::pin;
use std::time::Duration;
use worker::web_sys::Response;
use worker::{Delay, Socket};

/// Whether this request need not be sent, because no connection to the shop can be made.
pub(crate) async fn cannot_connect(limits: &Limits<'_>, shop: &ShopConfig) -> bool {
    let isolate = &limits.incoming().isolate;
    let is_silent = isolate.memory.silent_shops.borrow().contains_key(&shop.id);
    // Cloudflare says by a status of its own that a connection was refused, and does not let every address be connected to.
    if !is_silent || isolate.platform != Platform::Workerd {
        return false;
    }
    let can_connect = connects(&shop.origin).await;
    if can_connect {
        isolate.memory.silent_shops.borrow_mut().remove(&shop.id);
    }
    !can_connect
}

/// Notes that a request got no reply.
pub(crate) fn note_silence(limits: &Limits<'_>, shop: &ShopConfig) {
    limits.incoming().isolate.memory.silent_shops.borrow_mut().insert(shop.id.clone(), ());
}

/// Whether the reply is Cloudflare's own, for a connection that the shop's machine refused, or that found none.
pub(crate) fn is_refused_connection(limits: &Limits<'_>, response: &Response) -> bool {
    limits.incoming().isolate.platform == Platform::Cloudflare && matches!(response.status(), 521 | 523)
}

async fn connects(origin: &WebOrigin) -> bool {
    let authority = origin.authority();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let port = port.unwrap_or(if origin.is_https() { 443 } else { 80 });
    let Ok(mut socket) = Socket::builder().connect(host, port) else { return true };
    let opened = match select(pin!(socket.opened()), Delay::from(BUDGET)).await {
        Either::Left((opened, _)) => opened.is_ok(),
        // A slow machine is not one that refuses.
        Either::Right(_) => true,
    };
    let _ = socket.close().await;
    opened
}

const BUDGET: Duration = Duration::from_secs(1);
