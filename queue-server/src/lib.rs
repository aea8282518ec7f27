#![doc = include_str!("../README.md")]

pub mod access;
pub mod app;
pub mod check;
pub mod clock;
pub mod command;
pub mod http;
pub mod keys;
pub mod limits;
pub mod metrics;
pub mod plant;
pub mod reload;
pub mod rooms;
pub mod serve;
pub mod store;
pub mod tick;
