//! `[[shop]]` and `[[shop.route]]`: whose requests these are, and which of them are gated.

use super::name::parse_name;
use super::origin::canonical_host;
use super::policy::Policies;
use super::section::{Section, Value};
use super::unique::Unique;
use super::{PolicyConfig, WebOrigin};
use crate::http::path::{CanonicalPath, RoutePattern};
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
    /// Routes in the order of the file.
    pub routes: Vec<RouteConfig>,
    pub(super) events_by_sku: BTreeMap<Sku, EventId>,
}

impl ShopConfig {
    /// The event that sells `sku`; `None`: it is not on sale behind a gate.
    pub fn event_of_sku(&self, sku: &Sku) -> Option<&EventId> {
        self.events_by_sku.get(sku)
    }
}

/// One route of a shop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// Methods and pattern, such as `POST /cart/items`: the name of the route in keys and counts, never a raw path.
    pub id: String,
    /// Methods in upper case; empty: every method.
    pub methods: Vec<String>,
    /// The path, with `{name}` for a segment that varies.
    pub pattern: RoutePattern,
    /// What is done with a request that matches.
    pub kind: RouteKind,
}

/// What is done with a request of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// It goes to the shop untouched and uncounted.
    Bypass,
    /// It needs a pass of the event that sells its SKU.
    Gated {
        /// Where the SKU stands in the request.
        sku: SkuSource,
        /// Policies it must satisfy, all of them, in this order.
        limits: Vec<Arc<PolicyConfig>>,
    },
}

/// Where the SKU stands in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkuSource {
    /// Field of a JSON body, outermost first: `json = "item.sku"` is `["item", "sku"]`.
    Json(Vec<String>),
    /// Field of an `application/x-www-form-urlencoded` body.
    Form(String),
    /// Parameter of the query string.
    Query(String),
    /// A `{name}` segment of the route's pattern.
    Path(String),
}

impl ShopConfig {
    pub(super) fn read_all(
        root: &mut Section<'_>,
        policies: &Policies,
        prefix: Option<&CanonicalPath>,
    ) -> Vec<Self> {
        let mut names = Names { shops: Unique::new(), hosts: Unique::new() };
        let sections = root.tables("shop", SHOPS_MAX);
        if sections.is_empty() {
            root.error("no shop; add a [[shop]] with id, hosts and origin");
        }
        let mut shops = Vec::new();
        for mut section in sections {
            shops.extend(Self::read(&mut section, policies, prefix, &mut names));
            section.finish();
        }
        shops
    }

    fn read(
        section: &mut Section<'_>,
        policies: &Policies,
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
        let mut routes = Vec::new();
        let mut patterns = Unique::new();
        for mut route in section.tables("route", ROUTES_MAX) {
            routes.extend(RouteConfig::read(&mut route, policies, prefix, &mut patterns));
            route.finish();
        }
        let id = id?;
        names.shops.claim(id.clone(), &id, &id_value?);
        Some(Self { id, hosts, origin: origin?, allowed_origins, routes, events_by_sku: BTreeMap::new() })
    }
}

impl RouteConfig {
    /// Whether the route is for this method; one that answers `GET` answers `HEAD` too.
    pub(crate) fn accepts(&self, method: &str) -> bool {
        let is_own = |own: &String| {
            own.eq_ignore_ascii_case(method) || (own == "GET" && method.eq_ignore_ascii_case("HEAD"))
        };
        self.methods.is_empty() || self.methods.iter().any(is_own)
    }

    fn read(
        section: &mut Section<'_>,
        policies: &Policies,
        prefix: Option<&CanonicalPath>,
        patterns: &mut Unique<(RoutePattern, String)>,
    ) -> Option<Self> {
        let methods = read_methods(section);
        let path = section.required("path", "\"/<path>\"");
        let pattern = path.as_ref().and_then(|value| value.parsed(RoutePattern::parse));
        let bypass = section.optional("bypass");
        let sku = section.optional("sku");
        let limits = section.optional("limits");
        let is_bypass = bypass.as_ref().and_then(Value::boolean).unwrap_or(false);
        let kind = match (is_bypass, sku) {
            (true, None) if limits.is_none() => Some(RouteKind::Bypass),
            (false, Some(sku)) => {
                if methods.is_empty() {
                    section.error("a gated route names its methods; write methods = [\"POST\"]");
                }
                let limits = limits.map(|value| policies.read_limits(&value)).unwrap_or_default();
                SkuSource::read(&sku, pattern.as_ref()).map(|sku| RouteKind::Gated { sku, limits })
            }
            (true, _) => {
                section
                    .error("a bypassed route is neither gated nor limited; remove bypass, or sku and limits");
                None
            }
            (false, None) => {
                section.error("write sku = { json = \"<field>\" } to gate the route, or bypass = true");
                None
            }
        };
        let (pattern, path) = (pattern?, path?);
        if let Some(prefix) = prefix.filter(|prefix| pattern.may_be_under(prefix)) {
            path.error(format!("{prefix} belongs to Fairgate's own calls; choose a path outside it"));
        }
        let any_method = vec![String::new()];
        for method in if methods.is_empty() { &any_method } else { &methods } {
            patterns.claim((pattern.clone(), method.clone()), &pattern, &path);
        }
        let id =
            if methods.is_empty() { pattern.to_string() } else { format!("{} {pattern}", methods.join(",")) };
        Some(Self { id, methods, pattern, kind: kind? })
    }
}

impl SkuSource {
    fn read(value: &Value<'_>, pattern: Option<&RoutePattern>) -> Option<Self> {
        let mut table = value.table()?;
        let json = table.optional("json").and_then(|value| value.parsed(parse_json_path));
        let form = table.optional("form").and_then(|value| value.parsed(parse_field));
        let query = table.optional("query").and_then(|value| value.parsed(parse_field));
        let segment = table.optional("path").and_then(|value| {
            let is_there = |name: &str| pattern.is_none_or(|pattern| pattern.has_name(name));
            let parse = |name: &str| is_there(name).then(|| name.to_owned());
            value
                .parsed(|name| parse(name).ok_or("name a {segment} of this route's path, without its braces"))
        });
        table.finish();
        let sources =
            [json.map(Self::Json), form.map(Self::Form), query.map(Self::Query), segment.map(Self::Path)];
        let mut sources = sources.into_iter().flatten();
        let source = sources.next();
        if source.is_none() || sources.next().is_some() {
            value.error("write exactly one of json, form, query and path, such as { json = \"item.sku\" }");
        }
        source
    }
}

/// What shops must not name twice.
struct Names {
    shops: Unique<String>,
    hosts: Unique<String>,
}

fn read_hosts(section: &mut Section<'_>, names: &mut Unique<String>) -> Vec<String> {
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
        if names.claim(host.clone(), &host, &item) {
            hosts.push(host);
        }
    }
    hosts
}

fn read_methods(section: &mut Section<'_>) -> Vec<String> {
    let parse = |text: &str| match text {
        "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => Ok(text.to_owned()),
        _ => Err("write GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"),
    };
    section.list("methods", METHODS_MAX).iter().filter_map(|item| item.parsed(parse)).collect()
}

fn parse_json_path(text: &str) -> Result<Vec<String>, &'static str> {
    let names: Vec<String> = text.split('.').map(str::to_owned).collect();
    let is_fit = names.len() <= JSON_NAMES_MAX && names.iter().all(|name| parse_field(name).is_ok());
    if is_fit { Ok(names) } else { Err("write 1 to 8 field names with dots between, outermost first") }
}

fn parse_field(text: &str) -> Result<String, &'static str> {
    let is_fit = (1..=64).contains(&text.len()) && !text.chars().any(char::is_control);
    if is_fit { Ok(text.to_owned()) } else { Err("write a field name of 1 to 64 bytes") }
}

const SHOPS_MAX: usize = 256;
const HOSTS_MAX: usize = 64;
const ROUTES_MAX: usize = 256;
const ALLOWED_ORIGINS_MAX: usize = 64;
const METHODS_MAX: usize = 7;
const JSON_NAMES_MAX: usize = 8;
