//! What `fairgate.toml` says, or where it is wrong.
//!
//! One file is shared by the edge and the queue server. [`Config::parse`] either returns a configuration in which every
//! reference resolves and every number is in range, or all the errors it found, each with file, line and key.

mod budgets;
mod clients;
mod error;
mod event;
mod live;
mod name;
mod networks;
mod origin;
mod policy;
mod route;
mod section;
mod shop;
mod site;
mod unique;

pub use budgets::{JoinConfig, PollConfig};
pub use clients::{Callers, ClientConfig, Credentials};
pub use error::{ConfigError, ConfigErrors};
pub use event::{EventConfig, LaneConfig};
pub use live::{OverrideError, PolicyOverride};
pub use networks::NetworkSet;
pub use origin::{InvalidWebOrigin, WebOrigin};
pub use policy::{KeyPart, LimitChoice, OnStoreFailure, PolicyConfig, PolicyKey, PolicyMode, at_most};
pub use route::{RouteConfig, RouteKind, SkuSource};
pub use shop::ShopConfig;
pub use site::{ClientIpSource, Config, EdgeConfig, ServerConfig, SiteConfig};
