//! What must hold of everything that a crowd was told, whatever happened to servers and Redis.

use super::crowd::{Buyer, JOIN, REDEEM};
use crate::device::{Device, Reply};
use crate::stack::fleet::Fleet;
use anyhow::{Result, ensure};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// No number twice; no position that rose; never more inside than `capacity`; one pass for a ticket; every place and every session still there, and none of
/// those that were given up. What is wrong, in words.
pub async fn violations(fleet: &Fleet, buyers: Vec<Buyer>, capacity: usize) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let (mut numbers, mut sessions) = (BTreeSet::new(), BTreeSet::new());
    for buyer in &buyers {
        if !numbers.insert(buyer.number) {
            wrong.push(format!("number {} was given twice", buyer.number));
        }
        if let Some((from, to)) = buyer.rose {
            wrong.push(format!("the position of {} rose from {from} to {to}", buyer.number));
        }
        if let Some((jti, _)) = &buyer.entered
            && !sessions.insert(jti.clone())
        {
            wrong.push(format!("the pass {jti} was given twice"));
        }
    }
    let most = most_inside(&buyers);
    if most > capacity {
        wrong.push(format!("{most} were inside of {capacity}"));
    }
    let alive = fleet.addresses[fleet.leader_among(|_| true).await?];
    let mut asked = JoinSet::new();
    let mut rest = buyers.into_iter();
    for _ in 0..AT_ONCE {
        if let Some(mut buyer) = rest.next() {
            buyer.device.edge = alive;
            asked.spawn(still_true(buyer));
        }
    }
    while let Some(answered) = asked.join_next().await {
        match answered? {
            Ok(found) => wrong.extend(found),
            // The others would wait as long, and say the same.
            Err(error) => {
                wrong.push(format!("{error:#}"));
                break;
            }
        }
        if let Some(mut buyer) = rest.next() {
            buyer.device.edge = alive;
            asked.spawn(still_true(buyer));
        }
    }
    Ok(wrong)
}

/// Most buyers who were certainly inside at one moment: from when they were told to when they gave up.
fn most_inside(buyers: &[Buyer]) -> usize {
    let mut steps: Vec<(Instant, bool)> = Vec::new();
    for buyer in buyers {
        if let Some((_, entered_at)) = &buyer.entered {
            steps.push((*entered_at, true));
            steps.extend(buyer.left.map(|(at, _)| (at, false)));
        }
    }
    // Who leaves at the moment at which another one is told makes room first.
    steps.sort_unstable();
    let (mut inside, mut most) = (0_usize, 0);
    for (_, enters) in steps {
        inside = if enters { inside + 1 } else { inside.saturating_sub(1) };
        most = most.max(inside);
    }
    most
}

/// What this buyer was told, asked for again.
async fn still_true(mut buyer: Buyer) -> Result<Option<String>> {
    match (buyer.entered, buyer.left) {
        (_, Some((_, false))) => Ok(None),
        (Some((jti, _)), Some((_, true))) => {
            let again = patiently(&mut buyer.device, REDEEM).await?.status;
            let is_spent = again == 410;
            Ok((!is_spent).then(|| format!("{jti} was given up and may redeem again: {again}")))
        }
        (Some((jti, _)), None) => {
            let again = patiently(&mut buyer.device, REDEEM).await?.status;
            let now = buyer.device.pass_jti("drop");
            let is_there = again == 200 && now.as_ref() == Some(&jti);
            Ok((!is_there).then(|| format!("the session {jti} was lost: {again}")))
        }
        (None, _) => {
            let number = patiently(&mut buyer.device, JOIN).await?.json()["ticketNumber"].as_u64();
            Ok((number != Some(buyer.number))
                .then(|| format!("place {} was lost: now {number:?}", buyer.number)))
        }
    }
}

/// Posts until there is an answer that is not 503.
async fn patiently(device: &mut Device, path: &str) -> Result<Reply> {
    let asked = Instant::now();
    loop {
        if let Ok(reply) = device.post(path, &json!({})).await
            && reply.status != 503
        {
            return Ok(reply);
        }
        ensure!(asked.elapsed() < PATIENCE, "nobody answers when all faults are over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

const AT_ONCE: usize = 32;
const PATIENCE: Duration = Duration::from_secs(20);
