//! What every request handler sees.

use crate::{clock::Clock, keys::PassSigner, metrics::Metrics, rooms::Rooms};
use shared::{
    config::{Config, SiteConfig},
    http::cookie::{CookieDomain, CookieMode},
    token::ServerKeys,
};
use std::sync::Arc;

/// The parts of a running server.
pub struct App {
    pub config: Config,
    pub clock: Clock,
    pub keys: ServerKeys,
    pub passes: PassSigner,
    pub rooms: Rooms,
    pub metrics: Arc<Metrics>,
    pub cookies: CookieMode,
}

/// Which cookies this site uses. A domain that is none was refused with the configuration.
pub fn cookie_mode(site: &SiteConfig) -> CookieMode {
    let domain = site.cookie_domain.as_deref().and_then(|domain| CookieDomain::parse(domain).ok());
    match domain {
        _ if site.is_development() => CookieMode::Development,
        Some(domain) => CookieMode::Domain(domain),
        None => CookieMode::Host,
    }
}
