//! How each kind of buyer goes through the sale.

use super::crowd::Plan;
use super::history::{Buyer, BuyerKind};
use super::shopper::Shopper;
use crate::device::Reply;
use std::time::Duration;

/// Where a shopper stands after a step.
enum Step {
    InLine,
    Inside,
    /// Refused for good, or the sale has closed.
    Home,
}

/// A buyer who does as told, from the first press to the purchase.
pub async fn buyer(mut shopper: Shopper, plan: Plan) -> Buyer {
    tokio::time::sleep(plan.arrives_after).await;
    let mut step = press(&mut shopper).await;
    if matches!(step, Step::InLine) {
        step = join(&mut shopper).await;
    }
    if matches!(step, Step::InLine) && plan.kind == BuyerKind::Leaves {
        return shopper.buyer;
    }
    if matches!(step, Step::InLine) {
        step = wait_for_turn(&mut shopper).await;
    }
    if matches!(step, Step::Inside) {
        shop(&mut shopper, &plan).await;
    }
    shopper.buyer
}

/// A bot: whatever it is told, it asks again at once.
pub async fn bot(mut shopper: Shopper, plan: Plan) -> Buyer {
    tokio::time::sleep(plan.arrives_after).await;
    loop {
        let in_cart = shopper.add_to_cart().await.is_some_and(|reply| reply.status == 201);
        if in_cart {
            shopper.check_out().await;
        } else {
            shopper.join().await;
            shopper.redeem().await;
        }
        if !shopper.pause(BOT_PAUSE).await {
            return shopper.buyer;
        }
    }
}

/// Presses "add to cart" for the first time.
async fn press(shopper: &mut Shopper) -> Step {
    loop {
        let reply = shopper.add_to_cart().await;
        match &reply {
            Some(reply) if reply.status == 201 => return Step::Inside,
            Some(reply) if reply.code() == "QUEUE_REQUIRED" => return Step::InLine,
            Some(reply) if !may_retry(reply) => return Step::Home,
            _ => {}
        }
        if !shopper.pause(wait_of(reply.as_ref())).await {
            return Step::Home;
        }
    }
}

async fn join(shopper: &mut Shopper) -> Step {
    loop {
        let reply = shopper.join().await;
        if shopper.is_inside() {
            return Step::Inside;
        }
        match &reply {
            Some(reply) if reply.status < 300 => return Step::InLine,
            Some(reply) if !may_retry(reply) => return Step::Home,
            _ => {}
        }
        if !shopper.pause(wait_of(reply.as_ref())).await {
            return Step::Home;
        }
    }
}

/// Polls as told; redeems when called.
async fn wait_for_turn(shopper: &mut Shopper) -> Step {
    let mut wait = shopper.next_poll.unwrap_or(UNTOLD_WAIT);
    loop {
        if !shopper.is_called() {
            if !shopper.pause(wait).await {
                return Step::Home;
            }
            let reply = shopper.poll().await;
            wait = wait_of(reply.as_ref());
            if reply.is_some_and(|reply| reply.status >= 300 && !may_retry(&reply)) {
                return Step::Home;
            }
            continue;
        }
        let reply = shopper.redeem().await;
        match &reply {
            Some(reply) if reply.status == 200 => return Step::Inside,
            Some(reply) if !may_retry(reply) => return Step::Home,
            _ => {}
        }
        if !shopper.pause(wait_of(reply.as_ref())).await {
            return Step::Home;
        }
    }
}

/// Inside: puts the item into the cart, stays for a while, buys.
async fn shop(shopper: &mut Shopper, plan: &Plan) {
    if !until(shopper, Action::AddToCart).await {
        return;
    }
    let mut left = plan.session;
    while left > RENEW_EVERY {
        left -= RENEW_EVERY;
        if !shopper.pause(RENEW_EVERY).await {
            return;
        }
        shopper.renew().await;
    }
    if !shopper.pause(left).await || !until(shopper, Action::CheckOut).await || !plan.tries_again {
        return;
    }
    let Some(ticket) = shopper.ticket.clone() else { return };
    for _ in 0..TRIES_AGAIN {
        if !shopper.pause(AFTER_THE_END).await {
            return;
        }
        let reply = shopper.redeem_again(&ticket).await;
        if reply.is_some_and(|reply| !matches!(reply.status, 429 | 503)) {
            return;
        }
    }
}

#[derive(Clone, Copy)]
enum Action {
    AddToCart,
    CheckOut,
}

/// Repeats what the shop may refuse for a moment.
async fn until(shopper: &mut Shopper, action: Action) -> bool {
    loop {
        if matches!(action, Action::AddToCart) && shopper.is_in_cart() {
            return true;
        }
        let reply = match action {
            Action::AddToCart => shopper.add_to_cart().await,
            Action::CheckOut => shopper.check_out().await,
        };
        match &reply {
            Some(reply) if reply.status < 300 => return true,
            Some(reply) if !may_retry(reply) || reply.code() == "QUEUE_REQUIRED" => return false,
            _ => {}
        }
        if !shopper.pause(wait_of(reply.as_ref())).await {
            return false;
        }
    }
}

/// Refusals that pass by themselves.
fn may_retry(reply: &Reply) -> bool {
    matches!(reply.status, 409 | 429 | 500 | 502 | 503 | 504) && reply.code() != "OUT_OF_STOCK"
}

fn wait_of(reply: Option<&Reply>) -> Duration {
    reply.and_then(Reply::wait).unwrap_or(UNTOLD_WAIT).max(LEAST_WAIT)
}

const BOT_PAUSE: Duration = Duration::from_millis(200);
const RENEW_EVERY: Duration = Duration::from_mins(1);
/// A finish travels to the queue server off the request's path.
const AFTER_THE_END: Duration = Duration::from_secs(2);
const TRIES_AGAIN: usize = 5;
const UNTOLD_WAIT: Duration = Duration::from_secs(1);
const LEAST_WAIT: Duration = Duration::from_millis(50);
