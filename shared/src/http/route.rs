//! What a request is, by its method, host and path.

use super::path::CanonicalPath;
use super::reason::Reason;
use crate::config::{Config, RouteConfig, ShopConfig};
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
    /// It goes to the shop.
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
    /// `DELETE events/{event}/ticket`
    Abandon(EventId),
    /// `POST events/{event}/session/renew`
    Renew(EventId),
    /// `GET wait/{event}`
    WaitPage(EventId),
    /// `GET jwks.json`
    Jwks,
    /// `GET assets/{name}`: a file of the waiting page.
    Asset(String),
    /// `OPTIONS` on any of them: a browser asks for permission before a call from another web origin.
    Preflight,
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
    let _ = (config, request);
    Err(Unroutable { reason: Reason::HostUnknown, allow: None })
}

/// Reads one of Fairgate's own calls without regard to hosts, as the queue server does; `None`: not under the prefix.
///
/// # Errors
/// As [`find`], without `HOST_UNKNOWN`.
pub fn find_call(config: &Config, method: &str, path: &str) -> Option<Result<FairgateRoute, Unroutable>> {
    let _ = (config, method, path);
    None
}
