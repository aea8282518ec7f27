//! Quota leases: quota that the home of a key hands to a node ahead of use, so that most requests ask nobody.
//!
//! The home takes a lease from the key when it grants it, so all leases together are part of what the key admits. A
//! unit is used within [`LEASE_LIFE`] of its grant or not at all, so what every node together lets pass in any interval
//! `t` is at most what the policy admits in `t + LEASE_LIFE`: under GCRA `burst_capacity + rate * (t + LEASE_LIFE)`.
//! - A node that vanishes burns what it held; the key refills by itself. What is left at the end of a lease goes back to
//!   the home with the node's next call, as a [refund](super::Policy::refund) of the moment it was taken.
//! - A lease ends with the window it was taken in, under the policies that count by windows with an end.
//! - A node's clock that is seen to step back burns its leases. A step back that nobody sees lengthens a lease by the step.
//!
//! Only hot keys are leased, so that a small quota is not split among nodes which each use a part of theirs.

use super::check::Charge;
use super::key::KeyHash;
use super::{Cost, Decision, Policy};
use crate::flat::LiteMap;
use crate::time::Timestamp;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// How long a unit may lie with a node, from the moment the node began to ask for it.
pub const LEASE_LIFE: Duration = Duration::from_secs(1);

/// Most cost in one lease.
pub const LEASE_COST_MAX: Cost = 4_096;

/// Cost of a second, in one node, from which on a key is hot.
pub const HOT_COST: Cost = 8;

/// Most keys that one node watches for one home; others ask the home each time.
pub const LEASED_KEYS_MAX: usize = 1_024;

/// How long at least a node believes that a hot key has nothing left, so that a flood over the quota does not reach the
/// home. The home saves up meanwhile, so nothing is lost.
pub const PAUSE: Duration = Duration::from_millis(50);

/// What the home grants to a node that wants `wanted`, where the key has `remaining`: half of it, so that other nodes
/// find something too, at least 1 where there is 1, and at most [`LEASE_COST_MAX`].
///
/// ```
/// use shared::limiter::lease::grant_cost;
/// assert_eq!([0, 1, 2, 3, 9].map(|remaining| grant_cost(remaining, 100)), [0, 1, 1, 1, 4]);
/// assert_eq!(grant_cost(1_000, 100), 100);
/// ```
pub fn grant_cost(remaining: Cost, wanted: Cost) -> Cost {
    let half = (remaining / 2).max(1);
    remaining.min(half).min(wanted).min(LEASE_COST_MAX)
}

/// Whether quota of this policy can be handed out ahead of use. A lockout counts tries and not only what passes, a leaky
/// queue gives each request a place, and a permit has one holder.
pub const fn can_be_leased(policy: &Policy) -> bool {
    !matches!(policy, Policy::Lockout(_) | Policy::LeakyQueue(_) | Policy::Concurrency(_))
}

/// Quota to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// How much, at least 1.
    pub cost: Cost,
    /// When it was taken from the key, by the home's clock.
    pub taken_at: Timestamp,
    /// How long it may be used, counted from when the node began to ask.
    pub life: Duration,
    /// What the key had left then.
    pub remaining: Cost,
    /// When the key would have been as new then.
    pub reset_after: Duration,
}

impl Grant {
    /// What a check of `charge` by itself, at `taken_at` by the home's clock, hands out; `None` where it was refused. It lives to
    /// the end of its window at most.
    pub fn of(charge: &Charge, taken: &Decision, taken_at: Timestamp) -> Option<Self> {
        let Decision::Allowed { remaining, reset_after, .. } = *taken else { return None };
        let life = match charge.policy {
            Policy::FixedWindow(_) | Policy::LongQuota(_) => LEASE_LIFE.min(reset_after),
            _ => LEASE_LIFE,
        };
        Some(Self { cost: charge.cost, taken_at, life, remaining, reset_after })
    }
}

/// Cost that goes back to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// The key, the policy that took it, and how much goes back.
    pub charge: Charge,
    /// When it was taken, by the home's clock.
    pub taken_at: Timestamp,
}

/// What one node holds of the keys of one home.
#[derive(Debug, Default)]
pub struct LeaseBook {
    keys: LiteMap<KeyHash, Watched>,
    /// Where the next look for one to forget begins.
    hand: usize,
}

/// What a request took from leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenFromLeases {
    /// As the home would have decided, for each charge.
    pub decisions: Vec<Decision>,
    /// When the home took the oldest of these leases, by its own clock: what a refund names.
    pub taken_at: Timestamp,
}

/// A key whose demand is known, and its lease.
#[derive(Debug)]
struct Watched {
    policy: Policy,
    demand: Demand,
    lease: Option<Lease>,
    /// A call that asks for a lease began then; it may never come back.
    asking_since: Option<Timestamp>,
}

/// Quota in hand.
#[derive(Clone, Copy, Debug)]
struct Lease {
    left: Cost,
    grant: Grant,
    /// By this node's clock, before it asked.
    ends_at: Timestamp,
    last_used: Timestamp,
}

/// Cost asked of this node in this second and in the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    second: u64,
    current: Cost,
    previous: Cost,
}

impl LeaseBook {
    /// Counts the demand of a request, once, for its keys that may be leased.
    pub fn note(&mut self, charges: &[Charge], now: Timestamp) {
        for charge in charges.iter().filter(|charge| can_be_leased(&charge.policy)) {
            if !self.keys.contains_key(&charge.key) {
                self.forget_idle(now);
                if self.keys.len() >= LEASED_KEYS_MAX {
                    continue;
                }
            }
            let new = || Watched {
                policy: charge.policy,
                demand: Demand::default(),
                lease: None,
                asking_since: None,
            };
            self.keys.try_insert(charge.key, new());
            let Some(watched) = self.keys.get_mut(&charge.key) else { continue };
            if watched.policy != charge.policy {
                // What the old policy admitted is burned: its home counts by the new one.
                *watched = Watched { demand: watched.demand, ..new() };
            }
            watched.demand.note(charge.cost, now);
        }
    }

    /// Takes every charge from leases, or nothing: `None`, and the home must be asked.
    pub fn take(&mut self, charges: &[Charge], now: Timestamp) -> Option<TakenFromLeases> {
        let covers = |charge: &Charge| {
            let watched = self.keys.get(&charge.key)?;
            let lease = watched.lease.filter(|lease| lease.is_live(now) && lease.left >= charge.cost)?;
            (watched.policy == charge.policy).then_some(lease.grant.taken_at)
        };
        let taken_at: Option<Vec<Timestamp>> = charges.iter().map(covers).collect();
        let taken_at = taken_at?.into_iter().min()?;
        let taken = charges.iter().filter_map(|charge| {
            let lease = self.keys.get_mut(&charge.key)?.lease.as_mut()?;
            lease.left = lease.left.saturating_sub(charge.cost);
            lease.last_used = now;
            Some(lease.decision())
        });
        Some(TakenFromLeases { decisions: taken.collect(), taken_at })
    }

    /// What to ask of the home ahead of use, for each charge: the demand of a second where the key is hot and nobody
    /// asks already, else 0.
    pub fn wanted(&mut self, charges: &[Charge], now: Timestamp) -> Vec<Cost> {
        let wanted = charges.iter().map(|charge| {
            let Some(watched) = self.keys.get_mut(&charge.key) else { return 0 };
            let asks_already = watched
                .asking_since
                .is_some_and(|since| since <= now && now < since.saturating_add(ASKING_TIME_MAX));
            let demand = watched.demand.in_a_second(now);
            if asks_already || demand < HOT_COST {
                return 0;
            }
            watched.asking_since = Some(now);
            demand
        });
        wanted.collect()
    }

    /// The home has answered a call that began at `asked_at` by this node's clock.
    pub fn hold(&mut self, charge: &Charge, grant: Option<Grant>, asked_at: Timestamp, now: Timestamp) {
        let Some(watched) = self.keys.get_mut(&charge.key) else { return };
        if watched.asking_since == Some(asked_at) {
            watched.asking_since = None;
        }
        let Some(grant) = grant.filter(|_| watched.policy == charge.policy) else { return };
        let ends_at = asked_at.saturating_add(grant.life);
        let fresh = Lease { left: grant.cost, grant, ends_at, last_used: asked_at };
        let lease = match watched.lease.filter(|lease| lease.is_live(now)) {
            Some(held) => held.and(fresh),
            None => fresh,
        };
        watched.lease = Some(lease).filter(|lease| lease.is_live(now));
    }

    /// What to give back with the next call to the home: what is left of leases that have ended, at most `count_max`.
    pub fn returns(&mut self, now: Timestamp, count_max: usize) -> Vec<Refund> {
        let ended = self.keys.iter_mut().filter_map(|(key, watched)| {
            let lease = watched.lease.take_if(|lease| !lease.is_live(now))?;
            let charge = Charge::new(watched.policy, *key, lease.left);
            let is_owed = lease.left > 0 && lease.last_used <= now;
            is_owed.then_some(Refund { charge, taken_at: lease.grant.taken_at })
        });
        ended.take(count_max).collect()
    }

    /// What a refusal by the home means here: a hot key waits at least [`PAUSE`].
    #[must_use]
    pub fn paused(&self, charge: &Charge, decision: Decision, now: Timestamp) -> Decision {
        let is_hot = |watched: &Watched| watched.demand.in_a_second(now) >= HOT_COST;
        match decision {
            Decision::Denied { remaining, retry_after: Some(wait), reset_after }
                if self.keys.get(&charge.key).is_some_and(is_hot) =>
            {
                Decision::Denied { remaining, retry_after: Some(wait.max(PAUSE)), reset_after }
            }
            _ => decision,
        }
    }

    /// Looks at a few keys and forgets those that nobody asks for.
    fn forget_idle(&mut self, now: Timestamp) {
        for _ in 0..LOOKED_AT_FOR_NEW {
            if self.hand >= self.keys.len() {
                self.hand = 0;
            }
            let Some((key, watched)) = self.keys.get_indexed(self.hand) else { return };
            if watched.is_idle(now) {
                let key = *key;
                self.keys.remove(&key);
            } else {
                self.hand = self.hand.saturating_add(1);
            }
        }
    }
}

impl Watched {
    fn is_idle(&self, now: Timestamp) -> bool {
        self.lease.is_none_or(|lease| !lease.is_live(now)) && self.demand.in_a_second(now) == 0
    }
}

impl Lease {
    /// A clock that steps back before the last use ends the lease: its life was bounded by that clock.
    fn is_live(&self, now: Timestamp) -> bool {
        self.last_used <= now && now < self.ends_at
    }

    /// Both as one, which ends with the first of them.
    fn and(self, other: Self) -> Self {
        let taken_at = self.grant.taken_at.min(other.grant.taken_at);
        Self {
            left: self.left.saturating_add(other.left),
            grant: Grant { taken_at, ..other.grant },
            ends_at: self.ends_at.min(other.ends_at),
            last_used: self.last_used.max(other.last_used),
        }
    }

    /// What the key has left is what it had at the grant, and what is left in hand.
    fn decision(&self) -> Decision {
        Decision::Allowed {
            remaining: self.grant.remaining.saturating_add(self.left),
            reset_after: self.grant.reset_after,
            delay: Duration::ZERO,
        }
    }
}

impl Demand {
    fn note(&mut self, cost: Cost, now: Timestamp) {
        *self = self.at(now);
        self.current = self.current.saturating_add(cost);
    }

    /// The larger of this second and the one before.
    fn in_a_second(self, now: Timestamp) -> Cost {
        let Self { current, previous, .. } = self.at(now);
        current.max(previous)
    }

    fn at(self, now: Timestamp) -> Self {
        let second = now.as_secs();
        match second.checked_sub(self.second) {
            Some(0) => self,
            Some(1) => Self { second, current: 0, previous: self.current },
            _ => Self { second, current: 0, previous: 0 },
        }
    }
}

/// A call that asks for a lease and has not come back by then never will.
const ASKING_TIME_MAX: Duration = Duration::from_millis(500);

/// Keys looked at for each new one, so that idle ones leave faster than new ones come.
const LOOKED_AT_FOR_NEW: usize = 4;
