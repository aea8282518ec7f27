//! The home of some keys' limiter states: one thread, so that what it decides is exact.

use crate::clock;
use crate::isolate::random_seed;
use shared::limiter::check::CheckRequest;
use shared::limiter::table::LimiterTable;
use std::cell::RefCell;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

/// States live in memory only: an object that is evicted has been idle, and states of short policies have reset by then.
#[durable_object]
pub struct LimiterObject {
    table: RefCell<LimiterTable>,
}

impl DurableObject for LimiterObject {
    fn new(_state: State, _env: Env) -> Self {
        Self { table: RefCell::new(LimiterTable::new(KEYS_MAX, random_seed())) }
    }

    /// Takes a [`CheckRequest`] and answers with its `CheckReply`, both as the bytes that travel.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        #[cfg(feature = "plant")]
        if let Some(answer) = crate::plant::in_object(&request.path()) {
            return answer;
        }
        let check = CheckRequest::from_bytes(&request.bytes().await?);
        let Ok(check) = check else { return Response::error("not a limiter check", 400) };
        // From here to the reply nothing waits, so no other check comes between.
        let now = clock::now();
        let mut table = self.table.borrow_mut();
        table.sweep(SWEPT_PER_CHECK, now);
        let reply = table.check(&check, now).to_bytes();
        Response::from_bytes(reply.map_err(|error| error.to_string())?)
    }
}

/// Keys in one object; about 80 bytes each. There are 256 objects for devices and 256 for addresses.
const KEYS_MAX: usize = 65_536;

/// Each check also clears two recovered states, so that memory shrinks after a rush without an alarm.
const SWEPT_PER_CHECK: usize = 2;
