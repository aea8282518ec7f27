//! Check, peek, refund and give: what a service asks on every request of its own.

use super::{
    authorized,
    batch::{Checks, within_batch},
    json_body, named,
};
use crate::{
    access::{AccessKey, Role},
    app::App,
    http::{
        call::Call,
        error::{Refusal, set_fields},
        reply::{empty, json},
    },
    limits::{Asked, InForce, Outcome},
};
use axum::{extract::State, http::StatusCode, response::Response};
use shared::wire::limits::{CheckResults, LimitCheck, ReceiptsBody};
use std::sync::Arc;

/// `POST /v1/limits/check`
pub(super) async fn check(State(app): State<Arc<App>>, call: Call) -> Response {
    named("limits_check", call.answer(answer(&app, &call, Verb::Check).await))
}

/// `POST /v1/limits/peek`
pub(super) async fn peek(State(app): State<Arc<App>>, call: Call) -> Response {
    named("limits_peek", call.answer(answer(&app, &call, Verb::Peek).await))
}

/// `POST /v1/limits/refund`
pub(super) async fn refund(State(app): State<Arc<App>>, call: Call) -> Response {
    named("limits_refund", call.answer(give_back(&app, &call, Verb::Check).await))
}

/// `POST /v1/limits/give`
pub(super) async fn give(State(app): State<Arc<App>>, call: Call) -> Response {
    named("limits_give", call.answer(give_back(&app, &call, Verb::Peek).await))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// It takes, or gives all back.
    Check,
    /// It only looks, or gives only permits back.
    Peek,
}

async fn answer(app: &App, call: &Call, verb: Verb) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, Role::LimitsCheck)?;
    // The content type is judged before the body is read.
    super::must_be_json(call)?;
    match Checks::parse(&call.body)? {
        Checks::One(check) => {
            let asked = asked(&in_force, key, &check)?;
            single(run(app, &in_force, &asked, verb).await?)
        }
        Checks::Many(checks) => {
            // All are sound, or nothing is taken.
            let all: Result<Vec<Asked<'_>>, Refusal> =
                checks.iter().map(|check| asked(&in_force, key, check)).collect();
            let mut results = Vec::with_capacity(checks.len());
            for asked in all? {
                results.push(run(app, &in_force, &asked, verb).await?.result);
            }
            json(StatusCode::OK, &CheckResults { results })
        }
    }
}

async fn run(app: &App, in_force: &InForce, asked: &Asked<'_>, verb: Verb) -> Result<Outcome, Refusal> {
    Ok(match verb {
        Verb::Check => app.limits.check(in_force, asked).await?,
        Verb::Peek => app.limits.peek(asked).await?,
    })
}

/// A shop that the key is not for is refused before anything of it is told.
fn asked<'f>(in_force: &'f InForce, key: &AccessKey, check: &LimitCheck) -> Result<Asked<'f>, Refusal> {
    key.must_cover(&check.shop)?;
    Asked::check(in_force, check).map_err(Refusal::from)
}

/// One check is told as a gateway hands it on: by its status and its fields.
fn single(outcome: Outcome) -> Result<Response, Refusal> {
    let Outcome { result, fields, retry_after } = outcome;
    match result.code {
        None => {
            let mut response = json(StatusCode::OK, &result)?;
            set_fields(&mut response, &fields);
            Ok(response)
        }
        Some(reason) => {
            let refusal = Refusal::new(reason).fields(fields).policy(result.policy.unwrap_or_default());
            Err(match retry_after {
                Some(wait) => refusal.retry_after(wait),
                None => refusal,
            })
        }
    }
}

async fn give_back(app: &App, call: &Call, verb: Verb) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, Role::LimitsCheck)?;
    let ReceiptsBody { receipts } = json_body(call)?;
    within_batch(receipts.len(), "receipts")?;
    let may = |shop: &str| key.must_cover(shop).is_ok();
    let mut refused = None;
    for receipt in &receipts {
        let given = match verb {
            Verb::Check => app.limits.refund(receipt, may).await,
            Verb::Peek => app.limits.give(receipt, may).await,
        };
        // Whoever sends them again is refused for those that are spent: the others are given back all the same.
        refused = refused.or(given.err());
    }
    match refused {
        Some(refused) => Err(refused.into()),
        None => Ok(empty(StatusCode::NO_CONTENT)),
    }
}
