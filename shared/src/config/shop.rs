//! `[[shop]]` and `[[shop.route]]`: whose requests these are, and which of them are gated.

use super::{PolicyConfig, WebOrigin};
use crate::http::path::RoutePattern;
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
