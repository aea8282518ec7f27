//! What an HTTP request says, and what Fairgate answers.

pub mod cookie;
