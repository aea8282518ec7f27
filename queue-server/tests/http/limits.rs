//! Every bound, at the limit and one past it.

use crate::browser::{Browser, Server, TICKET};
use axum::{
    body::{Body, Bytes, to_bytes},
    http::Request,
};
use queue_server::rooms::room_settings;
use queue_server::{
    http::{Bounds, HEADER_BYTES_MAX, router_for},
    store::{EmbeddedStore, HostedRoom, RoomStore},
};
use shared::http::body::BODY_BYTES_MAX;
use shared::room::Planted;
use std::{io, sync::Arc, time::Duration};
use tokio::sync::mpsc;
use tower::ServiceExt;

#[tokio::test]
async fn a_body_has_a_greatest_length() {
    let server = Server::start().await;
    let of_length = |bytes: usize| Body::from(format!("{{\"x\":\"{}\"}}", "a".repeat(bytes - 8)));
    let fields = [("content-type", "application/json")];
    let longest = Browser::default().send(&server, "POST", TICKET, of_length(BODY_BYTES_MAX), &fields).await;
    assert_eq!(longest.status, 200);
    let longer =
        Browser::default().send(&server, "POST", TICKET, of_length(BODY_BYTES_MAX + 1), &fields).await;
    longer.assert_refused(413, "BODY_TOO_LARGE");
}

#[tokio::test]
async fn header_fields_have_a_greatest_length() {
    let server = Server::start().await;
    let of_length = |bytes: usize| "a".repeat(bytes - "cookie".len());
    let longest = [("cookie", of_length(HEADER_BYTES_MAX))];
    let longest = longest.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(Browser::default().send(&server, "POST", TICKET, Body::empty(), &longest).await.status, 200);
    let longer = [("cookie", of_length(HEADER_BYTES_MAX + 1))];
    let longer = longer.each_ref().map(|(name, value)| (*name, value.as_str()));
    let refused = Browser::default().send(&server, "POST", TICKET, Body::empty(), &longer).await;
    refused.assert_refused(431, "HEADERS_TOO_LARGE");
}

#[tokio::test]
async fn more_requests_at_once_than_there_is_room_for_are_refused() {
    let server = Server::start().await;
    let router = router_for(Arc::clone(&server.app), Bounds { calls_max: 1, ..Bounds::default() });
    // A body that does not end keeps its request open.
    let (open, endless) = endless();
    let first = Request::post(TICKET).body(endless).unwrap();
    let first = tokio::spawn(router.clone().oneshot(first));
    open.send(Ok(Bytes::new())).await.unwrap();
    open.reserve().await.unwrap();
    let second = Request::get(TICKET).body(Body::empty()).unwrap();
    let status = router.clone().oneshot(second).await.unwrap().status();
    assert_eq!(status, 503);
    drop(open);
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    let third = Request::get(TICKET).body(Body::empty()).unwrap();
    assert_eq!(router.oneshot(third).await.unwrap().status(), 401);
}

#[tokio::test]
async fn joins_beyond_their_bound_are_refused_and_nothing_else_is() {
    let server = Server::start().await;
    let router = |joins_max| router_for(Arc::clone(&server.app), Bounds { joins_max, ..Bounds::default() });
    let join = || Request::post(TICKET).body(Body::empty()).unwrap();
    assert_eq!(router(1).oneshot(join()).await.unwrap().status(), 200, "at the limit");
    let refused = router(0).oneshot(join()).await.unwrap();
    assert_eq!(refused.status(), 503, "one past it");
    assert!(refused.headers().contains_key("retry-after"));
    let problem = to_bytes(refused.into_body(), usize::MAX).await.unwrap();
    assert!(String::from_utf8_lossy(&problem).contains("\"OVERLOADED\""));
    let redeem = Request::post(format!("{TICKET}/redeem")).body(Body::empty()).unwrap();
    assert_eq!(router(0).oneshot(redeem).await.unwrap().status(), 401, "it is only without a ticket");
    let metrics = server.app.metrics.text().unwrap();
    assert!(metrics.contains("fairgate_shed_joins_total 1"), "{metrics}");
}

/// A body that ends when its sender is dropped.
fn endless() -> (mpsc::Sender<Result<Bytes, io::Error>>, Body) {
    let (open, never) = mpsc::channel(1);
    let body = Body::from_stream(futures_util::stream::unfold(never, |mut never: mpsc::Receiver<_>| async {
        never.recv().await.map(|chunk| (chunk, never))
    }));
    (open, body)
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_the_clients_fault() {
    let server = Server::start().await;
    let bounds = Bounds { body_time_max: Duration::from_millis(20), ..Bounds::default() };
    let router = router_for(Arc::clone(&server.app), bounds);
    let (_open, slow) = endless();
    let reply = router.oneshot(Request::post(TICKET).body(slow).unwrap()).await.unwrap();
    assert_eq!(reply.status(), 408);
    let problem = to_bytes(reply.into_body(), usize::MAX).await.unwrap();
    assert!(String::from_utf8_lossy(&problem).contains("\"BODY_TIMEOUT\""));
}

#[tokio::test]
async fn a_store_that_does_not_confirm_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::with_store(&|event, clock| {
        let hosted = HostedRoom {
            event: event.id.clone(),
            settings: room_settings(event),
            planted: Planted::default(),
            first_epoch: shared::ids::Epoch(1),
        };
        let dir = dir.path().join(event.id.as_str());
        let store = EmbeddedStore::open(&dir, vec![hosted], clock.clone()).unwrap();
        let room: Arc<dyn RoomStore> = store.room(&event.id).unwrap();
        tokio::spawn(store.crash());
        room
    })
    .await;
    let reply = Browser::default().post(&server, TICKET).await;
    reply.assert_refused(503, "UNCONFIRMED");
    assert_eq!(reply.header("set-cookie"), None);
    Browser::default()
        .get(&server, "/.fairgate/events/drop")
        .await
        .assert_refused(503, "SNAPSHOT_UNAVAILABLE");
}
