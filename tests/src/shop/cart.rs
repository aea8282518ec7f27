//! Add to cart and checkout: where the shop demands a pass and ends a session.

use super::State;
use super::catalog::{Product, ShopFront};
use super::pages::page;
use super::pass::Session;
use super::refusal::Refusal;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::extract::rejection::{FormRejection, JsonRejection};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Json};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

#[derive(Debug, Deserialize)]
struct Item {
    sku: String,
    #[serde(default = "one")]
    quantity: u32,
}

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/cart", get(show))
        .route("/cart/items", post(add_form))
        .route("/api/cart/items", post(add_json))
        .route("/checkout", post(check_out_form))
        .route("/api/checkout", post(check_out_json))
}

async fn add_json(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    item: Result<Json<Item>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(item) = item.map_err(|error| Refusal::rejected(error.body_text()))?;
    let cart = cart_of(&headers);
    add(&state, &headers, cart, &item).await?;
    let reply = json!({ "sku": item.sku, "quantity": item.quantity });
    Ok((StatusCode::CREATED, keep(cart), Json(reply)).into_response())
}

async fn add_form(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    item: Result<Form<Item>, FormRejection>,
) -> Result<Response, Refusal> {
    let Form(item) = item.map_err(|error| Refusal::rejected(error.body_text()))?;
    let cart = cart_of(&headers);
    add(&state, &headers, cart, &item).await?;
    Ok((keep(cart), Redirect::to("/cart")).into_response())
}

async fn check_out_json(Shared(state): Shared<Arc<State>>, headers: HeaderMap) -> Result<Response, Refusal> {
    let lines = state.ledger().check_out(cart_of(&headers))?;
    Ok((finish(), Json(json!({ "lines": lines }))).into_response())
}

async fn check_out_form(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    _body: Bytes,
) -> Result<Response, Refusal> {
    state.ledger().check_out(cart_of(&headers))?;
    Ok((finish(), page("Thank you", "<p>It is yours.</p><p><a href=\"/\">Back to the shop</a></p>"))
        .into_response())
}

async fn show(Shared(state): Shared<Arc<State>>, headers: HeaderMap) -> Response {
    let lines: Vec<String> = state
        .ledger()
        .cart(cart_of(&headers))
        .iter()
        .map(|line| format!("<li>{} × {}</li>", line.quantity, line.sku))
        .collect();
    if lines.is_empty() {
        return page("Your cart", "<p>It is empty.</p><p><a href=\"/\">Back to the shop</a></p>")
            .into_response();
    }
    let buy = "<form method=\"post\" action=\"/checkout\"><button>Buy</button></form>";
    page("Your cart", &format!("<ul>{}</ul>{buy}", lines.concat())).into_response()
}

/// Each check in turn, the cheap ones first; nothing is taken unless all pass.
async fn add(state: &State, headers: &HeaderMap, cart: Uuid, item: &Item) -> Result<(), Refusal> {
    let shop = ShopFront::of(headers);
    let product =
        shop.product(&item.sku).ok_or(Refusal::Rejected(StatusCode::NOT_FOUND, "no such product".into()))?;
    if !(1..=QUANTITY_MAX).contains(&item.quantity) {
        return Err(Refusal::rejected("a quantity is from 1 to 10"));
    }
    let session = session_of(state, headers, shop, product).await?;
    let (latency_ms, fails, rejects) = {
        let mut conduct = state.conduct();
        (conduct.latency_ms, conduct.fails(), conduct.rejects())
    };
    if latency_ms > 0 {
        tokio::time::sleep(Duration::from_millis(latency_ms)).await;
    }
    if fails {
        return Err(Refusal::Failed);
    }
    if rejects {
        return Err(Refusal::rejected("the shop does not like this cart"));
    }
    state.ledger().add(cart, shop, product, item.quantity, session.as_ref())
}

/// The session whose pass the edge put on the request, where the product demands one.
async fn session_of(
    state: &State,
    headers: &HeaderMap,
    shop: &ShopFront,
    product: &Product,
) -> Result<Option<Session>, Refusal> {
    let Some(event) = product.event else { return Ok(None) };
    let forbidden = |message: String| Refusal::Rejected(StatusCode::FORBIDDEN, message.into());
    let mut passes = headers.get_all("fairgate-pass").iter();
    let (Some(pass), None) = (passes.next(), passes.next()) else {
        return Err(forbidden("this product needs exactly one pass".to_owned()));
    };
    let token = pass.to_str().map_err(|_| forbidden("the pass is not text".to_owned()))?;
    let session = state.passes.verify(token, shop.id, event).await;
    session.map(Some).map_err(|error| forbidden(format!("the pass does not hold: {error}")))
}

/// The cart that the buyer's cookie names, or a new one.
fn cart_of(headers: &HeaderMap) -> Uuid {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().strip_prefix("cart="))
        .find_map(|id| id.parse().ok())
        .unwrap_or_else(Uuid::new_v4)
}

fn keep(cart: Uuid) -> AppendHeaders<[(header::HeaderName, String); 1]> {
    AppendHeaders([(header::SET_COOKIE, format!("cart={cart}; Path=/; HttpOnly; SameSite=Lax"))])
}

fn finish() -> [(&'static str, &'static str); 1] {
    [("fairgate-session", "finish")]
}

fn one() -> u32 {
    1
}

const QUANTITY_MAX: u32 = 10;
