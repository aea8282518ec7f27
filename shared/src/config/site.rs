//! The whole file, and `[site]`, `[edge]`, `[server]`.

use super::actions::Actions;
use super::origin::canonical_host;
use super::policy::{LimitChoice, ListOf, Policies};
use super::section::{Report, Section};
use super::shop::SitePolicies;
use super::{
    Callers, ConfigErrors, EventConfig, JoinConfig, OriginConfig, PolicyConfig, PollConfig, ShopConfig,
    StoreConfig, WebOrigin,
};
use crate::http::client::Ipv6Prefix;
use crate::http::cookie::{CookieDomain, CookieMode};
use crate::http::path::CanonicalPath;
use crate::http::ratelimit::{Draft, LimitFields};
use crate::ids::EventId;
use crate::tree;
use core::net::SocketAddr;
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::de::DeTable;

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
    /// Watched servers of shops.
    pub origins: Vec<OriginConfig>,
    /// Policies in the order of the file, then the built-in ones that it does not replace.
    pub policies: Vec<Arc<PolicyConfig>>,
    /// Limits on joining.
    pub join: JoinConfig,
    /// Budget of polls.
    pub poll: PollConfig,
    /// API clients, and who passes by all limits.
    pub callers: Callers,
    shops_by_host: BTreeMap<String, usize>,
}

impl Config {
    /// Reads and checks the text of a configuration file; `file_name` only appears in errors.
    ///
    /// # Errors
    /// [`ConfigErrors`] with everything found wrong: first what is not TOML; once it is TOML, every key that is unknown,
    /// missing, out of range, named twice or names nothing.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, ConfigErrors> {
        let report = Report::new(file_name, text);
        if text.len() > FILE_BYTES_MAX {
            report.add(0, "", format!("write at most {FILE_BYTES_MAX} bytes; got {}", text.len()));
            return Err(report.into_errors());
        }
        let (document, syntax_errors) = DeTable::parse_recoverable(text);
        if !syntax_errors.is_empty() {
            for error in &syntax_errors {
                report.add(
                    error.span().unwrap_or_default().start,
                    "",
                    format!("not TOML: {}", error.message()),
                );
            }
            return Err(report.into_errors());
        }
        let config = Self::read(Section::root(&report, document.get_ref()));
        let errors = report.into_errors();
        config.filter(|_| errors.0.is_empty()).ok_or(errors)
    }

    /// The event of this name.
    pub fn event(&self, id: &EventId) -> Option<&EventConfig> {
        self.events.iter().find(|event| event.id == *id)
    }

    /// The shop of this name.
    pub fn shop(&self, id: &str) -> Option<&ShopConfig> {
        self.shops.iter().find(|shop| shop.id == id)
    }

    /// The watched server of a shop.
    pub fn origin_of(&self, shop: &ShopConfig) -> Option<&OriginConfig> {
        self.origins.iter().find(|origin| origin.url == shop.origin)
    }

    /// The shop that a `Host` value belongs to, in any spelling of it.
    pub fn shop_of_host(&self, host: &str) -> Option<&ShopConfig> {
        let index = self.shops_by_host.get(&canonical_host(host)?)?;
        self.shops.get(*index)
    }

    /// Reads every section even after an error, so that all errors are told; `None` only where one was noted.
    fn read(mut root: Section<'_>) -> Option<Self> {
        let edge = EdgeConfig::read(root.table("edge"));
        let server = ServerConfig::read(root.table("server"), root.table("store"));
        let policies = Policies::read(&mut root);
        let site = SiteConfig::read(root.table("site"), &policies);
        let join = JoinConfig::read(root.table("join"), &policies);
        let poll = PollConfig::read(root.table("poll"));
        let prefix = site.as_ref().map(|site| site.prefix_path.clone());
        let site_limits = site.as_ref().map(|site| site.limits.clone()).unwrap_or_default();
        let actions = Actions::read(root.table("actions"));
        let of_site = SitePolicies { policies: &policies, actions, limits: &site_limits };
        let mut shops = ShopConfig::read_all(&mut root, &of_site, prefix.as_ref());
        let events = EventConfig::read_all(&mut root, &mut shops);
        let origins = OriginConfig::read_all(&mut root, &shops);
        let callers = Callers::read(&mut root, &policies, &shops);
        root.finish();
        let hosts = shops
            .iter()
            .enumerate()
            .flat_map(|(index, shop)| shop.hosts.iter().map(move |host| (host, index)));
        let shops_by_host = tree::map(hosts.map(|(host, index)| (host.clone(), index)));
        let policies = policies.into_all();
        Some(Self {
            site: site?,
            edge: edge?,
            server: server?,
            shops,
            events,
            origins,
            policies,
            join,
            poll: poll?,
            callers,
            shops_by_host,
        })
    }
}

/// `[site]`: what both hosts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteConfig {
    /// Path of Fairgate's own calls, without a trailing slash; `/.fairgate` by default.
    pub prefix: String,
    /// Where buyers reach the edge; https, or http on this machine.
    pub public_url: WebOrigin,
    /// Networks whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// What of an IPv6 address is one client to the limits.
    pub ipv6_prefix: Ipv6Prefix,
    /// Names and scope of the cookies, from `public_url` and `cookie_domain`.
    pub cookie_mode: CookieMode,
    /// What limits every request of every shop that is not bypassed.
    pub limits: Vec<LimitChoice>,
    /// How replies tell of limits.
    pub limit_fields: LimitFields,
    pub(crate) prefix_path: CanonicalPath,
}

impl SiteConfig {
    fn read(mut section: Section<'_>, policies: &Policies) -> Option<Self> {
        let prefix = section.optional("prefix");
        let prefix =
            prefix.map_or_else(|| parse_prefix("/.fairgate").ok(), |value| value.parsed(parse_prefix));
        let public_url = section.required("public_url", "\"https://<host that buyers see>\"");
        let public_url = public_url.and_then(|value| value.parsed(parse_public_url));
        let trusted_proxies = section.list("trusted_proxies", NETWORKS_MAX);
        let trusted_proxies = trusted_proxies.iter().filter_map(|item| item.parsed(parse_network)).collect();
        let ipv6_prefix = section.optional("ipv6_prefix");
        let ipv6_prefix =
            ipv6_prefix.map_or(Some(Ipv6Prefix::default()), |value| value.parsed(Ipv6Prefix::parse));
        let cookie_domain =
            section.optional("cookie_domain").and_then(|value| value.parsed(CookieDomain::parse));
        let limits = section
            .optional("limits")
            .map(|value| policies.read_limits(&value, ListOf::Site))
            .unwrap_or_default();
        let draft = section.optional("ratelimit_fields");
        let draft = draft.map_or(Some(Draft::default()), |value| value.parsed(Draft::parse));
        let x_rate_limit = section.optional("x_ratelimit").map_or(Some(false), |value| value.boolean());
        section.finish();
        let (prefix, prefix_path) = prefix?;
        let public_url = public_url?;
        let cookie_mode = match cookie_domain {
            _ if !public_url.is_https() => CookieMode::Development,
            Some(domain) => CookieMode::Domain(domain),
            None => CookieMode::Host,
        };
        let limit_fields = LimitFields { draft: draft?, x_rate_limit: x_rate_limit? };
        Some(Self {
            prefix,
            public_url,
            trusted_proxies,
            ipv6_prefix: ipv6_prefix?,
            cookie_mode,
            limits,
            limit_fields,
            prefix_path,
        })
    }
}

/// `[edge]`: what only the edge needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeConfig {
    /// Where the edge reaches the queue server.
    pub queue_server: WebOrigin,
    /// Who says what the client's address is; the platform by default.
    pub client_ip: ClientIpSource,
}

/// Who says what the client's address is, before `X-Forwarded-For` is read over trusted hops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientIpSource {
    /// `client_ip = "peer"`: the platform, which knows the peer of the connection (`CF-Connecting-IP` on Cloudflare).
    Peer,
    /// A header of this name, in lower case, that the CDN in front always sets itself.
    Header(String),
}

impl EdgeConfig {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let queue_server = section.required("queue_server", "\"http://<host of the queue server>\"");
        let queue_server = queue_server.and_then(|value| value.parsed(WebOrigin::parse));
        let client_ip = section.optional("client_ip");
        let client_ip =
            client_ip.map_or(Some(ClientIpSource::Peer), |value| value.parsed(ClientIpSource::parse));
        section.finish();
        Some(Self { queue_server: queue_server?, client_ip: client_ip? })
    }
}

impl ClientIpSource {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let name = text.to_ascii_lowercase();
        let is_header = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        match name.as_str() {
            "peer" => Ok(Self::Peer),
            "x-forwarded-for" => Err("X-Forwarded-For is read over trusted_proxies; write \"peer\""),
            _ if is_header => Ok(Self::Header(name)),
            _ => Err("write \"peer\", or the name of a header that the CDN in front always sets"),
        }
    }
}

/// `[server]`: what only the queue server needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Address to listen on; `127.0.0.1:8701` by default.
    pub listen: SocketAddr,
    /// Directory of the store and of generated secrets; `.fairgate` by default.
    pub data_dir: String,
    /// Where other queue servers reach this one; `None`: at `listen`.
    pub advertise: Option<WebOrigin>,
    /// Where the rooms are kept.
    pub store: StoreConfig,
}

impl ServerConfig {
    fn read(mut section: Section<'_>, store: Section<'_>) -> Option<Self> {
        let store = StoreConfig::read(store);
        let parse_listen =
            |text: &str| text.parse().map_err(|_| "write <address>:<port>, such as 127.0.0.1:8701");
        let listen = section.optional("listen");
        let default = || Some(SocketAddr::from(([127, 0, 0, 1], 8701)));
        let listen = listen.map_or_else(default, |value| value.parsed(parse_listen));
        let data_dir = section.optional("data_dir").map_or(Some(".fairgate"), |value| value.text());
        let advertise = section.optional("advertise");
        let advertise = advertise.map_or(Some(None), |value| value.parsed(WebOrigin::parse).map(Some));
        section.finish();
        Some(Self { listen: listen?, data_dir: data_dir?.to_owned(), advertise: advertise?, store: store? })
    }
}

fn parse_prefix(text: &str) -> Result<(String, CanonicalPath), &'static str> {
    let path = CanonicalPath::parse(text).ok().filter(|path| text != "/" && path.to_string() == text);
    path.map(|path| (text.to_owned(), path))
        .ok_or("write a path such as /.fairgate, in lower case, without a slash behind")
}

fn parse_public_url(text: &str) -> Result<WebOrigin, String> {
    let url = WebOrigin::parse(text).map_err(|error| error.to_string())?;
    if url.is_https() || url.is_loopback() {
        Ok(url)
    } else {
        Err("buyers' cookies need https; write https://, or http://localhost for development".to_owned())
    }
}

pub(super) fn parse_network(text: &str) -> Result<IpNet, &'static str> {
    text.parse().map_err(|_| "write a network such as 10.0.0.0/8 or 2001:db8::/32")
}

/// Longest configuration file, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 1024 * 1024;

const NETWORKS_MAX: usize = 256;
