//! The whole file, and `[site]`, `[edge]`, `[server]`.

use super::{ConfigErrors, EventConfig, JoinConfig, PolicyConfig, PollConfig, ShopConfig, WebOrigin};
use crate::ids::EventId;
use core::net::SocketAddr;
use ipnet::IpNet;
use std::sync::Arc;

/// A checked `fairgate.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What both hosts share.
    pub site: SiteConfig,
    /// What only the edge needs.
    pub edge: EdgeConfig,
    /// What only the queue server needs.
    pub server: ServerConfig,
    /// Shops in the order of the file.
    pub shops: Vec<ShopConfig>,
    /// Events in the order of the file.
    pub events: Vec<EventConfig>,
    /// Policies in the order of the file.
    pub policies: Vec<Arc<PolicyConfig>>,
    /// Limits on joining.
    pub join: JoinConfig,
    /// Budget of polls.
    pub poll: PollConfig,
}

impl Config {
    /// Reads and checks the text of a configuration file; `file_name` only appears in errors.
    ///
    /// # Errors
    /// [`ConfigErrors`] with everything found wrong.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, ConfigErrors> {
        let _ = (file_name, text);
        Err(ConfigErrors(Vec::new()))
    }

    /// The event of this name.
    pub fn event(&self, id: &EventId) -> Option<&EventConfig> {
        self.events.iter().find(|event| event.id == *id)
    }

    /// The shop of this name.
    pub fn shop(&self, id: &str) -> Option<&ShopConfig> {
        self.shops.iter().find(|shop| shop.id == id)
    }
}

/// `[site]`: what both hosts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteConfig {
    /// Path of Fairgate's own calls, without a trailing slash; `/.fairgate` by default.
    pub prefix: String,
    /// Where buyers reach the edge.
    pub public_url: WebOrigin,
    /// Networks whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// `Domain` of the cookies; `None`: the host alone (`__Host-`).
    pub cookie_domain: Option<String>,
}

impl SiteConfig {
    /// Whether cookies are the unprefixed ones for development: exactly when `public_url` is not https.
    pub fn is_development(&self) -> bool {
        !self.public_url.is_https()
    }
}

/// `[edge]`: what only the edge needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeConfig {
    /// Where the edge reaches the queue server.
    pub queue_server: WebOrigin,
    /// Who says what the client's address is.
    pub client_ip: ClientIpSource,
}

/// Who says what the client's address is, before `X-Forwarded-For` is read over trusted hops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientIpSource {
    /// The platform: the peer of the connection (`CF-Connecting-IP` on Cloudflare).
    Peer,
    /// A header of this name, in lower case, that the CDN in front always sets itself.
    Header(String),
}

/// `[server]`: what only the queue server needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Address to listen on; `127.0.0.1:8701` by default.
    pub listen: SocketAddr,
    /// Directory of the store and of generated secrets; `.fairgate` by default.
    pub data_dir: String,
}
