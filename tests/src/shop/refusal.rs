//! The shop's own refusals, as problem JSON.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::borrow::Cow;

/// Why the shop did not do what was asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The request cannot be fulfilled as it is.
    Rejected(StatusCode, Cow<'static, str>),
    /// The shop failed; nothing was taken.
    Failed,
    OutOfStock,
}

impl Refusal {
    pub(super) fn rejected(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Rejected(StatusCode::UNPROCESSABLE_ENTITY, message.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code, message) = match self {
            Self::Rejected(status, message) => (status, "CART_REJECTED", message),
            Self::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "CART_FAILED", "the cart failed".into()),
            Self::OutOfStock => (StatusCode::CONFLICT, "OUT_OF_STOCK", "there are not so many left".into()),
        };
        let problem = json!({
            "type": "about:blank",
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "code": code,
            "message": message,
        });
        (status, [(header::CONTENT_TYPE, "application/problem+json")], Json(problem)).into_response()
    }
}
