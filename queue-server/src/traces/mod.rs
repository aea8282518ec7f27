//! Spans of requests, sent to an OpenTelemetry collector where the environment names one.
//!
//! No request waits for a collector: spans wait in a queue of 2,048 (`OTEL_BSP_MAX_QUEUE_SIZE`), and what does not fit is dropped.

mod sending;

use anyhow::{Result, bail};
use opentelemetry::{KeyValue, trace::TracerProvider};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use sending::Sending;
use std::{env, time::Duration};
use tracing::Subscriber;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

/// The target of the spans that are exported: they are no lines of the log, and nothing else is a span of a trace.
pub const SPAN_TARGET: &str = "fairgate::request";

/// Where the spans of this process go.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Reads the environment as OpenTelemetry's specification says; `None` where it names no collector.
    pub fn from_env() -> Result<Option<Self>> {
        if !names_collector(|name| env::var(name).ok())? {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_http().with_http_client(Sending::new()?).build()?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let mut resource = Resource::builder().with_attribute(version);
        if env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("fairgate");
        }
        let provider = SdkTracerProvider::builder().with_resource(resource.build());
        Ok(Some(Self(provider.with_batch_exporter(exporter).build())))
    }

    /// Takes the spans of requests, and nothing else.
    pub fn layer<S: Subscriber + for<'span> LookupSpan<'span>>(&self) -> impl Layer<S> + use<S> {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("fairgate"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(filter_fn(|metadata| metadata.target() == SPAN_TARGET))
    }

    /// Sends what still waits. A collector that does not answer holds nobody up for long.
    pub fn close(self) {
        // What could not be sent was told when that began.
        let _ = self.0.shutdown_with_timeout(CLOSE_TIME_MAX);
    }
}

/// Whether spans are wanted, and can be sent.
fn names_collector(variable: impl Fn(&str) -> Option<String>) -> Result<bool> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let Some(name) = ENDPOINTS.into_iter().find(|name| set(name).is_some()).filter(|_| !is_off) else {
        return Ok(false);
    };
    if !set(name).is_some_and(|endpoint| endpoint.starts_with("http://")) {
        bail!("{name} must begin with http://: a collector beside the server passes on to others, by TLS");
    }
    Ok(true)
}

/// The one for spans alone goes first.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const CLOSE_TIME_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(set: &[(&str, &str)]) -> Result<bool, String> {
        let value =
            |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        names_collector(value).map_err(|error| error.to_string())
    }

    #[test]
    fn spans_are_sent_where_a_collector_is_named_and_can_be_reached() {
        let [traces, all] = ENDPOINTS;
        assert_eq!(check(&[]), Ok(false));
        assert_eq!(check(&[(all, "")]), Ok(false), "the same as none");
        assert_eq!(check(&[(all, "http://127.0.0.1:4318")]), Ok(true));
        assert_eq!(check(&[(traces, "http://collector/spans")]), Ok(true));
        assert_eq!(check(&[(all, "http://127.0.0.1:4318"), ("OTEL_SDK_DISABLED", "TRUE")]), Ok(false));
        let tls = check(&[(all, "https://collector:4318")]).unwrap_err();
        assert!(tls.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT must begin with http://"), "{tls}");
        assert!(check(&[(all, "http://collector"), (traces, "collector:4318")]).is_err());
    }
}
