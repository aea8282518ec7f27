//! Checks, peeks and refunds, and what looks after keys: the same for every caller of the limit service.

use super::{
    asked::{AskError, Asked, SITE, by_shop, is_permit},
    home::{Change, Home, Misconfigured},
    live::{InForce, Live},
    outcome::{Outcome, Said, holder_or_random, takes},
    permits::Permits,
    receipts::{ReceiptRefusal, SpentReceipts},
    refusals::Refusals,
    store::LimitStoreError,
};
use crate::metrics::Metrics;
use data_encoding::HEXLOWER;
use shared::{
    gate::Limit,
    limiter::{Decision, Policy, check::Charge, concurrency::Holder, key::KeyHash, table::KeyState},
    token::{Receipt, ServerKeys},
};
use std::sync::Arc;

/// The limit service.
pub struct Limits {
    pub live: Live,
    pub home: Home,
    pub refusals: Refusals,
    pub(super) permits: Permits,
    spent: SpentReceipts,
    keys: ServerKeys,
    pub(super) metrics: Arc<Metrics>,
}

/// Why the limit service does not answer as asked. A refused check is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitsError {
    Asked(AskError),
    Receipt,
    ReceiptSpent,
    Overloaded,
    /// Nobody knows whether the change was made.
    Unavailable,
    Misconfigured,
}

impl Limits {
    pub fn new(live: Live, home: Home, keys: ServerKeys, metrics: Arc<Metrics>) -> Self {
        Self {
            live,
            home,
            refusals: Refusals::default(),
            permits: Permits::default(),
            spent: SpentReceipts::default(),
            keys,
            metrics,
        }
    }

    /// Takes what a request costs from all of its policies, or from none, and waits for a permit where it asks to.
    pub(crate) async fn check(&self, in_force: &InForce, asked: &Asked<'_>) -> Result<Outcome, LimitsError> {
        let (limits, passed_over) = asked.limits();
        let has_permits = limits.iter().any(|limit| is_permit(limit));
        let holder = if has_permits { holder_or_random(asked.holder) } else { None };
        let said = self.take_or_wait(asked, &limits, holder).await?;
        let verdict = said.verdict();
        self.note(in_force, asked, &said);
        let receipt =
            (verdict.refusal.is_none() && takes(asked.cost)).then(|| self.receipt(asked, &said, holder));
        Ok(said.outcome(passed_over, receipt.flatten()))
    }

    /// What a check would come to.
    pub(crate) async fn peek(&self, asked: &Asked<'_>) -> Result<Outcome, LimitsError> {
        let (limits, passed_over) = asked.limits();
        let mut said = Said::in_answer_to(asked);
        // A permit is looked at as a stranger would, who holds none.
        let holder = holder_or_random(asked.holder);
        for (shop, limits) in by_shop(asked, &limits) {
            let answered = self.home.peek(shop, &limits, holder).await?;
            said.add(limits, answered);
        }
        Ok(said.outcome(passed_over, None))
    }

    /// Gives back what a check took, its permits too. Once.
    pub(crate) async fn refund(&self, text: &str, may: impl Fn(&str) -> bool) -> Result<(), LimitsError> {
        let (id, receipt) = self.keys.open_receipt(text).map_err(|_| LimitsError::Receipt)?;
        if !may(&receipt.shop) {
            return Err(LimitsError::Receipt);
        }
        self.spent.spend(id, receipt.taken_at, receipt.taken_at.max(self.home.now())).map_err(|refusal| {
            match refusal {
                ReceiptRefusal::Spent => LimitsError::ReceiptSpent,
                ReceiptRefusal::TooOld => LimitsError::Receipt,
                ReceiptRefusal::Full => LimitsError::Overloaded,
            }
        })?;
        for (shop, charges) in [(receipt.shop.as_str(), &receipt.charges), (SITE, &receipt.site_charges)] {
            let is_cost = |charge: &Charge| !matches!(charge.policy, Policy::Concurrency(_));
            let costs: Vec<Charge> = charges.iter().copied().filter(is_cost).collect();
            if costs.is_empty() {
                continue;
            }
            if receipt.by_store {
                let change = Change::Refund { charges: &costs, taken_at: receipt.taken_at };
                self.home.change(shop, change).await?;
            } else {
                self.home.refund_local(shop, &costs, receipt.taken_at).await;
            }
        }
        self.give_all(&receipt).await
    }

    /// Gives back the permits of a check, and nothing else. As often as one likes.
    pub(crate) async fn give(&self, text: &str, may: impl Fn(&str) -> bool) -> Result<(), LimitsError> {
        let (_, receipt) = self.keys.open_receipt(text).map_err(|_| LimitsError::Receipt)?;
        if !may(&receipt.shop) {
            return Err(LimitsError::Receipt);
        }
        self.give_all(&receipt).await
    }

    /// Gives the key its cost back, whenever it was taken.
    pub(crate) async fn replenish(&self, asked: &Asked<'_>) -> Result<(), LimitsError> {
        let (shop, charge) = Self::one_key(asked)?;
        Ok(self.home.change(shop, Change::Replenish(&charge)).await?)
    }

    /// Makes the key as new.
    pub(crate) async fn reset(&self, asked: &Asked<'_>) -> Result<(), LimitsError> {
        let (shop, charge) = Self::one_key(asked)?;
        self.home.change(shop, Change::Reset(&charge)).await?;
        self.permits.wake(charge.key);
        Ok(())
    }

    /// What is known of a key: of the one that is asked, or of the one named.
    pub(crate) async fn state(&self, shop: &str, charge: &Charge) -> Result<Option<KeyState>, LimitsError> {
        Ok(self.home.state(shop, charge).await?.value)
    }

    /// The one key that a request names.
    pub(crate) fn one_key<'a>(asked: &'a Asked<'_>) -> Result<(&'a str, Charge), LimitsError> {
        let (limits, _) = asked.limits();
        let limit = limits.first().ok_or_else(|| {
            LimitsError::Asked(AskError {
                reason: shared::http::reason::Reason::PolicyUnknown,
                detail: "the policy is off".to_owned(),
            })
        })?;
        Ok((store_shop(asked, limit), limit.charge))
    }

    async fn give_all(&self, receipt: &Receipt) -> Result<(), LimitsError> {
        let Some(holder) = receipt.holder else { return Ok(()) };
        let of_shop = receipt.charges.iter().map(|charge| (receipt.shop.as_str(), charge));
        let of_site = receipt.site_charges.iter().map(|charge| (SITE, charge));
        for (shop, charge) in of_shop.chain(of_site) {
            if matches!(charge.policy, Policy::Concurrency(_)) {
                self.home.change(shop, Change::Give(charge, holder)).await?;
                self.permits.wake(charge.key);
            }
        }
        Ok(())
    }

    fn receipt(&self, asked: &Asked<'_>, said: &Said<'_>, holder: Option<Holder>) -> Option<String> {
        let is_taken = |(_, decision): &(&Limit<'_>, &Option<Decision>)| {
            decision.is_some_and(|decision| decision.is_allowed())
        };
        let taken = said.limits.iter().zip(&said.decisions).filter(is_taken).map(|(limit, _)| *limit);
        let (of_site, of_shop): (Vec<Limit<'_>>, Vec<Limit<'_>>) =
            taken.partition(|limit| asked.is_of_site(limit.name));
        if of_site.is_empty() && of_shop.is_empty() {
            return None;
        }
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).ok()?;
        let charges = |limits: Vec<Limit<'_>>| limits.into_iter().map(|limit| limit.charge).collect();
        let receipt = Receipt {
            shop: asked.shop.id.clone(),
            taken_at: said.now,
            holder,
            by_store: !said.is_fallback,
            charges: charges(of_shop),
            site_charges: charges(of_site),
            nonce,
        };
        self.keys.seal_receipt(&receipt).ok()
    }
}

impl From<Misconfigured> for LimitsError {
    fn from(_: Misconfigured) -> Self {
        Self::Misconfigured
    }
}

impl From<LimitStoreError> for LimitsError {
    fn from(error: LimitStoreError) -> Self {
        match error {
            LimitStoreError::Unavailable => Self::Unavailable,
            LimitStoreError::Misconfigured(_) => Self::Misconfigured,
        }
    }
}

impl From<AskError> for LimitsError {
    fn from(error: AskError) -> Self {
        Self::Asked(error)
    }
}

fn store_shop<'a>(asked: &'a Asked<'_>, limit: &Limit<'_>) -> &'a str {
    if asked.is_of_site(limit.name) { SITE } else { &asked.shop.id }
}

/// The key that a text names: 32 hexadecimal digits, as logs show it.
pub(crate) fn key_of(text: &str) -> Option<KeyHash> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok().map(KeyHash)
}
