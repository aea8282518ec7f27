//! Redeeming.

use crate::browser::{Browser, REDEEM, Server, TICKET, event, fill};
use axum::body::Body;
use shared::{
    ids::{Epoch, LaneId, Place, TicketNumber},
    token::Ticket,
};

#[tokio::test]
async fn the_line_moves_when_somebody_leaves() {
    let mut server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    let early = buyer.post(&server, REDEEM).await;
    early.assert_refused(409, "NOT_YOUR_TURN");
    inside.send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    let mut ticks = 0;
    while buyer.get(&server, TICKET).await.json()["state"] != "called" {
        server.advance_s(1);
        server.tick().await;
        ticks += 1;
        // A room that knows no delays yet still expects those it called for eight seconds.
        assert!(ticks <= 10, "nobody is called");
    }
    let entered = buyer.post(&server, REDEEM).await;
    assert_eq!(entered.status, 200);
    let token = entered.json()["pass"]["token"].clone();
    assert!(token.is_string());
    // The same pass again, however often.
    server.advance_s(5);
    assert_eq!(buyer.post(&server, REDEEM).await.json()["pass"]["token"], token);
    assert_eq!(buyer.post(&server, TICKET).await.json()["pass"]["token"], token);
}

#[tokio::test]
async fn a_full_door_keeps_the_turn() {
    let server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    server.call_next().await;
    let full = buyer.post(&server, REDEEM).await;
    full.assert_refused(409, "DOOR_FULL");
    assert_eq!(full.header("retry-after"), Some("2"));
    inside.send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    assert_eq!(buyer.post(&server, REDEEM).await.status, 200);
}

#[tokio::test]
async fn a_ticket_enters_once() {
    let server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    // The session idles out.
    server.advance_s(120);
    inside.post(&server, REDEEM).await.assert_refused(410, "TICKET_SPENT");
}

#[tokio::test]
async fn a_turn_that_was_never_taken_expires() {
    let mut server = Server::start().await;
    let [mut inside, _] = fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    inside.send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    // Ten times turn_grace in which a session was free: room time moves by at most two seconds a tick.
    for _ in 0..1_510 {
        server.advance_s(2);
        server.tick().await;
    }
    buyer.post(&server, REDEEM).await.assert_refused(410, "TURN_EXPIRED");
}

#[tokio::test]
async fn a_ticket_of_an_earlier_epoch_is_void() {
    let server = Server::start().await;
    let ticket = Ticket {
        place: Place { epoch: Epoch(0), lane: LaneId(0), number: TicketNumber(1) },
        lobby: false,
        flagged: false,
        issued_at_s: 1,
        device: shared::ids::DeviceHash([1; 8]),
        nonce: [2; 8],
    };
    let text = server.app.keys.seal_ticket(&event(), &ticket).unwrap().into_string();
    let mut buyer = Browser::default();
    buyer.cookies.insert("fg-ticket-drop".to_owned(), text);
    buyer.get(&server, TICKET).await.assert_refused(410, "TICKET_VOID");
    buyer.post(&server, REDEEM).await.assert_refused(410, "TICKET_VOID");
    buyer.send(&server, "DELETE", TICKET, Body::empty(), &[]).await.assert_refused(410, "TICKET_VOID");
    // Its owner joins as anybody else.
    assert_eq!(buyer.post(&server, TICKET).await.status, 200);
}
