//! What `fairgate.toml` says, or where it is wrong.
//!
//! One file is shared by the edge and the queue server. [`Config::parse`] either returns a configuration in which every
//! reference resolves and every number is in range, or all the errors it found, each with file, line and key.

mod actions;
mod budgets;
mod change;
mod clients;
mod coverage;
mod error;
mod event;
mod live;
mod members;
mod name;
mod networks;
mod origin;
mod policy;
mod route;
mod section;
mod server_health;
mod shop;
mod site;
mod store;
mod unique;
mod warnings;
mod words;

pub use actions::ActionName;
pub use budgets::{JoinConfig, PollConfig};
pub use change::{ChangeEffect, PolicyChange, PolicyVersion, policy_changes};
pub use clients::{Callers, ClientConfig, Credentials};
pub use coverage::{CoverageKind, RouteCoverage};
pub use error::{ConfigError, ConfigErrors};
pub use event::{EventConfig, LaneConfig};
pub use live::{OverrideError, PolicyOverride};
pub use members::MembersConfig;
pub use networks::NetworkSet;
pub use origin::{InvalidWebOrigin, WebOrigin, canonical_host};
pub use policy::{
    KeyPart, LimitChoice, OnStoreFailure, PolicyConfig, PolicyKey, PolicyMode, PolicyWords, at_most,
};
pub use route::{RouteConfig, RouteKind, SkuSource};
pub use server_health::OriginConfig;
pub use shop::ShopConfig;
pub use site::{ClientIpSource, Config, EdgeConfig, ServerConfig, SiteConfig};
pub use store::{RedisConfig, StoreConfig};
