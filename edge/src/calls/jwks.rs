//! `GET jwks.json`: the public keys of passes, from the queue server, kept for as long as everybody may keep them.

use crate::clock;
use crate::incoming::Incoming;
use crate::memory::Jwks;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::server::ServerCall;
use shared::token::JWKS_MAX_AGE;
use std::time::Duration;
use worker::web_sys::Response;

pub(super) async fn answer(incoming: &Incoming) -> Result<Response, Refusal> {
    let isolate = &incoming.isolate;
    let kept = isolate.memory.jwks.borrow().clone();
    let text = match kept {
        Some(Jwks { text, good_until }) if incoming.now < good_until => text,
        kept => {
            let path = format!("{}/jwks.json", isolate.config.site.prefix);
            let (text, good_for) = match (ServerCall::get(path, BUDGET_MS).text(isolate).await, kept) {
                (Ok(text), _) => (text, JWKS_MAX_AGE),
                // Old keys are better than none: they were good when they were taken.
                (Err(_), Some(Jwks { text, .. })) => (text, ASKED_AGAIN_AFTER),
                (Err(unreachable), None) => return Err(unreachable.into()),
            };
            let good_until = clock::now().saturating_add(good_for);
            isolate.memory.jwks.replace(Some(Jwks { text: text.clone(), good_until }));
            text
        }
    };
    let headers = [
        ("content-type", "application/jwk-set+json".to_owned()),
        ("cache-control", format!("public, max-age={}", JWKS_MAX_AGE.as_secs())),
    ];
    Ok(Reply::new(200, text).with(headers).response()?)
}

/// Until a queue server that did not answer is asked again.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(5);
const BUDGET_MS: u32 = 2_000;
