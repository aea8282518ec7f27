//! Checks that go to Redis together. While a few calls of a shop are under way, whoever else asks waits for one of them to come
//! back, and then all who wait go in one call. So one of a crowd costs Redis half as much, and one who is alone waits for nobody.

use super::RedisLimits;
use super::ask::{decimal, misconfigured};
use super::bytes::{cost_of, policy_bytes};
use super::reply::{NUMBERS, Said, gcra_decisions};
use super::script::{Call, Known};
use crate::limits::store::{Answer, LimitStoreError, Timed};
use shared::limiter::Policy;
use shared::limiter::check::{CHARGES_MAX, Charge, CheckReply, CheckRequest};
use shared::time::micros;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
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

/// What became of one check of a call; `Ok(None)`: nothing was taken, and the check needs a call of its own.
type OfCheck = Result<Option<CheckReply>, LimitStoreError>;

/// How a check comes to Redis.
#[derive(Debug)]
enum Turn {
    /// At once, in a call of its own that is under way from now on.
    Now,
    /// With the next call that is back.
    Later(oneshot::Receiver<Answer<Option<CheckReply>>>),
    /// Not at all: too many wait.
    Never,
}

/// A call of a shop that is under way. When it ends, however it does, another takes those who wait along.
struct UnderWay<'a> {
    limits: &'a RedisLimits,
    shop: &'a str,
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
        let told = match self.gathering.turn(shop, request.charges()) {
            Turn::Now => {
                let _under_way = UnderWay { limits: self, shop };
                let Timed { value, now } = self.in_time(self.check_each(shop, &[request.charges()])).await?;
                let value = value.into_iter().next().transpose()?.flatten();
                return Ok(Timed { value, now });
            }
            Turn::Later(told) => told,
            Turn::Never => return Err(LimitStoreError::Unavailable),
        };
        match tokio::time::timeout(self.link.budget(), told).await {
            Ok(Ok(answer)) => answer,
            _ => Err(LimitStoreError::Unavailable),
        }
    }

    /// Calls for those who wait, until nobody does.
    async fn call_for_all(self, shop: String) {
        while let Some(checks) = self.gathering.next(&shop) {
            let charges: Vec<&[Charge]> = checks.iter().map(|check| check.charges.as_slice()).collect();
            let answer = self.in_time(self.check_each(&shop, &charges)).await;
            let mut replies = answer.as_ref().map_or(&[][..], |answer| &answer.value).iter();
            for check in checks {
                let told = match &answer {
                    Ok(Timed { now, .. }) => {
                        let told = replies.next().cloned().transpose();
                        told.map(|told| Timed { value: told.flatten(), now: *now })
                    }
                    Err(error) => Err(error.clone()),
                };
                // Who has gone away meanwhile hears nothing.
                let _ = check.answer.send(told);
            }
        }
    }

    /// One call for these checks, one after another; as many replies.
    async fn check_each(&self, shop: &str, checks: &[&[Charge]]) -> Answer<Vec<OfCheck>> {
        let counts = checks.iter().map(|charges| u8::try_from(charges.len()).unwrap_or(u8::MAX));
        let (mut keys, mut arguments) = (Vec::new(), vec![counts.collect()]);
        for charge in checks.iter().copied().flatten() {
            keys.push(self.redis_key(shop, charge.key));
            arguments.push(policy_bytes(&charge.policy).map_err(|error| misconfigured(&error.to_string()))?);
            arguments.push(decimal(cost_of(&charge.policy, charge.cost)));
        }
        let reply = self.run(Call::CheckGcra, Known::Only(0), &keys, arguments).await?;
        let Said::Decided(numbers) = reply.said else { return Err(misconfigured(NO_DECISIONS)) };
        let mut rest = numbers.as_slice();
        let mut replies = Vec::with_capacity(checks.len());
        for charges in checks {
            let length = charges.len() * NUMBERS;
            let (told, later) = rest.split_at_checked(length).ok_or_else(|| misconfigured(NO_DECISIONS))?;
            rest = later;
            replies.push(match told {
                [ANOTHER_POLICY, ..] => Ok(None),
                [NOT_OURS, ..] => Err(misconfigured("the key of a limit holds what no limit has written")),
                told => Ok(Some(gcra_decisions(told).ok_or_else(|| misconfigured(NO_DECISIONS))?)),
            });
        }
        Ok(Timed { value: replies, now: reply.now })
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // A call may be given up where no runtime is any more; then nobody waits.
        if self.limits.gathering.ends(self.shop)
            && let Ok(runtime) = Handle::try_current()
        {
            drop(runtime.spawn(self.limits.clone().call_for_all(self.shop.to_owned())));
        }
    }
}

impl Gathering {
    fn turn(&self, shop: &str, charges: &[Charge]) -> Turn {
        let mut shops = self.shops();
        let Some(of_shop) = shops.get_mut(shop) else {
            shops.insert(shop.to_owned(), OfShop { calls_under_way: 1, waiting: VecDeque::new() });
            return Turn::Now;
        };
        if of_shop.calls_under_way < CALLS_MAX {
            of_shop.calls_under_way += 1;
            return Turn::Now;
        }
        if of_shop.waiting.len() >= WAITING_MAX {
            return Turn::Never;
        }
        let (answer, told) = oneshot::channel();
        of_shop.waiting.push_back(Waiting { charges: charges.to_vec(), answer });
        Turn::Later(told)
    }

    /// A call is back: whether another has to begin, for those who wait.
    fn ends(&self, shop: &str) -> bool {
        let mut shops = self.shops();
        let is_awaited = shops.get(shop).is_some_and(|of_shop| !of_shop.waiting.is_empty());
        if !is_awaited {
            end_one(&mut shops, shop);
        }
        is_awaited
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
            end_one(&mut shops, shop);
            return None;
        }
        Some(checks)
    }

    fn shops(&self) -> MutexGuard<'_, HashMap<String, OfShop>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call of a shop for whom nobody waits is over.
fn end_one(shops: &mut HashMap<String, OfShop>, shop: &str) {
    let Some(of_shop) = shops.get_mut(shop) else { return };
    of_shop.calls_under_way -= 1;
    if of_shop.calls_under_way == 0 {
        shops.remove(shop);
    }
}

/// What the script says of a check of which another policy counted some key.
const ANOTHER_POLICY: i64 = -2;
/// What it says where some key holds another kind of value.
const NOT_OURS: i64 = -3;
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

    fn charges(count: usize) -> Vec<Charge> {
        let policy = GcraPolicy::new(10, 10, Duration::from_secs(1)).unwrap();
        vec![Charge::new(Policy::Gcra(policy), KeyHash([0; 16]), 1); count]
    }

    /// As many calls as may be, and behind them checks of so many charges.
    fn crowd(waiting: impl IntoIterator<Item = usize>) -> (Gathering, Vec<Turn>) {
        let gathering = Gathering::default();
        for _ in 0..CALLS_MAX {
            assert!(matches!(gathering.turn("shop", &charges(1)), Turn::Now));
        }
        let turns = waiting.into_iter().map(|count| gathering.turn("shop", &charges(count))).collect();
        (gathering, turns)
    }

    fn next(gathering: &Gathering) -> Option<Vec<usize>> {
        Some(gathering.next("shop")?.iter().map(|check| check.charges.len()).collect())
    }

    #[test]
    fn a_call_that_is_back_takes_all_along_who_wait() {
        let (gathering, turns) = crowd([1, 2, 3]);
        assert!(turns.iter().all(|turn| matches!(turn, Turn::Later(_))), "{turns:?}");
        assert!(matches!(gathering.turn("another", &charges(1)), Turn::Now), "a shop waits for no other");
        assert!(gathering.ends("shop"), "another has to begin");
        assert_eq!(next(&gathering), Some(vec![1, 2, 3]));
        assert!(!gathering.ends("shop"), "nobody waits any more");
        assert_eq!(next(&gathering), None);
        assert!(!gathering.shops().contains_key("shop"), "nothing is left of calls that are over");
        assert!(matches!(gathering.turn("shop", &charges(1)), Turn::Now));
    }

    #[test]
    fn a_call_has_room_for_so_many_charges_and_tears_no_check_apart() {
        let (gathering, _turns) = crowd([60, 4, 1, 62, 2]);
        let calls: Vec<_> = (0..4).map(|_| next(&gathering)).collect();
        assert_eq!(calls, [Some(vec![60, 4]), Some(vec![1, 62]), Some(vec![2]), None]);
    }

    #[test]
    fn who_goes_away_before_the_call_takes_nothing() {
        let (gathering, turns) = crowd([1, 2, 3]);
        let mut turns = turns.into_iter();
        drop((turns.next(), turns.next()));
        assert_eq!(next(&gathering), Some(vec![3]));
    }

    #[test]
    fn one_too_many_is_refused_and_displaces_nobody() {
        let (gathering, turns) = crowd(std::iter::repeat_n(1, WAITING_MAX + 1));
        let refused = turns.iter().filter(|turn| matches!(turn, Turn::Never)).count();
        assert!(refused == 1 && matches!(turns.last(), Some(Turn::Never)));
        let all = std::iter::from_fn(|| next(&gathering)).map(|call| call.len()).sum::<usize>();
        assert_eq!(all, WAITING_MAX);
    }
}
