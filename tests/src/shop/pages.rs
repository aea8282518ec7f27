//! The pages that buyers see: plain HTML that needs no script and fits 320 px.

use super::State;
use super::catalog::{Product, ShopFront};
use axum::Router;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/", get(list))
        .route("/p/{sku}", get(product))
        .route("/health", get(|| async { "ok\n" }))
}

/// A whole page; `body` is HTML.
pub(super) fn page(title: &str, body: &str) -> Html<String> {
    Html(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>"
    ))
}

async fn list(headers: HeaderMap) -> Html<String> {
    let shop = ShopFront::of(&headers);
    let line = |product: &Product| {
        let Product { sku, title, .. } = product;
        format!("<li><a href=\"/p/{sku}\">{title}</a>, {}</li>", price(product))
    };
    let lines: String = shop.products.iter().map(line).collect();
    page(shop.title, &format!("<ul>{lines}</ul><p><a href=\"/cart\">Your cart</a></p>"))
}

async fn product(Shared(state): Shared<Arc<State>>, headers: HeaderMap, Path(sku): Path<String>) -> Response {
    let shop = ShopFront::of(&headers);
    let Some(product) = shop.product(&sku) else {
        let body = "<p><a href=\"/\">Back to the shop</a></p>";
        return (StatusCode::NOT_FOUND, page("No such product", body)).into_response();
    };
    let left = state.ledger().left(product.sku);
    page(
        product.title,
        &format!(
            "<p>{}, {left} left.</p>\
             <form method=\"post\" action=\"/cart/items\">\
             <input type=\"hidden\" name=\"sku\" value=\"{}\">\
             <label>Quantity <input type=\"number\" name=\"quantity\" value=\"1\" min=\"1\" max=\"10\"></label> \
             <button>Add to cart</button></form>\
             <p><a href=\"/\">All products</a></p>",
            price(product),
            product.sku
        ),
    )
    .into_response()
}

fn price(product: &Product) -> String {
    format!("€{}.{:02}", product.price_cents / 100, product.price_cents % 100)
}

const STYLE: &str = "body{font:1.1rem/1.5 system-ui,sans-serif;margin:1rem auto;max-width:40rem;padding:0 1rem}\
button,input{font:inherit;padding:.4rem .8rem}input[type=number]{width:4rem}";
