//! Taking: all enforced limits of a check or none, and waiting for a permit.

use super::{
    asked::{Asked, by_shop, is_permit},
    home::Change,
    outcome::{Said, kept_out},
    service::{Limits, LimitsError},
};
use shared::{
    config::PolicyMode,
    gate::Limit,
    limiter::{check::Charge, concurrency::Holder},
    time::Timestamp,
    wire::limits::WaitOrder,
};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

impl Limits {
    /// Takes what a check costs, and waits for a permit where it asks to.
    pub(super) async fn take_or_wait<'a>(
        &self,
        asked: &'a Asked<'_>,
        limits: &[Limit<'a>],
        holder: Option<Holder>,
    ) -> Result<Said<'a>, LimitsError> {
        let wait = asked.wait.filter(|wait| wait.ms > 0);
        let order = wait.map_or(WaitOrder::OldestFirst, |wait| wait.order);
        let queued =
            limits.iter().find(|limit| is_permit(limit) && self.permits.is_waited_for(limit.charge.key));
        let said = match queued {
            Some(limit) if order == WaitOrder::OldestFirst => {
                self.keep_out(asked, limits, limit, holder).await?
            }
            _ => self.take(asked, limits, holder).await?,
        };
        let (Some(wait), Some((index, free_in))) = (wait, said.permit_waited_for()) else { return Ok(said) };
        let Some(key) = said.limits.get(index).map(|limit| limit.charge.key) else { return Ok(said) };
        // Where the queue is full the refusal stands.
        let Ok(place) = self.permits.join(key, wait.order) else { return Ok(said) };
        let deadline = Instant::now() + Duration::from_millis(wait.ms);
        let (mut said, mut look_at) = (said, (Instant::now() + free_in).min(deadline));
        loop {
            tokio::select! {
                () = place.woken() => {}
                () = sleep_until(look_at) => {}
            }
            if place.is_next() {
                said = self.take(asked, limits, holder).await?;
            }
            match said.permit_waited_for() {
                Some((_, free_in)) if Instant::now() < deadline => {
                    // A permit that runs out wakes nobody, so the first of the queue looks by itself.
                    let pause = free_in.max(Duration::from_millis(1));
                    look_at = (Instant::now() + pause).min(deadline);
                }
                _ => return Ok(said),
            }
        }
    }

    /// Takes all enforced limits or none; then asks those in shadow, each by itself.
    async fn take<'a>(
        &self,
        asked: &'a Asked<'_>,
        limits: &[Limit<'a>],
        holder: Option<Holder>,
    ) -> Result<Said<'a>, LimitsError> {
        let mut said = Said::in_answer_to(asked);
        for (shop, group) in by_shop(asked, limits) {
            let enforced: Vec<Limit<'a>> = with_mode(&group, PolicyMode::Enforced);
            if enforced.is_empty() {
                continue;
            }
            let before = (said.limits.len(), said.now);
            let answered = self.home.check(shop, &enforced, holder).await?;
            said.add(enforced, answered);
            if said.verdict().refusal.is_some() {
                // What lies elsewhere was taken already, and goes back.
                self.take_back(asked, &said, before).await?;
                return Ok(said);
            }
        }
        for (shop, group) in by_shop(asked, limits) {
            for limit in with_mode(&group, PolicyMode::Shadow) {
                let answered = self.home.check(shop, &[limit], holder).await?;
                said.add(vec![limit], answered);
            }
        }
        Ok(said)
    }

    /// What a caller is told whom a queue keeps out.
    async fn keep_out<'a>(
        &self,
        asked: &'a Asked<'_>,
        limits: &[Limit<'a>],
        queued: &Limit<'a>,
        holder: Option<Holder>,
    ) -> Result<Said<'a>, LimitsError> {
        let mut said = Said::in_answer_to(asked);
        for (shop, group) in by_shop(asked, limits) {
            let answered = self.home.peek(shop, &group, holder).await?;
            said.add(group, answered);
        }
        for (limit, decision) in said.limits.iter().zip(&mut said.decisions) {
            if limit.charge.key == queued.charge.key {
                *decision = decision.map(kept_out);
            }
        }
        Ok(said)
    }

    async fn take_back(
        &self,
        asked: &Asked<'_>,
        said: &Said<'_>,
        (taken, taken_at): (usize, Timestamp),
    ) -> Result<(), LimitsError> {
        let charges: Vec<Charge> = said.limits.iter().take(taken).map(|limit| limit.charge).collect();
        if charges.is_empty() {
            return Ok(());
        }
        Ok(self.home.change(&asked.shop.id, Change::Refund { charges: &charges, taken_at }).await?)
    }
}

fn with_mode<'a>(limits: &[Limit<'a>], mode: PolicyMode) -> Vec<Limit<'a>> {
    limits.iter().filter(|limit| limit.mode == mode).copied().collect()
}
