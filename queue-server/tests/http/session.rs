//! Renewing.

use crate::browser::{Browser, RENEW, Server, TICKET, fill};
use axum::body::Body;

#[tokio::test]
async fn a_renewal_gives_the_full_idle_time_again() {
    let server = Server::start().await;
    let [mut buyer, _] = fill(&server).await;
    server.advance_s(60);
    let renewed = buyer.post(&server, RENEW).await;
    assert_eq!((renewed.status.as_u16(), renewed.json()["pass"]["expiresInS"].as_u64()), (200, Some(120)));
    server.advance_s(119);
    assert_eq!(buyer.post(&server, RENEW).await.status, 200);
    server.advance_s(120);
    buyer.post(&server, RENEW).await.assert_refused(410, "SESSION_ENDED");
}

#[tokio::test]
async fn a_renewal_ends_at_the_hard_maximum() {
    let server = Server::start().await;
    let [mut buyer, _] = fill(&server).await;
    for _ in 0..8 {
        server.advance_s(100);
        assert_eq!(buyer.post(&server, RENEW).await.status, 200);
    }
    // 800 of 900 seconds are over.
    assert_eq!(buyer.post(&server, RENEW).await.json()["pass"]["expiresInS"], 100);
}

#[tokio::test]
async fn a_renewal_needs_ticket_and_pass_of_one_place() {
    let server = Server::start().await;
    let [one, two] = fill(&server).await;
    let mut without_pass = one.clone();
    without_pass.cookies.remove("fg-pass-drop");
    without_pass.post(&server, RENEW).await.assert_refused(403, "PASS_INVALID");
    let mut mixed = one.clone();
    mixed.cookies.insert("fg-pass-drop".to_owned(), two.cookies["fg-pass-drop"].clone());
    mixed.post(&server, RENEW).await.assert_refused(403, "PASS_INVALID");
    let mut forged = one.clone();
    let pass = one.cookies["fg-pass-drop"].replace('.', ".e30.");
    forged.cookies.insert("fg-pass-drop".to_owned(), pass);
    forged.post(&server, RENEW).await.assert_refused(403, "PASS_INVALID");
    let mut without_ticket = one.clone();
    without_ticket.cookies.remove("fg-ticket-drop");
    without_ticket.post(&server, RENEW).await.assert_refused(401, "NO_TICKET");
}

#[tokio::test]
async fn a_client_without_cookies_shows_ticket_and_jwt() {
    let server = Server::start().await;
    let reply = Browser::default().post(&server, TICKET).await.json();
    let ticket = format!("Ticket {}", reply["ticket"].as_str().unwrap());
    let jwt = reply["pass"]["token"].as_str().unwrap();
    let fields = [("authorization", ticket.as_str()), ("fairgate-pass", jwt)];
    let renewed = Browser::default().send(&server, "POST", RENEW, Body::empty(), &fields).await;
    assert_eq!(renewed.status, 200);
    let tampered = [fields[0], ("fairgate-pass", &jwt[..jwt.len() - 4])];
    let refused = Browser::default().send(&server, "POST", RENEW, Body::empty(), &tampered).await;
    refused.assert_refused(403, "PASS_INVALID");
}
