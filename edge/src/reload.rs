//! The configuration, renewed beside the requests that use it: the queue server has the one in force, with everything that
//! overrides the file. An isolate begins with the one it was deployed with.

use crate::clock;
use crate::isolate::{self, Isolate};
use crate::refusal::ServerUnreachable;
use crate::server::ServerCall;
use shared::config::Config;
use shared::gate::Look;
use shared::time::Timestamp;
use std::rc::Rc;
use std::time::Duration;
use worker::{Context, Delay, Env, console_error, console_log};

/// The isolate's memory under the configuration in force; `None` while its bindings cannot be used.
pub(crate) async fn current(env: &Env, context: &Context) -> Option<Rc<Isolate>> {
    for _ in 0..LOOKS_MAX {
        let isolate = isolate::current(env)?;
        let now = clock::now();
        let look = isolate.memory.configuration.borrow_mut().renewal.look(now);
        match look {
            Look::Use | Look::Missing => return Some(isolate),
            Look::UseAndRenew => {
                renew_beside(isolate, env, context, now);
                break;
            }
            // After a pause a request waits a moment, but a server that is away holds nobody up.
            Look::Fetch => renew_beside(isolate, env, context, now),
            Look::LookAgain => Delay::from(LOOK_AGAIN_AFTER).await,
        }
    }
    isolate::current(env)
}

fn renew_beside(isolate: Rc<Isolate>, env: &Env, context: &Context, began: Timestamp) {
    let env = env.clone();
    context.wait_until(async move {
        // What failed is logged where it failed, and the last good configuration stays.
        let renewed = renew(&isolate).await.is_ok();
        let now = clock::now();
        let mut slot = isolate.memory.configuration.borrow_mut();
        let outlived = slot.renewal.taken_at().is_some_and(|taken_at| now.since(taken_at) > KEPT_FOR);
        if outlived && !renewed {
            console_error!("the configuration of the queue server is a day old: back to the deployed one");
            slot.etag = None;
            isolate::reset(&env, &isolate);
        }
        if renewed || outlived || slot.renewal.taken_at().is_none() {
            slot.renewal.took(now);
        }
        slot.renewal.ended(began, now);
    });
}

async fn renew(isolate: &Rc<Isolate>) -> Result<(), ServerUnreachable> {
    let known = isolate.memory.configuration.borrow().etag.clone();
    let mut call = ServerCall::get("/v1/edge/config".to_owned(), BUDGET_MS);
    call.headers.extend(known.map(|etag| ("if-none-match", etag)));
    let response = call.send(isolate).await?;
    if response.status() == 304 {
        return Ok(());
    }
    let etag = response.headers().get("etag").ok().flatten();
    if response.status() != 200 || etag.is_none() {
        console_error!("the queue server gives no configuration: status {}", response.status());
        return Err(ServerUnreachable);
    }
    let text = worker::Response::from(response).text().await.map_err(|_| ServerUnreachable)?;
    match Config::parse("the queue server's configuration", &text) {
        Ok(config) => {
            console_log!(
                "a configuration of the queue server is in force: {}",
                etag.as_deref().unwrap_or_default()
            );
            isolate::replace(isolate.with(config));
        }
        Err(errors) => console_error!("the queue server's configuration cannot be used:\n{errors}"),
    }
    // One that cannot be used is not fetched again either.
    isolate.memory.configuration.borrow_mut().etag = etag;
    Ok(())
}

/// How long the last good configuration is used without a word of the queue server.
const KEPT_FOR: Duration = Duration::from_hours(24);

/// A request waits 300 ms at most.
const LOOKS_MAX: usize = 12;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(25);
const BUDGET_MS: u32 = 2_000;
