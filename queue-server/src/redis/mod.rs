//! The way to Redis and Valkey, for everything that is kept there: one URL, connections that come back by themselves, and
//! scripts that are sent by name.

mod address;
mod eviction;
mod link;
mod script;

pub(crate) use address::Address;
pub use address::AddressError;
pub(crate) use link::{Link, LinkError};
pub(crate) use script::Script;
