//! A room with people in it, for what only they can ask.

use super::wire::{Request, Wire};
use crate::stack::fleet::Fleet;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::time::{Duration, Instant};

pub(super) const TICKET: &str = "/.fairgate/events/drop/ticket";

/// A join of somebody who has never been here.
pub(super) fn join() -> Request {
    Request::new("POST", TICKET, "", "")
}

/// `count` people who wait, by their tickets.
pub(super) async fn waiting(fleet: &Fleet, count: usize) -> Result<Vec<String>> {
    let mut wire = Wire::connect(fleet.addresses[0]).await?;
    let mut tickets = Vec::with_capacity(count);
    for _ in 0..count {
        let answer = wire.ask(&join()).await?;
        let body: Value = serde_json::from_slice(&answer.body)?;
        let ticket = body["ticket"].as_str().with_context(|| format!("no ticket in {body}"))?;
        if body["pass"].is_null() {
            tickets.push(ticket.to_owned());
        }
    }
    Ok(tickets)
}

/// What the owner of each ticket asks.
pub(super) fn of_tickets(tickets: &[String], method: &str, path: &str) -> Vec<Request> {
    let field = |ticket: &String| format!("authorization: Ticket {ticket}\r\n");
    tickets.iter().map(|ticket| Request::new(method, path, &field(ticket), "")).collect()
}

/// Sets the capacity, and waits until so many numbers are called.
pub(super) async fn call(fleet: &Fleet, key: &str, capacity: usize, last: usize) -> Result<()> {
    let mut wire = Wire::connect(fleet.addresses[0]).await?;
    let fields = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let order = Request::new(
        "POST",
        "/v1/events/drop/actions",
        &fields,
        &format!("{{\"action\":{{\"capacity\":{capacity}}}}}"),
    );
    let answer = wire.ask(&order).await?;
    ensure!(answer.status == 200, "{}", String::from_utf8_lossy(&answer.body));
    let asked = Instant::now();
    loop {
        let answer = wire.ask(&Request::new("GET", "/.fairgate/events/drop", "", "")).await?;
        let snapshot: Value = serde_json::from_slice(&answer.body)?;
        let called = snapshot["lanes"][0]["servingNumber"].as_u64().unwrap_or(0);
        if called >= u64::try_from(last)? {
            return Ok(());
        }
        ensure!(asked.elapsed() < CALL_PATIENCE, "{called} of {last} are called: {snapshot}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

const CALL_PATIENCE: Duration = Duration::from_secs(60);
