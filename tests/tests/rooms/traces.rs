//! Spans at a collector: what they tell, what they never hold, and what becomes of a server whose collector is away.

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use reqwest::Method;
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tests::chaos::{JOIN, REDEEM, join, setup};
use tests::device::{Clock, Device, Reply};
use tests::redis::RedisServer;
use tests::stack::fleet::{Fleet, FleetSetup};
use tokio::net::TcpListener;

/// Takes whatever is sent to it.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Bytes>>>);

impl Collector {
    async fn start(address: SocketAddr) -> (Self, SocketAddr) {
        let (collector, listener) = (Self::default(), TcpListener::bind(address).await.unwrap());
        let (taken, address) = (Arc::clone(&collector.0), listener.local_addr().unwrap());
        let take = move |body: Bytes| async move { taken.lock().unwrap().push(body) };
        let router = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (collector, address)
    }

    fn spans(&self) -> Vec<Span> {
        let decode = |body: &Bytes| ExportTraceServiceRequest::decode(body.clone()).unwrap();
        let sent: Vec<_> = self.0.lock().unwrap().iter().map(decode).collect();
        let resources = sent.into_iter().flat_map(|sent| sent.resource_spans);
        resources.flat_map(|of| of.scope_spans).flat_map(|of| of.spans).collect()
    }

    fn holds(&self, text: &str) -> bool {
        let bodies = self.0.lock().unwrap();
        bodies.iter().any(|body| body.windows(text.len()).any(|bytes| bytes == text.as_bytes()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_is_one_trace_from_its_caller_to_the_leader_and_holds_nothing_of_a_buyer() {
    let redis = RedisServer::start().await.unwrap();
    let (collector, address) = Collector::start(ANYWHERE).await;
    // Only the end of a server sends anything: what arrives was flushed.
    let setup = exporting(setup(redis.url(), 2).unwrap(), address, 3_600_000);
    let mut fleet = Fleet::start(FleetSetup { servers: 2, ..setup }).await.unwrap();
    let leader = fleet.leader_among(|_| true).await.unwrap();
    let at = fleet.addresses[1 - leader];
    let mut device = Device::new(&fleet.client, at, Ipv4Addr::new(203, 0, 113, 77), Clock::start());
    let joined = until_done(async || {
        let request = device.request(Method::POST, JOIN).header("traceparent", CALLER).json(&json!({}));
        device.send(request).await.unwrap()
    })
    .await;
    let redeemed = until_done(async || device.post(REDEEM, &json!({})).await.unwrap()).await;
    let (ticket, pass) = (joined.json(), redeemed.json());
    device.get(&format!("{JOIN}?t={}", ticket["ticket"].as_str().unwrap())).await.unwrap();
    let mut secrets: Vec<String> = device.cookies.values().cloned().collect();
    secrets.extend([&ticket["ticket"], &pass["pass"]["token"]].map(|text| text.as_str().unwrap().to_owned()));
    assert_eq!(collector.spans(), [], "nothing is due yet");
    for server in &mut fleet.servers {
        server.stop().await.unwrap();
    }

    let spans = collector.spans();
    let id = joined.header("fairgate-request-id").unwrap();
    let forwarded = span_of(&spans, "forwarded", id);
    assert_eq!(hex(&forwarded.trace_id), CALLER[3..35]);
    assert_eq!(hex(&forwarded.parent_span_id), CALLER[36..52]);
    let led = span_of(&spans, "join", id);
    assert_eq!((&led.trace_id, &led.parent_span_id), (&forwarded.trace_id, &forwarded.span_id));
    for (name, value) in [
        ("http.request.method", "POST"),
        ("http.route", "join"),
        ("http.response.status_code", &joined.status.to_string()),
    ] {
        assert_eq!(attribute(led, name).as_deref(), Some(value), "{name}");
    }
    assert!(span_of(&spans, "redeem", redeemed.header("fairgate-request-id").unwrap()).trace_id.len() == 16);
    secrets.extend(["203.0.113.77", "/.fairgate/"].map(str::to_owned));
    assert!(secrets.iter().filter(|secret| secret.len() > 20).count() >= 3, "{secrets:?}");
    for secret in &secrets {
        assert!(!collector.holds(secret), "{secret}");
    }
    assert!(collector.holds(id), "what is told can be found");
}

/// Asks until it is done: a server may not know yet who leads.
async fn until_done(mut ask: impl AsyncFnMut() -> Reply) -> Reply {
    for _ in 0..40 {
        let reply = ask().await;
        if reply.status == 200 {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("it is never done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_is_one_line_and_holds_up_nobody() {
    // Bound and closed again: nobody listens there.
    let address = TcpListener::bind(ANYWHERE).await.unwrap().local_addr().unwrap();
    let setup = exporting(setup(String::new(), 1_000).unwrap(), address, 10);
    let mut fleet = Fleet::start(FleetSetup { servers: 1, embedded: true, ..setup }).await.unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        let mut device = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
        assert!(join(&mut device).await.is_some());
    }
    let told = |fleet: &Fleet, text: &str| {
        let log = std::fs::read_to_string(fleet.dir.path().join("server-0.log")).unwrap();
        log.lines().filter(|line| line.contains(text)).count()
    };
    assert_eq!(told(&fleet, "spans cannot be sent"), 1);
    let (collector, _) = Collector::start(address).await;
    let asked = Instant::now();
    while told(&fleet, "the collector takes spans again") == 0 {
        assert!(asked.elapsed() < Duration::from_secs(10), "what comes later is sent");
        let mut device = Device::new(&fleet.client, fleet.addresses[0], Ipv4Addr::LOCALHOST, Clock::start());
        join(&mut device).await.unwrap();
    }
    assert!(!collector.spans().is_empty());
    fleet.servers[0].stop().await.unwrap();
    assert_eq!(told(&fleet, "spans cannot be sent"), 1, "one for all of it");
}

fn exporting(setup: FleetSetup, collector: SocketAddr, every_ms: u64) -> FleetSetup {
    let env = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}")),
        ("OTEL_BSP_SCHEDULE_DELAY", every_ms.to_string()),
    ];
    FleetSetup { env, ..setup }
}

fn span_of<'s>(spans: &'s [Span], name: &str, request_id: &str) -> &'s Span {
    let is_it = |span: &&Span| {
        span.name == name && attribute(span, "fairgate.request_id").as_deref() == Some(request_id)
    };
    spans
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no span {name} of {request_id} among {:?}", names(spans)))
}

fn names(spans: &[Span]) -> Vec<(&str, Option<String>)> {
    spans.iter().map(|span| (span.name.as_str(), attribute(span, "fairgate.request_id"))).collect()
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let value = &span.attributes.iter().find(|attribute| attribute.key == name)?.value;
    match value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{name} is {other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
