//! Checks that go to Redis together. While a few calls of a shop are under way, whoever else asks waits for one of them to come
//! back, and then all who wait go in one call. So one of a crowd costs Redis half as much, and one who is alone waits for nobody.

use super::RedisLimits;
use super::ask::{decimal, misconfigured};
use super::bytes::{cost_of, policy_bytes};
use super::reply::{Said, decisions};
use super::script::{Call, Known};
use crate::limits::store::{Answer, LimitStoreError, Timed};
use shared::limiter::Policy;
use shared::limiter::check::{CHARGES_MAX, Charge, CheckReply, CheckRequest};
use shared::time::micros;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Checks on their way, by shop: the keys of one call lie on one node.
#[derive(Debug, Default)]
pub(super) struct Gathering(Mutex<HashMap<String, OfShop>>);

#[derive(Debug, Default)]
struct OfShop {
    calls_under_way: usize,
    waiting: VecDeque<Waiting>,
}

/// A check whose turn comes.
#[derive(Debug)]
struct Waiting {
    charges: Vec<Charge>,
    answer: oneshot::Sender<Answer<Option<CheckReply>>>,
}

/// How a check that was added comes to Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    /// With a call that begins now.
    First,
    /// With the next one that is back.
    Later,
    /// Not at all: too many wait.
    Refused,
}

/// Whether a check may go together with others: nearly every one may.
pub(super) fn may_gather(request: &CheckRequest) -> bool {
    let is_small = |charge: &Charge| {
        let Policy::Gcra(gcra) = charge.policy else { return false };
        gcra.burst_capacity().saturating_add(1).saturating_mul(micros(gcra.period())) < EXACT
    };
    !request.charges().is_empty() && request.charges().iter().all(is_small)
}

impl RedisLimits {
    /// Makes a check that may gather; `None`: nothing was taken, and the check needs a call of its own.
    pub(super) async fn check_gathered(
        &self,
        shop: &str,
        request: &CheckRequest,
    ) -> Answer<Option<CheckReply>> {
        let (answer, told) = oneshot::channel();
        match self.gathering.add(shop, Waiting { charges: request.charges().to_vec(), answer }) {
            Added::First => drop(tokio::spawn(self.clone().call_for_all(shop.to_owned()))),
            Added::Later => {}
            Added::Refused => return Err(LimitStoreError::Unavailable),
        }
        match tokio::time::timeout(self.link.budget(), told).await {
            Ok(Ok(answer)) => answer,
            _ => Err(LimitStoreError::Unavailable),
        }
    }

    /// Calls for those who wait, until nobody does.
    async fn call_for_all(self, shop: String) {
        while let Some(checks) = self.gathering.next(&shop) {
            let answer = self.in_time(self.check_each(&shop, &checks)).await;
            let mut replies = answer.as_ref().map_or(&[][..], |answer| &answer.value).iter();
            for check in checks {
                let told = match &answer {
                    Ok(Timed { now, .. }) => {
                        Ok(Timed { value: replies.next().cloned().flatten(), now: *now })
                    }
                    Err(error) => Err(error.clone()),
                };
                // Who has gone away meanwhile hears nothing.
                let _ = check.answer.send(told);
            }
        }
    }

    /// One call for these checks, one after another; as many replies.
    async fn check_each(&self, shop: &str, checks: &[Waiting]) -> Answer<Vec<Option<CheckReply>>> {
        let counts = checks.iter().map(|check| u8::try_from(check.charges.len()).unwrap_or(u8::MAX));
        let (mut keys, mut arguments) = (Vec::new(), vec![counts.collect()]);
        for charge in checks.iter().flat_map(|check| &check.charges) {
            keys.push(self.redis_key(shop, charge.key));
            arguments.push(policy_bytes(&charge.policy).map_err(|error| misconfigured(&error.to_string()))?);
            arguments.push(decimal(cost_of(&charge.policy, charge.cost)));
        }
        let reply = self.run(Call::CheckGcra, Known::Only(0), &keys, arguments).await?;
        let Said::Decided(numbers) = reply.said else { return Err(misconfigured(NO_DECISIONS)) };
        let mut rest = numbers.as_slice();
        let mut replies = Vec::with_capacity(checks.len());
        for check in checks {
            let length = check.charges.len() * 5;
            let (told, later) = rest.split_at_checked(length).ok_or_else(|| misconfigured(NO_DECISIONS))?;
            rest = later;
            replies.push(match told {
                [NEEDS_OWN_CALL, ..] => None,
                told => Some(decisions(told).ok_or_else(|| misconfigured(NO_DECISIONS))?),
            });
        }
        Ok(Timed { value: replies, now: reply.now })
    }
}

impl Gathering {
    fn add(&self, shop: &str, check: Waiting) -> Added {
        let mut shops = self.shops();
        if !shops.contains_key(shop) {
            shops.insert(shop.to_owned(), OfShop::default());
        }
        let Some(of_shop) = shops.get_mut(shop) else { return Added::Refused };
        if of_shop.waiting.len() >= WAITING_MAX {
            return Added::Refused;
        }
        of_shop.waiting.push_back(check);
        if of_shop.calls_under_way == CALLS_MAX {
            return Added::Later;
        }
        of_shop.calls_under_way += 1;
        Added::First
    }

    /// Whom the next call is for, those first who came first; `None`: nobody, and the call that was under way is over.
    fn next(&self, shop: &str) -> Option<Vec<Waiting>> {
        let mut shops = self.shops();
        let of_shop = shops.get_mut(shop)?;
        let (mut checks, mut charges) = (Vec::new(), 0);
        while let Some(check) = of_shop.waiting.front() {
            if check.answer.is_closed() {
                // Who does not wait any more takes nothing.
                of_shop.waiting.pop_front();
                continue;
            }
            charges += check.charges.len();
            if charges > CALL_CHARGES_MAX {
                break;
            }
            checks.extend(of_shop.waiting.pop_front());
        }
        if checks.is_empty() {
            of_shop.calls_under_way -= 1;
            if of_shop.calls_under_way == 0 {
                shops.remove(shop);
            }
            return None;
        }
        Some(checks)
    }

    fn shops(&self) -> MutexGuard<'_, HashMap<String, OfShop>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the script says of a check that it cannot read.
const NEEDS_OWN_CALL: i64 = 2;
const NO_DECISIONS: &str = "not the decisions of our scripts";
/// Whole numbers below are exact as doubles.
const EXACT: u64 = 1 << 53;
/// Calls of a shop at once: with more of them a crowd is spread thin, with fewer it waits longer.
const CALLS_MAX: usize = 2;
/// Charges of one call: Redis is at it for a third of a millisecond.
const CALL_CHARGES_MAX: usize = 64;
const _: () = assert!(CALL_CHARGES_MAX >= CHARGES_MAX, "every check fits");
/// Checks of a shop that wait: far more than a time limit lets through.
const WAITING_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use shared::limiter::gcra::GcraPolicy;
    use shared::limiter::key::KeyHash;
    use std::time::Duration;

    type Told = oneshot::Receiver<Answer<Option<CheckReply>>>;

    /// Somebody who asks for as many charges.
    fn somebody(charges: usize) -> (Waiting, Told) {
        let policy = GcraPolicy::new(10, 10, Duration::from_secs(1)).unwrap();
        let (answer, told) = oneshot::channel();
        let charge = Charge::new(Policy::Gcra(policy), KeyHash([0; 16]), 1);
        (Waiting { charges: vec![charge; charges], answer }, told)
    }

    fn sizes(gathering: &Gathering) -> Option<Vec<usize>> {
        Some(gathering.next("shop")?.iter().map(|check| check.charges.len()).collect())
    }

    #[test]
    fn the_first_calls_begin_at_once_and_the_others_wait_for_them() {
        let gathering = Gathering::default();
        let (checks, _told): (Vec<Waiting>, Vec<Told>) = (0..5).map(|_| somebody(1)).unzip();
        let added: Vec<Added> = checks.into_iter().map(|check| gathering.add("shop", check)).collect();
        assert_eq!(added, [Added::First, Added::First, Added::Later, Added::Later, Added::Later]);
        assert_eq!(gathering.add("another", somebody(1).0), Added::First, "a shop waits for no other");
        assert_eq!(sizes(&gathering), Some(vec![1; 5]));
        assert_eq!((sizes(&gathering), sizes(&gathering)), (None, None), "both calls are over");
        assert!(!gathering.shops().contains_key("shop"), "and nothing is left of them");
        let (check, _told) = somebody(1);
        assert_eq!(gathering.add("shop", check), Added::First);
    }

    #[test]
    fn a_call_has_room_for_so_many_charges_and_tears_no_check_apart() {
        let gathering = Gathering::default();
        let (checks, _told): (Vec<Waiting>, Vec<Told>) = [60, 4, 1, 62, 2].map(somebody).into_iter().unzip();
        for check in checks {
            gathering.add("shop", check);
        }
        let calls: Vec<_> = (0..4).map(|_| sizes(&gathering)).collect();
        assert_eq!(calls, [Some(vec![60, 4]), Some(vec![1, 62]), Some(vec![2]), None]);
    }

    #[test]
    fn who_goes_away_before_the_call_takes_nothing() {
        let gathering = Gathering::default();
        let (checks, told): (Vec<Waiting>, Vec<Told>) = [1, 2, 3].map(somebody).into_iter().unzip();
        for check in checks {
            gathering.add("shop", check);
        }
        let mut told = told.into_iter();
        drop((told.next(), told.next()));
        assert_eq!(sizes(&gathering), Some(vec![3]));
    }

    #[test]
    fn one_too_many_is_refused_and_displaces_nobody() {
        let gathering = Gathering::default();
        let (checks, _told): (Vec<Waiting>, Vec<Told>) = (0..=WAITING_MAX).map(|_| somebody(1)).unzip();
        let added: Vec<Added> = checks.into_iter().map(|check| gathering.add("shop", check)).collect();
        let refused = added.iter().filter(|added| **added == Added::Refused).count();
        assert_eq!((refused, added.last()), (1, Some(&Added::Refused)));
        let all = std::iter::from_fn(|| sizes(&gathering)).map(|call| call.len()).sum::<usize>();
        assert_eq!(all, WAITING_MAX);
    }
}
