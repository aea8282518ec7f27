//! Asks the homes of a request's limits, all at once, and the isolate's own memory of refusals before.

use crate::incoming::Incoming;
use crate::refusal::Refusal;
use futures_util::future::join_all;
use shared::gate::{Home, Ledger, Limit, Plan, Stage, Subject, by_home, judge, refused_already};
use shared::limiter::Decision;
use shared::limiter::check::{Charge, CheckReply, CheckRequest};
use worker::js_sys::Uint8Array;
use worker::web_sys::{AbortSignal, Request, RequestInit};
use worker::{Result, console_warn};

/// Takes what the request costs in these stages, or refuses it.
pub(crate) async fn check<'a>(
    incoming: &Incoming,
    plan: &Plan<'a>,
    stages: &[Stage],
    subject: &Subject<'a>,
    ledger: &mut Ledger<'a>,
) -> std::result::Result<(), Refusal> {
    for stage in stages {
        let limits = plan.limits(*stage, subject);
        if !limits.is_empty() {
            check_stage(incoming, &limits, ledger).await?;
        }
    }
    Ok(())
}

async fn check_stage<'a>(
    incoming: &Incoming,
    limits: &[Limit<'a>],
    ledger: &mut Ledger<'a>,
) -> std::result::Result<(), Refusal> {
    let known = known_refusals(incoming, limits);
    if let Some(bound) = refused_already(limits, &known) {
        return Err(bound.into());
    }
    let calls = by_home(limits);
    let asked = calls.iter().flat_map(|call| call.checks.iter().map(move |check| (call.home, check)));
    let asked = asked.map(|(home, check)| async move {
        let charges = check.indices.iter().filter_map(|index| Some(limits.get(*index)?.charge)).collect();
        (check, ask(incoming, home, charges).await)
    });
    let mut decisions = vec![None; limits.len()];
    for (check, answer) in join_all(asked).await {
        for (index, decision) in check.indices.iter().zip(answer.unwrap_or_default()) {
            decisions[*index] = Some(decision);
        }
    }
    remember_refusals(incoming, limits, &decisions);
    ledger.note(limits, &decisions, incoming.now);
    judge(limits, &decisions).refusal.map_or(Ok(()), |bound| Err(bound.into()))
}

/// What one home decides; `None` when it fails or is slow: its limits are open then, and the check is counted.
async fn ask(incoming: &Incoming, home: Home<'_>, charges: Vec<Charge>) -> Option<Vec<Decision>> {
    let count = charges.len();
    let answer = match CheckRequest::new(charges).and_then(|check| check.to_bytes()) {
        Ok(check) => call(incoming, home, &check).await,
        Err(error) => Err(error.to_string().into()),
    };
    let reply = answer
        .and_then(|reply| CheckReply::from_bytes(&reply, count).map_err(|error| error.to_string().into()));
    match reply {
        Ok(reply) => Some(reply.decisions),
        Err(error) => {
            let open = &incoming.isolate.open_checks;
            open.set(open.get().saturating_add(1));
            // One line for each power of two keeps a long fault from flooding the log.
            if open.get().is_power_of_two() {
                console_warn!(
                    "limiter {home} did not answer, its limits are open: {error}; {} checks so far",
                    open.get()
                );
            }
            None
        }
    }
}

async fn call(incoming: &Incoming, home: Home<'_>, check: &[u8]) -> Result<Vec<u8>> {
    let stub = incoming.env.durable_object("LIMITER")?.get_by_name(&home.to_string())?;
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_body(&Uint8Array::from(check));
    init.set_signal(Some(&AbortSignal::timeout_with_u32(BUDGET_MS)));
    let request = Request::new_with_str_and_init("http://limiter/", &init)?;
    let mut response = stub.fetch_with_request(request.into()).await?;
    if response.status_code() != 200 {
        return Err(format!("status {}", response.status_code()).into());
    }
    response.bytes().await
}

fn known_refusals(incoming: &Incoming, limits: &[Limit<'_>]) -> Vec<Option<Decision>> {
    let deny_cache = incoming.isolate.deny_cache.borrow();
    limits.iter().map(|limit| deny_cache.lookup(&limit.charge, incoming.now)).collect()
}

fn remember_refusals(incoming: &Incoming, limits: &[Limit<'_>], decisions: &[Option<Decision>]) {
    let mut deny_cache = incoming.isolate.deny_cache.borrow_mut();
    for (limit, decision) in limits.iter().zip(decisions) {
        if let Some(decision) = decision {
            deny_cache.remember(&limit.charge, decision, incoming.now);
        }
    }
}

/// A limiter answers within milliseconds; a buyer does not wait longer than this for one that does not.
const BUDGET_MS: u32 = 500;
