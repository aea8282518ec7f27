//! What limits there are, what they cover, and how one key stands.

use super::{authorized, named};
use crate::{
    access::{AccessKey, Role},
    app::App,
    http::{
        call::Call,
        error::Refusal,
        reply::{empty, json, set},
    },
    limits::{Asked, InForce, Limits, key_of},
};
use axum::{
    extract::State,
    http::{StatusCode, header},
    response::Response,
};
use data_encoding::HEXLOWER;
use serde_json::{Value, json as object};
use shared::{
    config::{PolicyConfig, RouteCoverage, ShopConfig},
    http::{etag::is_known, reason::Reason},
    limiter::{PolicySettings, check::Charge, table::KeyState},
    time::micros,
    wire::limits::KeyParts,
};
use std::sync::Arc;

/// `GET /v1/limits/state?shop=alpha&policy=device&key=<32 digits>`, or with the parts of the key instead
pub(super) async fn state(State(app): State<Arc<App>>, call: Call) -> Response {
    named("limits_state", call.answer(key_state(&app, &call).await))
}

/// `GET /v1/policies`
pub(super) async fn policies(State(app): State<Arc<App>>, call: Call) -> Response {
    named("policies", call.answer(told(&app, &call, policies_of)))
}

/// `GET /v1/policies/coverage`
pub(super) async fn coverage(State(app): State<Arc<App>>, call: Call) -> Response {
    named("coverage", call.answer(told(&app, &call, coverage_of)))
}

async fn key_state(app: &App, call: &Call) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key = authorized(&in_force, call, Role::Read)?;
    let (Some(shop), Some(policy)) = (call.query("shop"), call.query("policy")) else {
        return Err(Refusal::new(Reason::BodyInvalid).detail("name shop and policy in the query"));
    };
    key.must_cover(&shop)?;
    let (at, charge) = named_key(&in_force, call, &shop, &policy)?;
    let known = app.limits.state(&at, &charge).await?;
    let refusals: Vec<Value> = app
        .limits
        .refusals
        .of(charge.key)
        .iter()
        .map(|refusal| {
            object!({
                "atUs": refusal.at.as_micros(),
                "policy": refusal.policy,
                "cost": refusal.cost,
                "retryAfterUs": refusal.retry_after.map(micros),
                "shadow": refusal.is_shadow,
            })
        })
        .collect();
    let told = object!({
        "shop": shop,
        "policy": policy,
        "key": HEXLOWER.encode(&charge.key.0),
        "settings": PolicySettings::from(charge.policy),
        "quota": charge.policy.quota(),
        "state": known.map(|known| told_state(&known, call)),
        "lastRefusals": refusals,
    });
    json(StatusCode::OK, &told)
}

fn told_state(known: &KeyState, call: &Call) -> Value {
    object!({
        "settings": PolicySettings::from(known.policy),
        "remaining": known.decision.remaining(),
        "locked": known.policy.is_locked(&known.decision),
        "resetAfterUs": micros(known.decision.reset_after()),
        "forgottenAtUs": known.expiry.as_micros(),
        "ttlUs": micros(known.expiry.since(call.now)),
    })
}

/// The key of the query: by its digits, or by its parts. And where it lies.
fn named_key(in_force: &InForce, call: &Call, shop: &str, policy: &str) -> Result<(String, Charge), Refusal> {
    if let Some(text) = call.query("key") {
        let found = in_force.config.shop(shop).ok_or_else(|| Refusal::new(Reason::ShopUnknown))?;
        let found = found.policy(policy).ok_or_else(|| Refusal::new(Reason::PolicyUnknown))?;
        let key = key_of(&text).ok_or_else(|| {
            Refusal::new(Reason::KeyPartInvalid).detail("key is 32 digits 0-9 and a-f, as logs show it")
        })?;
        return Ok((shop.to_owned(), Charge::new(found.limiter, key, 0)));
    }
    let keys = KeyParts {
        ip: call.query("ip"),
        device: call.query("device"),
        member: call.query("member"),
        client: call.query("client"),
        sku: call.query("sku"),
        route: call.query("route"),
    };
    let asked = Asked::key(in_force, shop, policy, &keys, 0)?;
    let (at, charge) = Limits::one_key(&asked)?;
    Ok((at.to_owned(), charge))
}

/// What is told of every shop that the key is for; nothing when the caller has it already.
fn told(app: &App, call: &Call, of_shop: fn(&InForce, &ShopConfig) -> Value) -> Result<Response, Refusal> {
    let in_force = app.limits.live.now();
    let key: &AccessKey = authorized(&in_force, call, Role::Read)?;
    let mut response = if is_known(call.header(header::IF_NONE_MATCH), &in_force.etag) {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        let shops = in_force.config.shops.iter().filter(|shop| key.shops.covers(&shop.id));
        let shops: Vec<Value> = shops.map(|shop| of_shop(&in_force, shop)).collect();
        json(StatusCode::OK, &object!({ "shops": shops }))?
    };
    set(&mut response, header::ETAG, &in_force.etag);
    set(&mut response, header::CACHE_CONTROL, "private, no-cache");
    Ok(response)
}

fn policies_of(in_force: &InForce, shop: &ShopConfig) -> Value {
    let policy = |policy: &Arc<PolicyConfig>| {
        let own = in_force.overrides.get(&(shop.id.clone(), policy.name.clone()));
        object!({
            "name": policy.name,
            "key": policy.key.parts().iter().map(|part| part.name()).collect::<Vec<_>>(),
            "mode": policy.mode.name(),
            "settings": PolicySettings::from(policy.limiter),
            "ownSkus": policy.sku_limiters.len(),
            "inherit": policy.inherit,
            "onStoreFailure": policy.on_store_failure.name(),
            "override": own,
        })
    };
    object!({ "shop": shop.id, "policies": shop.policies.iter().map(policy).collect::<Vec<_>>() })
}

fn coverage_of(in_force: &InForce, shop: &ShopConfig) -> Value {
    let covered = in_force.config.coverage();
    let (rest, routes): (Vec<_>, Vec<_>) = covered
        .into_iter()
        .filter(|route| route.shop_id == shop.id)
        .partition(|route| route.route_id.is_none());
    object!({
        "shop": shop.id,
        "routes": routes.iter().map(told_route).collect::<Vec<_>>(),
        "everythingElse": rest.first().map(told_route),
    })
}

fn told_route(route: &RouteCoverage) -> Value {
    object!({
        "route": route.route_id,
        "kind": route.kind.name(),
        "isLimited": route.is_limited,
        "limits": route.limits,
        "binding": route.binding,
        "gaps": route.gaps,
    })
}
