//! What an HTTP request says, and what Fairgate answers.

pub mod body;
pub mod client;
pub mod cookie;
pub mod cors;
pub mod etag;
pub mod form;
mod json_field;
pub mod language;
pub mod navigation;
pub mod page;
pub mod path;
pub mod problem;
pub mod ratelimit;
pub mod reason;
pub mod route;
pub mod sku;
