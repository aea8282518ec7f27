//! The Durable Objects, one a file.

mod kept;
mod limiter;
