#![doc = include_str!("../README.md")]

mod client;
mod fallback;
mod identity;
mod layer;
mod tls;

pub use client::{Client, ClientError, ClientOptions, SetupError};
pub use fallback::Fallback;
pub use identity::{forwarded_address, header};
pub use layer::{LimitLayer, Limited};
pub use tls::TlsError;
