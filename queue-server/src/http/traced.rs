//! The span of a request. It names the route and never the path, and holds nothing else that a request brought: no ticket, pass, key or
//! address.

use super::call::REQUEST_ID;
use crate::traces::SPAN_TARGET;
use axum::{
    extract::Request,
    http::{HeaderMap, Method},
    response::Response,
};
use opentelemetry::{propagation::TextMapPropagator, trace::TraceContextExt};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::{Span, field::Empty, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Begins the span of a request, in the trace of whoever sent it. Where nobody exports spans it is disabled.
pub(super) fn begin(request: &Request) -> Span {
    let span = info_span!(
        target: SPAN_TARGET,
        "request",
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method_name(request.method()),
        http.route = Empty,
        http.response.status_code = Empty,
        fairgate.request_id = Empty,
    );
    if !span.is_disabled() {
        let caller = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
        if caller.has_active_span() {
            // It fails only where no layer takes spans.
            let _ = span.set_parent(caller);
        }
    }
    span
}

/// Says in it how the request ended.
pub(super) fn end(span: &Span, route: &'static str, response: &Response) {
    if span.is_disabled() {
        return;
    }
    let status = response.status();
    // A name that is recorded is not heeded any more where the span was passed on.
    span.context().span().update_name(route);
    span.record("http.route", route);
    span.record("http.response.status_code", status.as_u16());
    if let Some(id) = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()) {
        span.record("fairgate.request_id", id);
    }
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// Puts the present request's span into the fields of one that it makes in turn, so that both are one trace.
pub(super) fn pass_on(headers: &mut HeaderMap) {
    let span = Span::current();
    if !span.is_disabled() {
        TraceContextPropagator::new().inject_context(&span.context(), &mut HeaderInjector(headers));
    }
}

/// A method that nobody knows is a text of the caller's.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt;

    const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    /// What a request that came with `traceparent` sends on.
    fn passed_on(traceparent: Option<&'static str>) -> Option<String> {
        let mut request = Request::new(Body::empty());
        if let Some(traceparent) = traceparent {
            request.headers_mut().insert("traceparent", traceparent.parse().unwrap());
        }
        let mut headers = HeaderMap::new();
        begin(&request).in_scope(|| pass_on(&mut headers));
        headers.get("traceparent").map(|sent| sent.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_call_that_is_forwarded_goes_on_in_the_trace_of_its_caller() {
        let provider = SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let sent = passed_on(Some(CALLER)).unwrap();
            assert!(sent.starts_with(&CALLER[..36]), "one trace: {sent}");
            assert_ne!(sent, CALLER, "as a child of this server's span");
            assert_ne!(passed_on(Some("nonsense")).unwrap()[..36], CALLER[..36], "a trace of its own");
        });
    }

    #[test]
    fn where_nobody_takes_spans_nothing_is_added() {
        assert_eq!(passed_on(Some(CALLER)), None);
    }

    #[test]
    fn a_method_of_the_callers_own_is_not_told() {
        assert_eq!(method_name(&Method::from_bytes(b"TICKET-12345").unwrap()), "_OTHER");
    }
}
