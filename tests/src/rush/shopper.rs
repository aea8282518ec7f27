//! One buyer's visit: the calls of the protocol, each answer written down.

use super::history::{Buyer, Call, Fact, Seen, place_of};
use super::tally::Tally;
use crate::device::{Device, Reply, jti_of, place_of_ticket};
use axum::http::Method;
use serde_json::{Value, json};
use shared::ids::Place;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What all shoppers of a rush share.
#[derive(Debug)]
pub struct Sale {
    pub event: String,
    pub sku: String,
    pub tally: Tally,
    opened: Instant,
    /// When everybody goes home.
    closes: Instant,
    closed: watch::Sender<bool>,
}

impl Sale {
    /// Opens now, for at most `patience`.
    pub fn new(event: &str, sku: &str, patience: Duration) -> Self {
        let opened = Instant::now();
        Self {
            event: event.to_owned(),
            sku: sku.to_owned(),
            tally: Tally::default(),
            opened,
            closes: opened + patience,
            closed: watch::Sender::new(false),
        }
    }

    /// Sends everybody home who is still asking or waiting.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    pub fn elapsed(&self) -> Duration {
        self.opened.elapsed()
    }
}

/// A buyer with a device, and what they have seen.
#[derive(Debug)]
pub struct Shopper {
    pub device: Device,
    pub buyer: Buyer,
    /// The ticket last given.
    pub ticket: Option<String>,
    /// When the last status asked for the next poll.
    pub next_poll: Option<Duration>,
    sale: Arc<Sale>,
}

impl Shopper {
    pub fn new(device: Device, buyer: Buyer, sale: Arc<Sale>) -> Self {
        Self { device, buyer, ticket: None, next_poll: None, sale }
    }

    /// Waits as long as a reply asked; false when the sale closes first.
    pub async fn pause(&self, wait: Duration) -> bool {
        let mut closed = self.sale.closed.subscribe();
        let is_open = !*closed.borrow() && Instant::now() + wait < self.sale.closes;
        if !is_open {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => true,
            _ = closed.wait_for(|closed| *closed) => false,
        }
    }

    /// Presses "add to cart".
    pub async fn add_to_cart(&mut self) -> Option<Reply> {
        let item = json!({ "sku": self.sale.sku, "quantity": 1 });
        let request = self.device.request(Method::POST, "/api/cart/items").json(&item);
        let ticket_before = self.device.ticket_place(&self.sale.event);
        let reply = self.call(Call::AddToCart, request).await?;
        // Where the line seemed empty and was not, the refusal brings a place in it.
        if let Some(place) = self.device.ticket_place(&self.sale.event).filter(|_| reply.status >= 300)
            && ticket_before != Some(place)
        {
            self.note(Call::AddToCart, &reply, Fact::Holds(place));
        }
        if reply.status == 201 {
            // On an empty line this reply is also the one that brought the pass.
            let jti = self.device.pass_jti(&self.sale.event);
            let place = jti.and_then(|jti| place_of(&jti, &self.sale.event));
            if let Some(place) = place.filter(|place| self.entered() != Some(*place)) {
                self.note(Call::AddToCart, &reply, Fact::Entered(place));
            }
            self.note(Call::AddToCart, &reply, Fact::InCart);
        }
        Some(reply)
    }

    pub async fn join(&mut self) -> Option<Reply> {
        let request = self.device.request(Method::POST, &self.path("ticket")).json(&json!({}));
        let reply = self.call(Call::Join, request).await?;
        self.read_ticket(Call::Join, &reply);
        Some(reply)
    }

    pub async fn poll(&mut self) -> Option<Reply> {
        let request = self.device.request(Method::GET, &self.path("ticket"));
        let reply = self.call(Call::Poll, request).await?;
        if reply.status == 200 {
            self.read_status(Call::Poll, &reply, &reply.json());
        }
        Some(reply)
    }

    pub async fn redeem(&mut self) -> Option<Reply> {
        let request = self.device.request(Method::POST, &self.path("ticket/redeem")).json(&json!({}));
        let reply = self.call(Call::Redeem, request).await?;
        self.read_ticket(Call::Redeem, &reply);
        Some(reply)
    }

    /// Redeems a kept ticket after its session has ended.
    pub async fn redeem_again(&mut self, ticket: &str) -> Option<Reply> {
        let request = self.device.request(Method::POST, &self.path("ticket/redeem"));
        let request = request.header("authorization", format!("Ticket {ticket}")).json(&json!({}));
        let reply = self.call(Call::RedeemAgain, request).await?;
        self.read_ticket(Call::RedeemAgain, &reply);
        Some(reply)
    }

    pub async fn renew(&mut self) -> Option<Reply> {
        let request = self.device.request(Method::POST, &self.path("session/renew")).json(&json!({}));
        self.call(Call::Renew, request).await
    }

    pub async fn check_out(&mut self) -> Option<Reply> {
        let request = self.device.request(Method::POST, "/api/checkout").json(&json!({}));
        let reply = self.call(Call::CheckOut, request).await?;
        if reply.status == 200 {
            self.note(Call::CheckOut, &reply, Fact::Bought);
        }
        Some(reply)
    }

    /// Whether the last status said that the turn has come.
    pub fn is_called(&self) -> bool {
        self.buyer.seen.iter().rev().find_map(|seen| match seen.fact {
            Fact::Called => Some(true),
            Fact::Waiting { .. } => Some(false),
            _ => None,
        }) == Some(true)
    }

    /// Whether the item lies in the shop's cart.
    pub fn is_in_cart(&self) -> bool {
        self.buyer.seen.iter().any(|seen| seen.fact == Fact::InCart)
    }

    /// Whether a pass has ever been handed to this buyer.
    pub fn is_inside(&self) -> bool {
        self.entered().is_some()
    }

    /// The place whose pass was last handed out.
    fn entered(&self) -> Option<Place> {
        self.buyer.seen.iter().rev().find_map(|seen| match seen.fact {
            Fact::Entered(place) => Some(place),
            _ => None,
        })
    }

    fn path(&self, call: &str) -> String {
        format!("/.fairgate/events/{}/{call}", self.sale.event)
    }

    /// Sends a request; a refusal, or no answer at all, is written down here.
    async fn call(&mut self, call: Call, request: reqwest::RequestBuilder) -> Option<Reply> {
        let sent_ms = self.device.now_ms();
        let reply = self.device.send(request).await;
        self.sale.tally.asked(call);
        let Ok(reply) = reply else {
            let answered_ms = self.device.now_ms();
            self.write(Seen { sent_ms, answered_ms, call, fact: Fact::Unreached });
            return None;
        };
        if reply.status >= 300 {
            let (status, code) = (reply.status, reply.code());
            self.note(call, &reply, Fact::Refused { status, code });
        }
        Some(reply)
    }

    /// Reads a ticket reply: ticket, status and perhaps a pass.
    fn read_ticket(&mut self, call: Call, reply: &Reply) {
        if reply.status >= 300 {
            return;
        }
        let body = reply.json();
        if let Some(ticket) = body["ticket"].as_str() {
            if let Some(place) = place_of_ticket(ticket).filter(|_| call == Call::Join) {
                self.note(call, reply, Fact::Holds(place));
            }
            self.ticket = Some(ticket.to_owned());
        }
        let jti = body["pass"]["token"].as_str().and_then(jti_of);
        match jti.and_then(|jti| place_of(&jti, &self.sale.event)) {
            Some(place) => self.note(call, reply, Fact::Entered(place)),
            None => self.read_status(call, reply, &body["status"]),
        }
    }

    fn read_status(&mut self, call: Call, reply: &Reply, status: &Value) {
        self.next_poll = status["nextPollMs"].as_u64().map(Duration::from_millis);
        let seconds = |end: &str| status["eta"][end].as_u64();
        match (status["state"].as_str(), status["position"].as_u64()) {
            (Some("waiting"), Some(position)) => {
                let eta_s = seconds("lowS").zip(seconds("highS"));
                self.note(call, reply, Fact::Waiting { position, eta_s });
            }
            (Some("called" | "late"), _) => self.note(call, reply, Fact::Called),
            _ => {}
        }
    }

    fn note(&mut self, call: Call, reply: &Reply, fact: Fact) {
        let Reply { sent_ms, answered_ms, .. } = *reply;
        self.write(Seen { sent_ms, answered_ms, call, fact });
    }

    fn write(&mut self, seen: Seen) {
        self.sale.tally.saw(&seen.fact);
        self.buyer.seen.push(seen);
    }
}
