//! The store of the limits, and what decides in its place while it does not answer.

use super::{
    leased::may_lease,
    process::ProcessStore,
    remote::{NoAnswer, Remote},
    store::{Answer, LimitStore, LimitStoreError, Timed},
};
use crate::clock::Clock;
use shared::{
    config::OnStoreFailure,
    gate::Limit,
    limiter::{
        Decision,
        check::{Charge, CheckRequest},
        concurrency::Holder,
        table::KeyState,
    },
    time::Timestamp,
};
use std::sync::Arc;
use tracing::error;

/// Where states live. With a store on other machines, the limiter of this process is kept warm on every check, so that it
/// can take over without giving everybody a fresh quota.
pub struct Home {
    remote: Option<Remote>,
    local: Arc<ProcessStore>,
    clock: Clock,
}

/// What a check of enforced limits came to.
pub(super) struct Answered {
    /// In the order of the limits; `None`: nobody decided on this one.
    pub(super) decisions: Vec<Option<Decision>>,
    pub(super) now: Timestamp,
    pub(super) by_store: bool,
}

impl Answered {
    fn by_store(told: Timed<Vec<Decision>>) -> Self {
        let decisions = told.value.into_iter().map(Some).collect();
        Self { decisions, now: told.now, by_store: true }
    }
}

/// The store is set up wrong: a fault to put right, and no reason to let anything pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store of limits is not set up for this call")]
pub struct Misconfigured;

/// What is done to keys besides checks.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    Refund { charges: &'a [Charge], taken_at: Timestamp },
    Replenish(&'a Charge),
    Reset(&'a Charge),
    Give(&'a Charge, Holder),
}

impl Home {
    /// States in this process alone.
    pub fn local(local: Arc<ProcessStore>, clock: Clock) -> Self {
        Self { remote: None, local, clock }
    }

    /// Where states live while all is well.
    pub fn store(&self) -> Arc<dyn LimitStore> {
        self.remote.as_ref().map_or_else(|| Arc::clone(&self.local) as _, |remote| Arc::clone(remote.store()))
    }

    /// States in `store`, which so many servers share, with `local` to take over.
    ///
    /// Each server sees its share of the requests, and counts each of them `servers` times in its own limiter. So all
    /// of them together let pass what the policy says, also while none of them reaches the store.
    pub fn remote(store: Arc<dyn LimitStore>, servers: u64, local: Arc<ProcessStore>, clock: Clock) -> Self {
        Self { remote: Some(Remote::new(store, servers, clock.clone())), local, clock }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The limiter of this process.
    pub fn process(&self) -> &ProcessStore {
        &self.local
    }

    /// Calls that the store on other machines did not answer; whether it is called as usual.
    pub fn failures(&self) -> (u64, bool) {
        self.remote.as_ref().map_or((0, true), Remote::failures)
    }

    /// Takes all of these limits or none.
    pub(super) async fn check(
        &self,
        shop: &str,
        limits: &[Limit<'_>],
        holder: Option<Holder>,
    ) -> Result<Answered, Misconfigured> {
        let request = request(limits, holder)?;
        let Some(remote) = &self.remote else {
            return self
                .locally(shop, limits, &request)
                .await
                .map(|answered| Answered { by_store: true, ..answered });
        };
        let leases = may_lease(limits).then(|| remote.leases());
        if let Some(taken) = leases.and_then(|leases| leases.take(shop, request.charges())) {
            self.warm(shop, &request).await;
            return Ok(Answered::by_store(Timed { value: taken.decisions, now: taken.taken_at }));
        }
        match remote.call(remote.store().check(shop, &request)).await {
            Ok(Timed { value: reply, now }) => {
                let is_refused = reply.refusal().is_some();
                let mut told = Timed { value: reply.decisions, now };
                if let Some(leases) = leases {
                    leases.renew(shop, request.charges(), &told.value);
                    if is_refused {
                        told = leases.after_refusal(shop, request.charges(), &told);
                    }
                }
                if told.value.iter().all(Decision::is_allowed) {
                    self.warm(shop, &request).await;
                }
                Ok(Answered::by_store(told))
            }
            Err(NoAnswer::Misconfigured) => Err(Misconfigured),
            Err(NoAnswer::Away) => self.in_its_place(shop, limits, holder).await,
        }
    }

    /// What a check of these limits would come to.
    pub(super) async fn peek(
        &self,
        shop: &str,
        limits: &[Limit<'_>],
        holder: Option<Holder>,
    ) -> Result<Answered, Misconfigured> {
        let request = request(limits, holder)?;
        let answer = match &self.remote {
            Some(remote) => remote.call(remote.store().peek(shop, &request)).await,
            None => self.local.peek(shop, &request).await.map_err(NoAnswer::of),
        };
        match answer {
            Ok(Timed { value, now }) => Ok(Answered::by_store(Timed { value: value.decisions, now })),
            Err(NoAnswer::Misconfigured) => Err(Misconfigured),
            Err(NoAnswer::Away) => {
                let now = self.clock.now();
                Ok(Answered { decisions: vec![None; limits.len()], now, by_store: false })
            }
        }
    }

    /// Makes the same change in the store and in the limiter that is kept warm. The answer is the store's.
    pub(super) async fn change(&self, shop: &str, change: Change<'_>) -> Result<(), LimitStoreError> {
        let answer = match &self.remote {
            None => return apply(&*self.local, shop, change).await.map(drop),
            Some(remote) => remote.call(apply(&**remote.store(), shop, change)).await,
        };
        self.warm_change(shop, change).await;
        answer.map(drop).map_err(LimitStoreError::from)
    }

    async fn warm_change(&self, shop: &str, change: Change<'_>) {
        let _ = match change {
            Change::Refund { charges, taken_at } => {
                self.refund_local(shop, charges, taken_at).await;
                return;
            }
            Change::Replenish(charge) => self.local.replenish(shop, &self.at_its_share(*charge)).await,
            Change::Reset(charge) => self.local.reset(shop, charge).await,
            Change::Give(charge, holder) => self.local.give(shop, charge, holder).await,
        };
    }

    /// What the store knows of a key.
    pub(super) async fn state(&self, shop: &str, charge: &Charge) -> Answer<Option<KeyState>> {
        match &self.remote {
            None => self.local.state(shop, charge).await,
            Some(remote) => {
                remote.call(remote.store().state(shop, charge)).await.map_err(LimitStoreError::from)
            }
        }
    }

    /// Gives back what the limiter of this process took in the place of the store.
    pub(super) async fn refund_local(&self, shop: &str, charges: &[Charge], taken_at: Timestamp) {
        let charges: Vec<Charge> = charges.iter().map(|charge| self.at_its_share(*charge)).collect();
        let _ = self.local.refund(shop, &charges, taken_at).await;
    }

    /// What a charge weighs in the limiter of one of several servers; never more than can pass at all.
    fn at_its_share(&self, charge: Charge) -> Charge {
        let servers = self.remote.as_ref().map_or(1, Remote::servers);
        let quota = charge.policy.quota();
        let can_pass = charge.cost <= quota;
        let weight = charge.cost.saturating_mul(servers);
        Charge { cost: if can_pass { weight.min(quota) } else { charge.cost }, ..charge }
    }

    /// Decides as each policy says for the case that the store does not answer. Where one is closed nothing is taken.
    async fn in_its_place(
        &self,
        shop: &str,
        limits: &[Limit<'_>],
        holder: Option<Holder>,
    ) -> Result<Answered, Misconfigured> {
        let now = self.clock.now();
        let mut decisions = vec![None; limits.len()];
        if limits.iter().any(|limit| limit.on_store_failure == OnStoreFailure::Closed) {
            return Ok(Answered { decisions, now, by_store: false });
        }
        let local: Vec<(usize, Limit<'_>)> = limits
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, limit)| limit.on_store_failure == OnStoreFailure::Local)
            .collect();
        let members: Vec<Limit<'_>> = local
            .iter()
            .map(|(_, limit)| Limit { charge: self.at_its_share(limit.charge), ..*limit })
            .collect();
        let answered = self.locally(shop, &members, &request(&members, holder)?).await?;
        for ((index, _), decision) in local.iter().zip(answered.decisions) {
            if let Some(slot) = decisions.get_mut(*index) {
                *slot = decision;
            }
        }
        Ok(Answered { decisions, now: answered.now, by_store: false })
    }

    async fn locally(
        &self,
        shop: &str,
        limits: &[Limit<'_>],
        request: &CheckRequest,
    ) -> Result<Answered, Misconfigured> {
        match self.local.check(shop, request).await {
            Ok(Timed { value, now }) => {
                let decisions = value.decisions.into_iter().map(Some).collect();
                Ok(Answered { decisions, now, by_store: false })
            }
            Err(LimitStoreError::Misconfigured(_)) => Err(Misconfigured),
            Err(LimitStoreError::Unavailable) => {
                let now = self.clock.now();
                Ok(Answered { decisions: vec![None; limits.len()], now, by_store: false })
            }
        }
    }

    /// Counts in the limiter of this process what the store let pass. Each key by itself: one that is full there must not
    /// keep the others from being counted.
    async fn warm(&self, shop: &str, request: &CheckRequest) {
        for charge in request.charges() {
            let Ok(one) = CheckRequest::new(vec![self.at_its_share(*charge)]) else { continue };
            let one = request.holder().map_or(one.clone(), |holder| one.held_by(holder));
            let _ = self.local.check(shop, &one).await;
        }
    }
}

async fn apply(store: &dyn LimitStore, shop: &str, change: Change<'_>) -> Answer<()> {
    match change {
        Change::Refund { charges, taken_at } => store.refund(shop, charges, taken_at).await,
        Change::Replenish(charge) => store.replenish(shop, charge).await,
        Change::Reset(charge) => store.reset(shop, charge).await,
        Change::Give(charge, holder) => store.give(shop, charge, holder).await,
    }
}

/// Limits of one request name each key once, so this fails only through a fault of ours.
fn request(limits: &[Limit<'_>], holder: Option<Holder>) -> Result<CheckRequest, Misconfigured> {
    let request = CheckRequest::new(limits.iter().map(|limit| limit.charge).collect());
    let request = request.map_err(|error| {
        error!(%error, "limits of one request do not make a check");
        Misconfigured
    })?;
    Ok(match holder {
        Some(holder) => request.held_by(holder),
        None => request,
    })
}
