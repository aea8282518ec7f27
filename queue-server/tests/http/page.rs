//! The waiting page, and the forms of a browser without script.

use crate::browser::{Browser, REDEEM, Server, TICKET, fill};

const WAIT: &str = "/.fairgate/wait/drop?return=/p/A-1";

#[tokio::test]
async fn the_page_is_private_html() {
    let server = Server::start().await;
    let page = Browser::default().get(&server, WAIT).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("private, no-store"));
    assert!(page.header("content-security-policy").is_some());
    assert!(page.text().contains("/p/A-1"));
}

#[tokio::test]
async fn a_form_that_enters_goes_back_to_the_shop() {
    let server = Server::start().await;
    let mut buyer = Browser::default();
    let reply = buyer.post_form(&server, TICKET, "return=%2Fp%2FA-1").await;
    assert_eq!((reply.status.as_u16(), reply.header("location")), (303, Some("/p/A-1")));
    assert!(buyer.cookies.contains_key("fg-pass-drop"));
    let evil = buyer.post_form(&server, REDEEM, "return=https%3A%2F%2Fevil.example").await;
    assert_eq!((evil.status.as_u16(), evil.header("location")), (303, Some("/")));
}

#[tokio::test]
async fn a_form_that_waits_goes_to_the_waiting_page() {
    let server = Server::start().await;
    fill(&server).await;
    let mut buyer = Browser::default();
    let reply = buyer.post_form(&server, TICKET, "return=%2Fp%2FA-1").await;
    assert_eq!(reply.status, 303);
    let location = reply.header("location").unwrap();
    assert!(location.starts_with("/.fairgate/wait/drop?return="), "{location}");
    let page = buyer.get(&server, location).await;
    assert_eq!(page.status, 200);
    // The number is on the page: the cookie came along.
    assert!(page.text().contains("\"ticketNumber\":3"));
}

#[tokio::test]
async fn a_refused_form_gets_the_page_under_its_status() {
    let server = Server::start().await;
    fill(&server).await;
    let mut buyer = Browser::default();
    buyer.post(&server, TICKET).await;
    let early = buyer.post_form(&server, REDEEM, "return=%2Fp%2FA-1").await;
    assert_eq!(early.status, 409);
    assert_eq!(early.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(early.header("retry-after").is_some());
    let without_ticket = Browser::default().post_form(&server, REDEEM, "").await;
    assert_eq!(without_ticket.status, 401);
    assert_eq!(without_ticket.header("content-type"), Some("text/html; charset=utf-8"));
}

#[tokio::test]
async fn blocked_cookies_are_noticed() {
    let server = Server::start().await;
    fill(&server).await;
    let location = Browser::default().post_form(&server, TICKET, "").await;
    let location = location.header("location").unwrap();
    let without_cookies = Browser::default().get(&server, location).await;
    let first_visit = Browser::default().get(&server, WAIT).await;
    assert!(without_cookies.text().contains("\"mode\":\"cookies\""));
    assert!(!first_visit.text().contains("\"mode\":\"cookies\""));
}
