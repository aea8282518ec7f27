//! What a request is, by its method, host and path.

use super::path::CanonicalPath;
use super::reason::Reason;
use crate::config::{Config, RouteConfig, RouteKind, ShopConfig};
use crate::ids::EventId;

/// The part of a request that routes it, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLine<'r> {
    /// Method, such as `POST`.
    pub method: &'r str,
    /// `Host`, with its port if it has one.
    pub host: &'r str,
    /// Path of the request target, not decoded; a query behind it is ignored.
    pub path: &'r str,
}

/// What a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteMatch<'c> {
    /// The shop its host belongs to.
    pub shop: &'c ShopConfig,
    /// What is to be done with it.
    pub target: RouteTarget<'c>,
}

/// What is to be done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteTarget<'c> {
    /// One of Fairgate's own calls.
    Fairgate(FairgateRoute),
    /// It goes to the shop untouched and uncounted.
    Bypass(&'c RouteConfig),
    /// It needs a pass of the event that sells its SKU.
    Gated {
        /// The route, always of kind `Gated`.
        route: &'c RouteConfig,
        /// The path, for a SKU that stands in it.
        path: CanonicalPath,
    },
    /// It goes to the shop under the limits of its route.
    Limited(&'c RouteConfig),
    /// It goes to the shop under the limits of the whole shop, if there are any.
    Open,
}

/// One of Fairgate's own calls (see `docs/protocol.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FairgateRoute {
    /// `GET events/{event}`
    Snapshot(EventId),
    /// `POST events/{event}/ticket`
    Join(EventId),
    /// `GET events/{event}/ticket`
    Status(EventId),
    /// `POST events/{event}/ticket/redeem`
    Redeem(EventId),
    /// `POST events/{event}/ticket/move`
    Move(EventId),
    /// `DELETE events/{event}/ticket`
    Abandon(EventId),
    /// `POST events/{event}/session/renew`
    Renew(EventId),
    /// `POST events/{event}/session/extend`
    Extend(EventId),
    /// `GET wait/{event}`
    WaitPage(EventId),
    /// `GET limits/state`
    KeyState,
    /// `GET jwks.json`
    Jwks,
    /// `OPTIONS` on any of them: a browser asks for permission before a call from another web origin.
    Preflight,
}

impl FairgateRoute {
    /// The event that it is about.
    pub const fn event(&self) -> Option<&EventId> {
        match self {
            Self::Snapshot(event)
            | Self::Join(event)
            | Self::Status(event)
            | Self::Redeem(event)
            | Self::Move(event)
            | Self::Abandon(event)
            | Self::Renew(event)
            | Self::Extend(event)
            | Self::WaitPage(event) => Some(event),
            Self::KeyState | Self::Jwks | Self::Preflight => None,
        }
    }

    /// The event whose room it changes, for the buyer who makes the call.
    pub const fn changed_event(&self) -> Option<&EventId> {
        match self {
            Self::Snapshot(_) | Self::Status(_) | Self::WaitPage(_) => None,
            _ => self.event(),
        }
    }
}

/// A request that goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unroutable {
    /// Why.
    pub reason: Reason,
    /// For [`Reason::MethodNotAllowed`]: the methods that the path has, as `Allow` writes them.
    pub allow: Option<&'static str>,
}

/// Finds out what a request is.
///
/// # Errors
/// [`Unroutable`] with `HOST_UNKNOWN`, `PATH_INVALID`, and under the prefix `ROUTE_UNKNOWN`, `METHOD_NOT_ALLOWED` or
/// `EVENT_UNKNOWN`.
pub fn find<'c>(config: &'c Config, request: &RequestLine<'_>) -> Result<RouteMatch<'c>, Unroutable> {
    let shop = config.shop_of_host(request.host).ok_or(Unroutable::because(Reason::HostUnknown))?;
    let path = CanonicalPath::parse(request.path).map_err(Unroutable::because)?;
    if let Some(call) = call_under_prefix(config, &path) {
        let is_event_ours = |id: &EventId| config.event(id).is_some_and(|event| event.shop_id == shop.id);
        let call = read_call(&call, request.method, is_event_ours)?;
        return Ok(RouteMatch { shop, target: RouteTarget::Fairgate(call) });
    }
    let target = find_shop_route(shop, request.method, path)?;
    Ok(RouteMatch { shop, target })
}

/// Reads one of Fairgate's own calls without regard to hosts, as the queue server does; `None`: not under the prefix.
///
/// # Errors
/// As [`find`], without `HOST_UNKNOWN`.
pub fn find_call(config: &Config, method: &str, path: &str) -> Option<Result<FairgateRoute, Unroutable>> {
    let path = match CanonicalPath::parse(path) {
        Ok(path) => path,
        Err(reason) => return Some(Err(Unroutable::because(reason))),
    };
    let call = call_under_prefix(config, &path)?;
    Some(read_call(&call, method, |id| config.event(id).is_some()))
}

/// Gated routes are looked up before all others, so that no bypass opens a gate by accident. Of the others the first that
/// is written decides.
fn find_shop_route<'c>(
    shop: &'c ShopConfig,
    method: &str,
    path: CanonicalPath,
) -> Result<RouteTarget<'c>, Unroutable> {
    let of_method = || shop.routes.iter().filter(|route| route.accepts(method));
    let mut gated = of_method().filter(|route| matches!(route.kind, RouteKind::Gated { .. }));
    if path.is_ambiguous() {
        // Nothing is gated or limited under this method: whatever the shop reads, it is neither.
        let is_harmless = of_method().all(|route| route.kind == RouteKind::Bypass);
        return if is_harmless {
            Ok(RouteTarget::Open)
        } else {
            Err(Unroutable::because(Reason::PathInvalid))
        };
    }
    if let Some(route) = gated.find(|route| route.pattern.covers(&path)) {
        return Ok(RouteTarget::Gated { route, path });
    }
    let other = of_method().find_map(|route| match route.kind {
        RouteKind::Bypass if route.pattern.matches(&path) => Some(RouteTarget::Bypass(route)),
        RouteKind::Limited if route.pattern.covers(&path) => Some(RouteTarget::Limited(route)),
        _ => None,
    });
    Ok(other.unwrap_or(RouteTarget::Open))
}

/// The segments behind the prefix; `None`: not under the prefix.
fn call_under_prefix<'p>(config: &Config, path: &'p CanonicalPath) -> Option<Vec<&'p str>> {
    let rest = path.segments().strip_prefix(config.site.prefix_path.segments())?;
    Some(rest.iter().map(String::as_str).collect())
}

fn read_call(
    segments: &[&str],
    method: &str,
    is_event_known: impl Fn(&EventId) -> bool,
) -> Result<FairgateRoute, Unroutable> {
    let event = |name: &str| {
        let id = EventId::parse(name).ok().filter(|id| is_event_known(id));
        id.ok_or(Unroutable::because(Reason::EventUnknown))
    };
    let verb = Verb::of(method);
    match segments {
        ["events", name] => verb.only_get(FairgateRoute::Snapshot(event(name)?)),
        ["events", name, "ticket"] => {
            let event = event(name)?;
            match verb {
                Verb::Get => Ok(FairgateRoute::Status(event)),
                Verb::Post => Ok(FairgateRoute::Join(event)),
                Verb::Delete => Ok(FairgateRoute::Abandon(event)),
                Verb::Options => Ok(FairgateRoute::Preflight),
                Verb::Other => Err(Unroutable::method("GET, HEAD, POST, DELETE, OPTIONS")),
            }
        }
        ["events", name, "ticket", "redeem"] => verb.only_post(FairgateRoute::Redeem(event(name)?)),
        ["events", name, "ticket", "move"] => verb.only_post(FairgateRoute::Move(event(name)?)),
        ["events", name, "session", "renew"] => verb.only_post(FairgateRoute::Renew(event(name)?)),
        ["events", name, "session", "extend"] => verb.only_post(FairgateRoute::Extend(event(name)?)),
        ["wait", name] => verb.only_get(FairgateRoute::WaitPage(event(name)?)),
        ["limits", "state"] => verb.only_get(FairgateRoute::KeyState),
        ["jwks.json"] => verb.only_get(FairgateRoute::Jwks),
        _ => Err(Unroutable::because(Reason::RouteUnknown)),
    }
}

/// Methods that Fairgate's own calls know; `HEAD` is a `GET` whose body the host leaves out.
#[derive(Clone, Copy)]
enum Verb {
    Get,
    Post,
    Delete,
    Options,
    Other,
}

impl Verb {
    fn of(method: &str) -> Self {
        match method {
            "GET" | "HEAD" => Self::Get,
            "POST" => Self::Post,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            _ => Self::Other,
        }
    }

    fn only_get(self, call: FairgateRoute) -> Result<FairgateRoute, Unroutable> {
        match self {
            Self::Get => Ok(call),
            Self::Options => Ok(FairgateRoute::Preflight),
            _ => Err(Unroutable::method("GET, HEAD, OPTIONS")),
        }
    }

    fn only_post(self, call: FairgateRoute) -> Result<FairgateRoute, Unroutable> {
        match self {
            Self::Post => Ok(call),
            Self::Options => Ok(FairgateRoute::Preflight),
            _ => Err(Unroutable::method("POST, OPTIONS")),
        }
    }
}

impl Unroutable {
    fn because(reason: Reason) -> Self {
        Self { reason, allow: None }
    }

    fn method(allow: &'static str) -> Self {
        Self { reason: Reason::MethodNotAllowed, allow: Some(allow) }
    }
}
