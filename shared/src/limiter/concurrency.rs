//! Concurrency: at most so many permits held at once, each by a holder, until it is given back or its life ends.
//!
//! The permits in force never weigh more than the limit, at any instant; after the limit was lowered they only become
//! fewer. A holder that dies loses its permit when its life ends. Only the holder gives a permit back, and giving it back
//! twice frees nothing more.

use super::error::whole_micros;
use super::{Cost, Inheritance, PolicyError, Transition};
use crate::time::Timestamp;
use core::num::NonZeroU64;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Most permits of one key: 32 KB.
pub const PERMITS_MAX: Cost = 1024;

/// Settings of one concurrency limit.
///
/// ```
/// use shared::limiter::concurrency::{ConcurrencyPolicy, ConcurrencyState, Holder};
/// use shared::time::Timestamp;
/// use std::time::Duration;
/// let policy = ConcurrencyPolicy::new(1, Duration::from_secs(30)).unwrap();
/// let (now, ann, bob) = (Timestamp::from_micros(0), Holder([1; 16]), Holder([2; 16]));
/// let held = policy.take(ConcurrencyState::default(), now, Some(ann), 1).state;
/// assert_eq!(policy.take(held.clone(), now, Some(bob), 1).decision.retry_after(), Some(Duration::from_secs(30)));
/// let kept = policy.give(&held, now, bob);
/// let free = policy.give(&kept, now, ann);
/// assert!(policy.take(free, now, Some(bob), 1).decision.is_allowed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyPolicy {
    /// At most [`PERMITS_MAX`].
    permits: Cost,
    life_us: NonZeroU64,
}

/// Who holds a permit: random bytes of one request, or an id that its caller keeps secret. Whoever knows it gives the
/// permit back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Holder(pub [u8; 16]);

/// What a concurrency limit remembers of one key; the default is a key that was never seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrencyState {
    /// In the order of their ends.
    permits: Box<[Permit]>,
    last_admitted: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Permit {
    holder: Holder,
    cost: Cost,
    /// The first moment at which it is no longer in force.
    ends_at: Timestamp,
}

impl ConcurrencyPolicy {
    /// A policy that lets `permits` be held at once, each for at most `life`. 0 permits deny every cost above 0 for ever.
    ///
    /// # Errors
    /// [`PolicyError`] unless the life is whole microseconds, at least 1 and below 2^53, and the permits at most
    /// [`PERMITS_MAX`].
    pub fn new(permits: Cost, life: Duration) -> Result<Self, PolicyError> {
        if permits > PERMITS_MAX {
            return Err(PolicyError::LimitTooLarge { most: PERMITS_MAX });
        }
        Ok(Self { permits, life_us: whole_micros(life)? })
    }

    /// Decides whether `holder` may hold a permit that weighs `cost`, from `now` for one life.
    ///
    /// A holder has one permit: taking again renews it, and changes its weight. Nobody has none, and can never pass. `retry_after` is exact where nobody gives
    /// back meanwhile, and too long otherwise.
    pub fn take(
        &self,
        state: ConcurrencyState,
        now: Timestamp,
        holder: Option<Holder>,
        cost: Cost,
    ) -> Transition<ConcurrencyState> {
        let now = now.max(state.last_admitted);
        let others = || in_force(&state, now).filter(|permit| Some(permit.holder) != holder);
        // What a permit of this holder weighs already is free to itself, but not to a peek.
        let free = self.permits.saturating_sub(weight(others()));
        let remaining = self.permits.saturating_sub(weight(in_force(&state, now)));
        let reset_after =
            in_force(&state, now).last().map_or(Duration::ZERO, |permit| permit.ends_at.since(now));
        if cost == 0 {
            return Transition::allowed(state, now, remaining, reset_after);
        }
        let Some(holder) = holder.filter(|_| cost <= free) else {
            let can_pass = holder.is_some() && cost <= self.permits;
            let retry_after = can_pass.then(|| self.time_for(others(), now, cost));
            return Transition::denied(state, now, remaining, retry_after, reset_after);
        };
        let permit = Permit { holder, cost, ends_at: now.saturating_add(self.life()) };
        let mut permits: Vec<Permit> = others().collect();
        // Those that end first stand first.
        let place = permits.partition_point(|held| held.ends_at <= permit.ends_at);
        permits.insert(place, permit);
        let reset_after = permits.last().map_or(Duration::ZERO, |permit| permit.ends_at.since(now));
        let state = ConcurrencyState { permits: permits.into(), last_admitted: now };
        Transition::allowed(state, now, free.saturating_sub(cost), reset_after)
    }

    /// Gives back the permit of `holder`; nothing changes where it holds none.
    #[must_use]
    pub fn give(&self, state: &ConcurrencyState, now: Timestamp, holder: Holder) -> ConcurrencyState {
        let now = now.max(state.last_admitted);
        let kept = in_force(state, now).filter(|permit| permit.holder != holder).collect();
        ConcurrencyState { permits: kept, last_admitted: state.last_admitted }
    }

    /// The state of a key that `previous` counted: permits that are held stay held, also above a lower limit, until they
    /// are given back or end.
    #[must_use]
    pub fn inherit(&self, state: ConcurrencyState, how: Inheritance) -> ConcurrencyState {
        match how {
            Inheritance::Keep | Inheritance::Proportional => state,
            Inheritance::Reset => ConcurrencyState::default(),
        }
    }

    /// Whether `state` decides like a new one from `now` on.
    pub fn is_as_new(&self, state: &ConcurrencyState, now: Timestamp) -> bool {
        now >= state.last_admitted && in_force(state, now).next().is_none()
    }

    /// The most that is held at once.
    pub const fn permits(&self) -> Cost {
        self.permits
    }

    /// The longest time that a permit is held without being renewed.
    pub const fn life(&self) -> Duration {
        Duration::from_micros(self.life_us.get())
    }

    /// Time until so many of `others` have ended that `cost` is free.
    fn time_for(&self, others: impl Iterator<Item = Permit>, now: Timestamp, cost: Cost) -> Duration {
        let room = self.permits.saturating_sub(cost);
        let others: Vec<Permit> = others.collect();
        let mut held = weight(others.iter().copied());
        let mut free_at = now;
        for permit in others {
            if held <= room {
                break;
            }
            held = held.saturating_sub(permit.cost);
            free_at = permit.ends_at;
        }
        free_at.since(now)
    }
}

/// The permits in force, the first to end first.
fn in_force(state: &ConcurrencyState, now: Timestamp) -> impl Iterator<Item = Permit> {
    state.permits.iter().copied().filter(move |permit| now < permit.ends_at)
}

fn weight(permits: impl Iterator<Item = Permit>) -> Cost {
    permits.fold(0, |sum, permit| sum.saturating_add(permit.cost))
}
