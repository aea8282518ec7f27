//! End to end: the real queue server, the real Worker in `workerd`, the demo shop, over HTTP.

mod browser;
mod origin_check;
mod worker_panic;
