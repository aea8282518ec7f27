#![doc = include_str!("../README.md")]

pub mod adapter;
pub mod judge;
pub mod matrix;
pub mod native;
pub mod reply;
pub mod vector;
pub mod vectors;
#[cfg(feature = "worker")]
pub mod worker;
