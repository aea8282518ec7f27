//! Joining, asking, giving up.

use crate::browser::{Browser, REDEEM, Server, TICKET, fill};
use axum::body::Body;
use queue_server::rooms::Published;
use shared::{
    http::language::Language,
    ids::{LaneId, Place, TicketNumber},
    room::status,
    time::Timestamp,
};

#[tokio::test]
async fn an_empty_line_takes_one_round_trip() {
    let server = Server::start().await;
    let mut buyer = Browser::default();
    let reply = buyer.post(&server, TICKET).await;
    assert_eq!(reply.status, 200);
    let told = reply.json();
    assert_eq!((told["ticketNumber"].as_u64(), told["lane"].as_str()), (Some(1), Some("guest")));
    assert_eq!(told["pass"]["expiresInS"], 120);
    assert_eq!(told["pass"]["renewInS"], 60);
    // The snapshot of the last tick does not know this number yet.
    assert_eq!(told["status"]["state"], "called");
    assert!(told["status"]["position"].is_null() && told["status"]["eta"].is_null());
    assert_eq!(reply.header("cache-control"), Some("private, no-store"));
    let names: Vec<_> = buyer.cookies.keys().map(String::as_str).collect();
    assert_eq!(names, ["fg-device", "fg-pass-drop", "fg-ticket-drop"]);
    let jwt = told["pass"]["token"].as_str().unwrap();
    let claims = server.app.passes.open(jwt).unwrap();
    assert_eq!(claims.jti.to_string(), "drop:1:0:1");
    assert!(buyer.cookies["fg-pass-drop"].ends_with(jwt));
}

#[tokio::test]
async fn a_full_shop_gives_a_place_in_line() {
    let mut server = Server::start().await;
    fill(&server).await;
    let mut buyer = Browser::default();
    let reply = buyer.post(&server, TICKET).await;
    assert_eq!(reply.status, 201);
    let told = reply.json();
    assert!(told["pass"].is_null());
    assert_eq!(told["status"]["state"], "waiting");
    server.tick().await;
    let status = buyer.get(&server, TICKET).await;
    assert_eq!(status.status, 200);
    assert_eq!(status.json()["ticketNumber"], 3);
    assert_eq!(status.json()["position"], 0);
    let next_poll_ms = status.json()["nextPollMs"].as_u64().unwrap();
    assert_eq!(status.header("retry-after"), Some(next_poll_ms.div_ceil(1_000).to_string().as_str()));
}

/// Once, a server that stood still after a join left edges with the snapshot before it, by which the buyer stood further behind than
/// the join had told.
#[tokio::test]
async fn an_edge_that_is_some_ticks_behind_tells_no_higher_position_than_the_join_did() {
    let mut server = Server::start().await;
    let [mut leaves, _] = fill(&server).await;
    for _ in 0..2 {
        Browser::default().post(&server, TICKET).await;
    }
    server.tick().await;
    let behind = server.room().published().unwrap();
    assert_eq!(leaves.send(&server, "DELETE", TICKET, Body::empty(), &[]).await.status, 204);
    server.tick().await;
    server.call_next().await;
    server.tick().await;
    let told = Browser::default().post(&server, TICKET).await.json();
    assert_eq!(told["ticketNumber"], 5);
    let place = Place { epoch: behind.snapshot.epoch, lane: LaneId(0), number: TicketNumber(5) };
    let position_at = |published: &Published| {
        let now = Timestamp::from_millis(published.snapshot.server_time_ms);
        status(&published.snapshot, place, now, Language::En).unwrap().position.unwrap()
    };
    assert!(position_at(&server.room().published().unwrap()) < position_at(&behind), "somebody was called");
    assert!(told["status"]["position"].as_u64() >= Some(position_at(&behind)), "{told}");
}

#[tokio::test]
async fn joining_again_keeps_the_place() {
    let server = Server::start().await;
    fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    let ticket = buyer.ticket().to_owned();
    let again = buyer.post(&server, TICKET).await;
    assert_eq!((again.status.as_u16(), again.json()["ticket"].as_str()), (200, Some(ticket.as_str())));
    // By the device alone, where the ticket was lost.
    buyer.cookies.remove("fg-ticket-drop");
    let found = buyer.post(&server, TICKET).await;
    assert_eq!((found.status.as_u16(), found.json()["ticketNumber"].as_u64()), (200, Some(3)));
    // By the ticket alone, on another device.
    let mut other = Browser::default();
    let fields = [("authorization", format!("Ticket {ticket}"))];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let moved = other.send(&server, "POST", TICKET, Body::empty(), &fields).await;
    assert_eq!(moved.json()["ticketNumber"], 3);
}

#[tokio::test]
async fn the_header_wins_over_the_cookie() {
    let server = Server::start().await;
    fill(&server).await;
    let (mut one, mut two) = (Browser::default(), Browser::default());
    one.post(&server, TICKET).await;
    two.post(&server, TICKET).await;
    let header = format!("ticket {}", two.ticket());
    let reply = one.send(&server, "GET", TICKET, Body::empty(), &[("authorization", &header)]).await;
    assert_eq!(reply.json()["ticketNumber"], 4);
}

#[tokio::test]
async fn a_place_that_is_given_up_is_spent() {
    let server = Server::start().await;
    fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    let mut kept = buyer.clone();
    let gone = buyer.send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    assert_eq!((gone.status.as_u16(), gone.body.len()), (204, 0));
    assert_eq!(buyer.cookies.keys().collect::<Vec<_>>(), ["fg-device"]);
    // A second time changes nothing.
    let again = kept.clone().send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    assert_eq!(again.status, 204);
    kept.post(&server, REDEEM).await.assert_refused(410, "TICKET_SPENT");
    let anew = kept.post(&server, TICKET).await;
    assert_eq!((anew.status.as_u16(), anew.json()["ticketNumber"].as_u64()), (201, Some(4)));
}

#[tokio::test]
async fn giving_up_inside_makes_room() {
    let server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    inside.send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    let next = Browser::default().post(&server, TICKET).await;
    assert!(next.json()["pass"].is_object());
}

#[tokio::test]
async fn a_request_without_a_ticket_is_told_so() {
    let server = Server::start().await;
    for (method, path) in [("GET", TICKET), ("DELETE", TICKET), ("POST", REDEEM)] {
        let reply = Browser::default().send(&server, method, path, Body::empty(), &[]).await;
        reply.assert_refused(401, "NO_TICKET");
        assert_eq!(reply.header("www-authenticate"), Some("Ticket"));
    }
}
