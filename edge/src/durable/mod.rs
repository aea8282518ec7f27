//! The Durable Objects, one a file.

mod limiter;
