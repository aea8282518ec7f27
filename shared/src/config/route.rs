//! `[[shop.route]]`: which requests of a shop are gated, limited or bypassed.

use super::actions::ActionName;
use super::policy::{LimitChoice, ListOf, ShopPolicies};
use super::section::{Section, Value};
use super::unique::Unique;
use crate::http::path::{CanonicalPath, RoutePattern};

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
    /// What it does, as `[actions]` names it.
    pub action: Option<ActionName>,
    /// What such a request must satisfy, all of it: the limits of the site, of the shop, the route's own, and
    /// its action's.
    pub limits: Vec<LimitChoice>,
}

/// What is done with a request of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// It goes to the shop untouched and uncounted.
    Bypass,
    /// It goes to the shop under its limits.
    Limited,
    /// It needs a pass of the event that sells its SKU.
    Gated {
        /// Where the SKU stands in the request.
        sku: SkuSource,
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

/// What the routes of one shop have in common.
pub(super) struct Surroundings<'a> {
    policies: &'a ShopPolicies,
    /// What limits every route.
    limits: &'a [LimitChoice],
    /// Path of Fairgate's own calls.
    prefix: Option<&'a CanonicalPath>,
    patterns: Unique,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(
        policies: &'a ShopPolicies,
        limits: &'a [LimitChoice],
        prefix: Option<&'a CanonicalPath>,
    ) -> Self {
        Self { policies, limits, prefix, patterns: Unique::new() }
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

    pub(super) fn read(section: &mut Section<'_>, surroundings: &mut Surroundings<'_>) -> Option<Self> {
        let methods = read_methods(section);
        let path = section.required("path", "\"/<path>\"");
        let pattern = path.as_ref().and_then(|value| value.parsed(RoutePattern::parse));
        let bypass = section.optional("bypass");
        let sku = section.optional("sku");
        let own_limits = section.optional("limits");
        let action_value = section.optional("action");
        let action = action_value.as_ref().and_then(|value| value.parsed(ActionName::parse));
        let has_limits = own_limits.is_some() || action_value.is_some();
        let is_bypass = bypass.as_ref().and_then(Value::boolean).unwrap_or(false);
        let kind = match (is_bypass, sku) {
            (true, None) if !has_limits => Some(RouteKind::Bypass),
            (true, _) => {
                section.error(
                    "a bypassed route is neither gated nor limited; remove bypass, or sku, limits and action",
                );
                None
            }
            (false, Some(sku)) => {
                if methods.is_empty() {
                    section.error("a gated route names its methods; write methods = [\"POST\"]");
                }
                SkuSource::read(&sku, pattern.as_ref()).map(|sku| RouteKind::Gated { sku })
            }
            (false, None) if has_limits => Some(RouteKind::Limited),
            (false, None) => {
                section.error(
                    "write sku = { json = \"<field>\" } to gate the route, limits = [\"<policy>\"] to limit it, \
                     or bypass = true",
                );
                None
            }
        };
        let list =
            if matches!(kind, Some(RouteKind::Limited)) { ListOf::OpenRoute } else { ListOf::GatedRoute };
        let limits = if is_bypass {
            Vec::new()
        } else {
            let action = action.as_ref().zip(action_value.as_ref());
            surroundings.policies.route_limits(own_limits.as_ref(), action, surroundings.limits, list)
        };
        let (pattern, path) = (pattern?, path?);
        if let Some(prefix) = surroundings.prefix.filter(|prefix| pattern.may_be_under(prefix)) {
            path.error(format!("{prefix} belongs to Fairgate's own calls; choose a path outside it"));
        }
        let any_method = vec![String::new()];
        for method in if methods.is_empty() { &any_method } else { &methods } {
            surroundings.patterns.claim_shown(format!("{method} {pattern}"), &pattern, &path);
        }
        let id =
            if methods.is_empty() { pattern.to_string() } else { format!("{} {pattern}", methods.join(",")) };
        Some(Self { id, methods, pattern, kind: kind?, action, limits })
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

const METHODS_MAX: usize = 7;
const JSON_NAMES_MAX: usize = 8;
