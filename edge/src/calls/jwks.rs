//! `GET jwks.json`: the public keys of passes, from the queue server, kept for a minute.

use crate::clock;
use crate::incoming::Incoming;
use crate::memory::Jwks;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::ServerCall;
use std::time::Duration;
use worker::web_sys::Response;

pub(super) async fn answer(incoming: &Incoming) -> Result<Response, Refusal> {
    let isolate = &incoming.isolate;
    let kept = isolate.memory.jwks.borrow().clone();
    let text = match kept {
        Some(Jwks { text, taken_at }) if incoming.now.since(taken_at) < KEPT_FOR => text,
        kept => {
            let path = format!("{}/jwks.json", isolate.config.site.prefix);
            match (ServerCall::get(path, BUDGET_MS).text(isolate).await, kept) {
                (Ok(text), _) => {
                    let jwks = Jwks { text: text.clone(), taken_at: clock::now() };
                    isolate.memory.jwks.replace(Some(jwks));
                    text
                }
                // Old keys are better than none: they were good when they were taken.
                (Err(_), Some(Jwks { text, .. })) => text,
                (Err(unreachable), None) => return Err(unreachable.into()),
            }
        }
    };
    let headers = [
        ("content-type", "application/jwk-set+json".to_owned()),
        ("cache-control", "public, max-age=60".to_owned()),
    ];
    Ok(Reply::new(200, text).with(headers).response()?)
}

const KEPT_FOR: Duration = Duration::from_secs(60);
const BUDGET_MS: u32 = 2_000;
