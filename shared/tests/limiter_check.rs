//! Keys, the bytes of a check, and what an isolate remembers of refusals.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use shared::limiter::check::{CHARGES_MAX, Charge, CheckError, CheckReply, CheckRequest, Refusal};
use shared::limiter::deny_cache::DenyCache;
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{Key, KeyHash, KeyTooLong, PART_BYTES_MAX, TableSeed};
use shared::limiter::{Decision, Policy};
use shared::time::Timestamp;
use std::time::Duration;

const SEED: TableSeed = TableSeed([3; 16]);

fn policy(burst: u64) -> Policy {
    Policy::Gcra(GcraPolicy::new(burst, 5, Duration::from_secs(1)).unwrap())
}

fn charge(identity: u64, cost: u64) -> Charge {
    let key = Key { service: "alpha", action: "device", identity: &identity.to_be_bytes() };
    Charge::new(policy(10), key.hash().unwrap(), cost)
}

fn denied(retry_after: Option<Duration>) -> Decision {
    Decision::Denied { remaining: 2, retry_after, reset_after: Duration::from_mins(1) }
}

fn at_ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_764_480_000_000 + millis)
}

#[test]
fn parts_of_a_key_never_run_together() {
    let hash = |service, action, identity: &[u8]| Key { service, action, identity }.hash().unwrap();
    let keys = [
        hash("shop", "cart", b"1"),
        hash("shopc", "art", b"1"),
        hash("shop", "cart1", b""),
        hash("", "shopcart", b"1"),
        hash("shop", "cart", b"\x00\x011"),
        hash("shop", "join", b"1"),
    ];
    for (index, key) in keys.iter().enumerate() {
        assert!(!keys[index + 1..].contains(key), "key {index} reads like a later one");
    }
}

#[test]
fn a_key_is_the_first_half_of_sha_256_over_prefixed_parts() {
    // printf '\0\4shop\0\4cart\0\1*' | sha256sum
    let hash = Key { service: "shop", action: "cart", identity: b"*" }.hash().unwrap();
    assert_eq!(data_encoding::HEXLOWER.encode(&hash.0), "d6c58b3402ccaa622a6d665d708011e2");
}

#[test]
fn a_part_over_its_length_is_refused_before_it_is_hashed() {
    let hash = |identity: &[u8]| Key { service: "shop", action: "cart", identity }.hash();
    assert!(hash(&[b'x'; PART_BYTES_MAX]).is_ok());
    assert_eq!(hash(&[b'x'; PART_BYTES_MAX + 1]), Err(KeyTooLong { bytes: PART_BYTES_MAX + 1 }));
    assert_eq!(hash(&vec![b'x'; 1 << 20]), Err(KeyTooLong { bytes: 1 << 20 }));
}

#[test]
fn a_check_names_each_key_once_and_at_most_eight() {
    let charges = |count: u64| (0..count).map(|identity| charge(identity, 1)).collect::<Vec<_>>();
    assert!(CheckRequest::new(charges(8)).is_ok());
    assert_eq!(CHARGES_MAX, 8);
    assert_eq!(CheckRequest::new(charges(9)), Err(CheckError::TooManyCharges));
    assert_eq!(
        CheckRequest::new(vec![charge(1, 1), charge(2, 1), charge(1, 2)]),
        Err(CheckError::RepeatedKey)
    );
}

#[test]
fn a_check_travels_in_few_bytes_and_is_checked_again() {
    let request = CheckRequest::new(vec![charge(1, 1), charge(2, 3)]).unwrap();
    let bytes = request.to_bytes().unwrap();
    assert_eq!(CheckRequest::from_bytes(&bytes).unwrap(), request);
    assert_eq!(bytes.len(), 1 + 2 * (1 + 5 + 16 + 1 + 1) + 1, "the last byte says that nobody holds permits");
    let twice = [&[2], &bytes[1..25], &bytes[1..25], &[0][..]].concat();
    assert_eq!(CheckRequest::from_bytes(&twice), Err(CheckError::Malformed));
    for cut in 0..bytes.len() {
        assert_eq!(CheckRequest::from_bytes(&bytes[..cut]), Err(CheckError::Malformed));
    }
    let reply = CheckReply { decisions: vec![denied(None), denied(Some(Duration::from_micros(1)))] };
    let bytes = reply.to_bytes().unwrap();
    assert_eq!(CheckReply::from_bytes(&bytes, 2), Ok(reply));
    assert_eq!(CheckReply::from_bytes(&bytes, 3), Err(CheckError::Malformed));
}

#[test]
fn a_refusal_names_the_longest_wait_and_never_is_the_longest() {
    let allowed =
        Decision::Allowed { remaining: 1, reset_after: Duration::from_secs(99), delay: Duration::ZERO };
    let waits = |secs| denied(Some(Duration::from_secs(secs)));
    let check = |decisions: &[Decision], want: Option<(usize, Option<u64>)>| {
        let refusal = CheckReply { decisions: decisions.to_vec() }.refusal();
        let want =
            want.map(|(bound_by, secs)| Refusal { bound_by, retry_after: secs.map(Duration::from_secs) });
        assert_eq!(refusal, want, "{decisions:?}");
    };
    check(&[], None);
    check(&[allowed, allowed], None);
    check(&[allowed, waits(2), waits(5), waits(5)], Some((2, Some(5))));
    check(&[waits(2), denied(None), denied(None)], Some((1, None)));
    check(&[denied(None), waits(2)], Some((0, None)));
}

#[test]
fn a_remembered_refusal_answers_the_exact_wait_and_ends_with_it() {
    let mut cache = DenyCache::new(16, SEED);
    cache.remember(&charge(1, 5), &denied(Some(Duration::from_millis(1400))), at_ms(0));
    let lookup = |millis| cache.lookup(&charge(1, 5), at_ms(millis));
    let want = Decision::Denied {
        remaining: 2,
        retry_after: Some(Duration::from_millis(400)),
        reset_after: Duration::from_secs(59),
    };
    assert_eq!(lookup(1_000), Some(want));
    assert!(lookup(1_399).is_some());
    assert_eq!(lookup(1_400), None);
    // The clock stepped back: the life of the refusal can no longer be bounded by it.
    assert_eq!(cache.lookup(&charge(1, 5), Timestamp::from_millis(1_764_479_999_999)), None);
}

#[test]
fn a_remembered_refusal_lives_five_seconds_at_most() {
    let mut cache = DenyCache::new(16, SEED);
    for (identity, wait) in [(1, Some(Duration::from_secs(30))), (2, None)] {
        cache.remember(&charge(identity, 5), &denied(wait), at_ms(0));
        let Some(Decision::Denied { retry_after, .. }) = cache.lookup(&charge(identity, 5), at_ms(4_999))
        else {
            panic!("forgotten early");
        };
        assert_eq!(retry_after, wait.map(|wait| wait.saturating_sub(Duration::from_millis(4_999))));
        assert_eq!(cache.lookup(&charge(identity, 5), at_ms(5_000)), None);
    }
}

#[test]
fn a_refusal_speaks_for_its_cost_and_policy_only() {
    let mut cache = DenyCache::new(16, SEED);
    cache.remember(&charge(1, 5), &denied(Some(Duration::from_secs(1))), at_ms(0));
    assert!(cache.lookup(&charge(1, 5), at_ms(1)).is_some());
    assert_eq!(cache.lookup(&charge(1, 2), at_ms(1)), None);
    assert_eq!(cache.lookup(&charge(2, 5), at_ms(1)), None);
    assert_eq!(cache.lookup(&Charge { policy: policy(11), ..charge(1, 5) }, at_ms(1)), None);
    let allowed =
        Decision::Allowed { remaining: 1, reset_after: Duration::from_secs(1), delay: Duration::ZERO };
    cache.remember(&charge(3, 1), &allowed, at_ms(0));
    assert_eq!(cache.lookup(&charge(3, 1), at_ms(1)), None);
}

#[test]
fn a_full_set_forgets_what_ends_soonest() {
    // One set of four: the fifth refusal pushes out the one that had the least left.
    let mut cache = DenyCache::new(1, SEED);
    let waits_ms = [4_000, 1_000, 3_000, 2_000];
    for (identity, wait) in (0..).zip(waits_ms) {
        cache.remember(&charge(identity, 1), &denied(Some(Duration::from_millis(wait))), at_ms(0));
    }
    let standing = |cache: &DenyCache, millis| {
        (0..6)
            .filter(|identity| cache.lookup(&charge(*identity, 1), at_ms(millis)).is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(standing(&cache, 1), [0, 1, 2, 3]);
    cache.remember(&charge(4, 1), &denied(Some(Duration::from_secs(5))), at_ms(1));
    assert_eq!(standing(&cache, 1), [0, 2, 3, 4]);
    // What ended leaves its place first, and a charge refused again keeps its own.
    cache.remember(&charge(0, 1), &denied(Some(Duration::from_secs(5))), at_ms(2_500));
    cache.remember(&charge(5, 1), &denied(Some(Duration::from_secs(5))), at_ms(2_500));
    assert_eq!(standing(&cache, 2_501), [0, 2, 4, 5]);
}

#[test]
fn a_changed_setting_asks_anew_although_the_refusal_would_still_stand() {
    let mut cache = DenyCache::new(16, SEED);
    cache.remember(&charge(1, 5), &denied(Some(Duration::from_secs(4))), at_ms(0));
    assert_eq!(cache.lookup(&Charge { policy: policy(20), ..charge(1, 5) }, at_ms(1)), None, "raised");
    assert!(cache.lookup(&charge(1, 5), at_ms(1)).is_some(), "and back");
}

#[test]
fn a_flood_of_refusals_finds_the_memory_as_it_was() {
    let mut cache = DenyCache::new(64, SEED);
    for made_up in 0..100_000 {
        cache.remember(&charge(made_up, 1), &denied(None), at_ms(0));
    }
    let standing =
        (0..100_000).filter(|made_up| cache.lookup(&charge(*made_up, 1), at_ms(1)).is_some()).count();
    assert_eq!(standing, 64 * 4);
}

#[test]
fn the_seed_moves_keys_about() {
    // Keys that share one set under one seed are spread under another: a layout cannot be aimed at from outside.
    let refusal = denied(None);
    let survivors = |seed: TableSeed, keys: &[u64]| {
        let mut cache = DenyCache::new(64, seed);
        for key in keys {
            cache.remember(&charge(*key, 1), &refusal, at_ms(0));
        }
        keys.iter().filter(|key| cache.lookup(&charge(**key, 1), at_ms(1)).is_some()).count()
    };
    let shares_a_set = |key: &u64| {
        let mut cache = DenyCache::new(64, SEED);
        cache.remember(&charge(0, 1), &refusal, at_ms(0));
        (1..=4).for_each(|_| cache.remember(&charge(*key, 1), &refusal, at_ms(0)));
        // Four other costs of the same key fill its set and push key 0 out only if it is there too.
        (2..=5).for_each(|cost| cache.remember(&charge(*key, cost), &refusal, at_ms(1)));
        cache.lookup(&charge(0, 1), at_ms(2)).is_none()
    };
    let aimed: Vec<u64> = (1..4_000).filter(shares_a_set).take(32).collect();
    assert_eq!(survivors(SEED, &aimed), 4);
    assert!(survivors(TableSeed([99; 16]), &aimed) > 20);
    assert_eq!(size_of::<KeyHash>(), 16);
}
