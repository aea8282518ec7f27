//! Calls of a node to the home of keys, and what the home writes down.

use crate::world::{SEED, at, gcra, held, key, window};
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::home::{ASKS_MAX, Ask, Give, HomeReply, HomeRequest, InvalidCall, Keeping, REFUNDS_MAX};
use shared::limiter::lease::{LEASE_COST_MAX, Refund};
use shared::limiter::table::LimiterTable;
use shared::limiter::{Cost, Policy, PolicySettings};

#[test]
fn quota_goes_out_only_for_what_was_recorded_and_may_be_leased() {
    let grants = |policy: Policy, cost: Cost, capacity: usize| {
        let mut table = LimiterTable::new(capacity, SEED);
        let check = CheckRequest::new(vec![Charge::new(policy, key(0), cost)]).unwrap();
        let asks = vec![Ask { wanted: vec![100_000], ..Ask::binding(check) }];
        let call = HomeRequest { asks, ..HomeRequest::default() };
        call.answer(&mut table, at(0)).answers[0].grants[0].map(|grant| grant.cost)
    };
    let lockout = PolicySettings::Lockout { max: 100, window_us: 1_000_000, lock_us: 1_000_000 };
    assert_eq!(grants(gcra(101, 1, 1_000_000), 1, 8), Some(50));
    assert_eq!(grants(gcra(1_000_000, 1, 1_000_000), 1, 8), Some(LEASE_COST_MAX));
    assert_eq!(grants(gcra(1, 1, 1_000_000), 1, 8), None, "nothing is left");
    assert_eq!(grants(gcra(101, 1, 1_000_000), 0, 8), None, "a look takes nothing along");
    assert_eq!(grants(lockout.try_into().unwrap(), 1, 8), None, "a lockout counts tries");
    assert_eq!(grants(gcra(101, 1, 1_000_000), 1, 0), None, "a full table has no record of it");
}

#[test]
fn a_call_travels_only_within_its_bounds() {
    let (charge, _) = held();
    let ask = Ask::binding(CheckRequest::new(vec![charge]).unwrap());
    let check = |request: HomeRequest, is_fit: bool| assert_eq!(request.to_bytes().is_ok(), is_fit);
    let refunds = |count| vec![Refund { charge, taken_at: at(0) }; count];
    let gives = |count| vec![Give { charge, holder: Holder([1; 16]) }; count];
    check(HomeRequest { refunds: refunds(REFUNDS_MAX), ..HomeRequest::default() }, true);
    check(HomeRequest { refunds: refunds(REFUNDS_MAX + 1), ..HomeRequest::default() }, false);
    check(HomeRequest { gives: gives(REFUNDS_MAX), ..HomeRequest::default() }, true);
    check(HomeRequest { gives: gives(REFUNDS_MAX + 1), ..HomeRequest::default() }, false);
    check(HomeRequest { asks: vec![ask.clone(); ASKS_MAX], ..HomeRequest::default() }, true);
    check(HomeRequest { asks: vec![ask.clone(); ASKS_MAX + 1], ..HomeRequest::default() }, false);
    let wanting = |wanted| {
        let asks = vec![Ask { wanted, ..ask.clone() }];
        HomeRequest { asks, ..HomeRequest::default() }
    };
    check(wanting(vec![1]), true);
    check(wanting(vec![1, 1]), false);

    let bytes = wanting(vec![1]).to_bytes().unwrap();
    assert_eq!(HomeRequest::from_bytes(&bytes[1..]), Err(InvalidCall));
    // A reply to a call with other wishes is none.
    let reply = wanting(vec![]).answer(&mut LimiterTable::new(8, SEED), at(0)).to_bytes().unwrap();
    assert!(HomeReply::from_bytes(&reply, &wanting(vec![])).is_ok());
    assert_eq!(HomeReply::from_bytes(&reply, &wanting(vec![1])), Err(InvalidCall));
    assert_eq!(HomeReply::from_bytes(&reply, &HomeRequest::default()), Err(InvalidCall));
}

#[test]
fn after_a_binding_refusal_nothing_more_is_asked() {
    let ask = |nth, burst, is_binding| {
        let check = CheckRequest::new(vec![Charge::new(gcra(burst, 1, 1_000_000), key(nth), 1)]).unwrap();
        Ask { is_binding, ..Ask::binding(check) }
    };
    let mut table = LimiterTable::new(8, SEED);
    let mut allowed = |asks: Vec<Ask>| {
        let request = HomeRequest { asks, ..HomeRequest::default() };
        let reply = request.answer(&mut table, at(0));
        let reply = HomeReply::from_bytes(&reply.to_bytes().unwrap(), &request).unwrap();
        reply.answers.iter().map(|answer| answer.check.refusal().is_none()).collect::<Vec<bool>>()
    };
    assert_eq!(allowed(vec![ask(0, 1, true), ask(1, 2, false)]), [true, true]);
    assert_eq!(allowed(vec![ask(0, 1, true), ask(1, 2, false)]), [false]);
    // A shadow that would refuse holds nobody up, and what was not asked has taken nothing.
    assert_eq!(allowed(vec![ask(0, 1, false), ask(1, 2, false)]), [false, true]);
    assert_eq!(allowed(vec![ask(1, 2, false)]), [false]);
}

#[test]
fn what_goes_back_is_there_for_the_check_of_the_same_call() {
    let permits: Policy = PolicySettings::Concurrency { permits: 1, life_us: 60_000_000 }.try_into().unwrap();
    let (permit, quota) =
        (Charge::new(permits, key(0), 1), Charge::new(gcra(1, 1, 3_600_000_000), key(1), 1));
    let (first, second) = (Holder([1; 16]), Holder([2; 16]));
    let mut table = LimiterTable::new(8, SEED);
    let mut passes = |holder, refunds: Vec<Refund>, gives: Vec<Give>| {
        let check = CheckRequest::new(vec![permit, quota]).unwrap().held_by(holder);
        let request = HomeRequest { refunds, gives, asks: vec![Ask::binding(check)] };
        request.answer(&mut table, at(0)).answers[0].check.refusal().is_none()
    };
    assert!(passes(first, vec![], vec![]));
    let refund = Refund { charge: quota, taken_at: at(0) };
    let give = Give { charge: permit, holder: first };
    assert!(!passes(second, vec![], vec![give]));
    assert!(passes(second, vec![refund], vec![]));
}

#[test]
fn what_an_idle_home_would_forget_too_early_is_written() {
    let lockout = PolicySettings::Lockout { max: 1, window_us: 1_000_000, lock_us: 30_000_000 };
    let lockout: Policy = lockout.try_into().unwrap();
    let check = |policy: Policy, costs: &[Cost], expected: Keeping| {
        let mut table = LimiterTable::new(8, SEED);
        for cost in costs {
            table.check(&CheckRequest::new(vec![Charge::new(policy, key(0), *cost)]).unwrap(), at(0));
        }
        assert_eq!(Keeping::of(&table.record(key(0)).unwrap(), at(0)), expected);
    };
    check(gcra(10, 1, 1_000_000), &[1], Keeping::InMemory);
    check(gcra(11, 1, 1_000_000), &[1], Keeping::WrittenSoon);
    check(window(5, 60_000_000), &[1], Keeping::WrittenSoon);
    check(lockout, &[1], Keeping::WrittenSoon);
    check(lockout, &[1, 1], Keeping::WrittenThrough);
    assert!(!Keeping::may_be_written(&gcra(10, 1, 1_000_000)));
    assert!(Keeping::may_be_written(&lockout));
}
