#![doc = include_str!("../README.md")]
#![warn(missing_docs, clippy::arithmetic_side_effects, clippy::as_conversions, clippy::indexing_slicing)]

pub mod config;
pub mod fault_row;
pub mod flat;
pub mod gate;
pub mod guard;
pub mod http;
pub mod ids;
pub mod limiter;
pub mod origin;
pub mod room;
pub mod time;
pub mod token;
pub mod tree;
pub mod wire;
