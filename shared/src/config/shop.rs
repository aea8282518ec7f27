//! `[[shop]]`: whose requests these are.

use super::actions::Actions;
use super::name::parse_name;
use super::origin::canonical_host;
use super::policy::{Policies, ShopPolicies};
use super::route::Surroundings;
use super::section::Section;
use super::unique::Unique;
use super::{LimitChoice, MembersConfig, PolicyConfig, RouteConfig, WebOrigin};
use crate::http::path::CanonicalPath;
use crate::http::sku::Sku;
use crate::ids::EventId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One shop behind the edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShopConfig {
    /// Name, `[a-z0-9-]{1,32}`, unique in the file; the audience of its passes.
    pub id: String,
    /// `Host` values that belong to this shop, in lower case, without the ports 80 and 443.
    pub hosts: Vec<String>,
    /// Where the shop's requests go.
    pub origin: WebOrigin,
    /// Other web origins that may call the buyer side with cookies.
    pub allowed_origins: Vec<WebOrigin>,
    /// Every policy as this shop has it, in the order of the file.
    pub policies: Vec<Arc<PolicyConfig>>,
    /// What limits every request of the shop that is not bypassed, `[site]`'s limits included.
    pub limits: Vec<LimitChoice>,
    /// Routes in the order of the file.
    pub routes: Vec<RouteConfig>,
    /// How the shop proves who its members are; `None`: it does not.
    pub members: Option<MembersConfig>,
    pub(super) events_by_sku: BTreeMap<Sku, EventId>,
}

impl ShopConfig {
    /// The event that sells `sku`; `None`: it is not on sale behind a gate.
    pub fn event_of_sku(&self, sku: &Sku) -> Option<&EventId> {
        self.events_by_sku.get(sku)
    }

    /// The policy of this name with the shop's own numbers.
    pub fn policy(&self, name: &str) -> Option<&Arc<PolicyConfig>> {
        self.policies.iter().find(|policy| policy.name == name)
    }

    /// The route of this id.
    pub fn route(&self, id: &str) -> Option<&RouteConfig> {
        self.routes.iter().find(|route| route.id == id)
    }
}

impl ShopConfig {
    pub(super) fn read_all(
        root: &mut Section<'_>,
        site: &SitePolicies<'_>,
        prefix: Option<&CanonicalPath>,
    ) -> Vec<Self> {
        let mut names = Names { shops: Unique::new(), hosts: Unique::new() };
        let sections = root.tables("shop", SHOPS_MAX);
        if sections.is_empty() {
            root.error("no shop; add a [[shop]] with id, hosts and origin");
        }
        let mut shops = Vec::new();
        for mut section in sections {
            shops.extend(Self::read(&mut section, site, prefix, &mut names));
            section.finish();
        }
        shops
    }

    fn read(
        section: &mut Section<'_>,
        site: &SitePolicies<'_>,
        prefix: Option<&CanonicalPath>,
        names: &mut Names,
    ) -> Option<Self> {
        let id_value = section.required("id", "\"<name>\"");
        let id = id_value.as_ref().and_then(|value| value.parsed(parse_name));
        let hosts = read_hosts(section, &mut names.hosts);
        let origin = section.required("origin", "\"http://<host of the shop's own server>\"");
        let origin = origin.and_then(|value| value.parsed(WebOrigin::parse));
        let allowed_origins = section.list("allowed_origins", ALLOWED_ORIGINS_MAX);
        let allowed_origins =
            allowed_origins.iter().filter_map(|item| item.parsed(WebOrigin::parse)).collect();
        let policies = ShopPolicies::read(section, site.policies, &site.actions);
        let limits = policies.read_limits(section, site.limits);
        let mut surroundings = Surroundings::new(&policies, &limits, prefix);
        let mut routes = Vec::new();
        for mut route in section.tables("route", ROUTES_MAX) {
            routes.extend(RouteConfig::read(&mut route, &mut surroundings));
            route.finish();
        }
        let members = MembersConfig::read(section);
        let id = id?;
        names.shops.claim(&id, &id_value?);
        let events_by_sku = BTreeMap::new();
        Some(Self {
            id,
            hosts,
            origin: origin?,
            allowed_origins,
            policies: policies.into_all(),
            limits,
            routes,
            members,
            events_by_sku,
        })
    }
}

/// What the site says about limits, before a shop has its say.
pub(super) struct SitePolicies<'a> {
    pub(super) policies: &'a Policies,
    pub(super) actions: Actions,
    /// What limits every request.
    pub(super) limits: &'a [LimitChoice],
}

/// What shops must not name twice.
struct Names {
    shops: Unique,
    hosts: Unique,
}

fn read_hosts(section: &mut Section<'_>, names: &mut Unique) -> Vec<String> {
    let Some(value) = section.required("hosts", "[\"<host>\"]") else { return Vec::new() };
    let items = value.list(HOSTS_MAX);
    if items.is_empty() {
        value.error("name at least one host, as browsers send it");
    }
    let parse =
        |text: &str| canonical_host(text).ok_or("write a host name, with :port unless it is 80 or 443");
    let mut hosts = Vec::new();
    for item in items {
        let Some(host) = item.parsed(parse) else { continue };
        if names.claim(&host, &item) {
            hosts.push(host);
        }
    }
    hosts
}

const SHOPS_MAX: usize = 256;
const HOSTS_MAX: usize = 64;
const ROUTES_MAX: usize = 256;
const ALLOWED_ORIGINS_MAX: usize = 64;
