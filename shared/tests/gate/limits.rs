//! Which keys a request is charged to, and what refuses it.

use crate::fixtures::{buyer, config};
use shared::config::{Config, KeyPart, PolicyMode};
use shared::gate::{Buyer, Home, Limit, LimitTally, Plan, Stage, Subject, by_home, judge, permits_end_soon};
use shared::http::ratelimit::LimitFields;
use shared::limiter::{Decision, PolicySettings};
use shared::wire::{LimitCounts, LimitReport};
use std::time::Duration;

fn of<'c>(config: &'c Config, buyer: &Buyer<'c>) -> Vec<Limit<'c>> {
    let shop = &config.shops[0];
    let route = &shop.routes[0];
    Plan::of_request(shop, Some(route), buyer).limits(Stage::Personal, &buyer.subject(shop, Some(route)))
}

const ALLOWED: Option<Decision> =
    Some(Decision::Allowed { remaining: 3, reset_after: Duration::ZERO, delay: Duration::ZERO });

fn denied(retry_after: Option<Duration>) -> Decision {
    Decision::Denied { remaining: 0, retry_after, reset_after: Duration::from_secs(9) }
}

#[test]
fn devices_come_first_and_addresses_last() {
    let config = config();
    let names =
        |buyer: &Buyer<'static>| of(&config, buyer).iter().map(|limit| limit.name).collect::<Vec<_>>();
    assert_eq!(names(&buyer("192.0.2.1", Some(1))), ["narrow", "wide"]);
    assert_eq!(names(&buyer("192.0.2.1", None)), ["wide"]);
}

#[test]
fn keys_follow_the_shop_the_policy_and_who_asks() {
    let config = config();
    let keys = |shop_id: &'static str, buyer: &Buyer<'static>| {
        let (shop, route) = (&config.shops[0], &config.shops[0].routes[0]);
        let subject = Subject { shop_id, ..buyer.subject(shop, Some(route)) };
        let limits = Plan::of_request(shop, Some(route), buyer).limits(Stage::Personal, &subject);
        limits.iter().map(|limit| limit.charge.key).collect::<Vec<_>>()
    };
    let one = keys("alpha", &buyer("192.0.2.1", Some(1)));
    assert_ne!(one[0], one[1]);
    assert_eq!(one, keys("alpha", &buyer("192.0.2.1", Some(1))));
    let moved = keys("alpha", &buyer("192.0.2.2", Some(1)));
    assert!(one[0] == moved[0] && one[1] != moved[1], "a device keeps its key at another address");
    let other = keys("alpha", &buyer("192.0.2.1", Some(2)));
    assert!(one[0] != other[0] && one[1] == other[1]);
    assert!(one.iter().zip(keys("beta", &buyer("192.0.2.1", Some(1)))).all(|(a, b)| *a != b));
}

#[test]
fn one_home_holds_all_limits_of_a_device_and_one_all_of_an_address() {
    let config = config();
    let buyer = buyer("2001:db8::1", Some(9));
    let subject = buyer.subject(&config.shops[0], None);
    let joining = Plan::of_join(&config, &buyer).limits(Stage::Personal, &subject);
    let limits: Vec<Limit<'_>> = of(&config, &buyer).into_iter().chain(joining).collect();
    assert_eq!(limits.len(), 4);
    let calls = by_home(&limits);
    let names: Vec<String> = calls.iter().map(|call| call.home.to_string()).collect();
    assert_eq!(calls.len(), 2, "{names:?}");
    for call in &calls {
        assert_eq!((call.checks.len(), call.checks[0].indices.len()), (1, 2));
        let name = call.home.to_string();
        let (kind, shard) = name.split_once('-').unwrap();
        assert!(matches!(kind, "device" | "ip") && shard.len() == 2 && u8::from_str_radix(shard, 16).is_ok());
    }
}

#[test]
fn the_longest_wait_binds_and_every_answer_is_told() {
    let config = config();
    let limits = of(&config, &buyer("192.0.2.1", Some(1)));
    assert_eq!(judge(LimitFields::default(), &limits, &[ALLOWED, ALLOWED]).refusal, None);
    let wait = |millis| Some(denied(Some(Duration::from_millis(millis))));
    let both = judge(LimitFields::default(), &limits, &[wait(200), wait(1_400)]).refusal.unwrap();
    assert_eq!((both.policy, both.retry_after), ("wide", Some(Duration::from_millis(1_400))));
    assert!(both.fields.rate_limit.starts_with("\"wide\";r=0"), "{}", both.fields.rate_limit);
    assert_eq!(both.fields.rate_limit_policy, "\"wide\";q=200;w=2, \"narrow\";q=10;w=2");
    let never = judge(LimitFields::default(), &limits, &[Some(denied(None)), wait(1_400)]).refusal.unwrap();
    assert_eq!((never.policy, never.retry_after), ("narrow", None));
}

/// A permit comes back with a reply of the shop, long before its life is over.
#[test]
fn who_finds_no_permit_free_comes_again_soon() {
    let config = config();
    let mut limits = of(&config, &buyer("192.0.2.1", Some(1)));
    let permits = PolicySettings::Concurrency { permits: 2, life_us: 60_000_000 };
    limits[0].charge.policy = permits.try_into().unwrap();
    let wait = |millis| Some(denied(Some(Duration::from_millis(millis))));
    let refused = |decisions: &[Option<Decision>]| {
        judge(LimitFields::default(), &limits, &permits_end_soon(&limits, decisions))
            .refusal
            .map(|bound| (bound.policy, bound.retry_after))
    };
    let second = Some(Duration::from_secs(1));
    assert_eq!(refused(&[wait(60_000), ALLOWED]), Some(("narrow", second)));
    assert_eq!(refused(&[wait(300), ALLOWED]), Some(("narrow", Some(Duration::from_millis(300)))));
    assert_eq!(refused(&[wait(60_000), wait(1_400)]), Some(("wide", Some(Duration::from_millis(1_400)))));
    assert_eq!(
        refused(&[Some(denied(None)), ALLOWED]),
        Some(("narrow", None)),
        "more than there are permits"
    );
}

#[test]
fn what_limits_decide_is_counted_by_policy_and_taken_once() {
    let config = config();
    let mut limits = of(&config, &buyer("192.0.2.1", Some(1)));
    limits[1].mode = PolicyMode::Shadow;
    let refused = Some(denied(None));
    // `narrow` has a quota of 10: 2 left are a fifth.
    let left =
        |remaining| Some(Decision::Allowed { remaining, reset_after: Duration::ZERO, delay: Duration::ZERO });
    let mut tally = LimitTally::default();
    for decisions in [[left(3), left(199)], [left(2), refused], [refused, None]] {
        tally.note(&limits, &decisions);
    }
    let none = LimitCounts::default();
    let narrow = LimitCounts { allowed: 2, near: 1, refused: 1, ..none };
    let wide = LimitCounts { shadow_allowed: 1, shadow_refused: 1, undecided: 1, ..none };
    let report = |policy: &str, counts| LimitReport { policy: policy.to_owned(), counts };
    assert_eq!(tally.take(), [report("narrow", narrow), report("wide", wide)]);
    assert_eq!(tally.take(), []);
}

#[test]
fn a_plan_knows_what_it_counts_by() {
    let config = config();
    let (shop, buyer) = (&config.shops[0], buyer("192.0.2.1", Some(1)));
    let plan = Plan::of_request(shop, Some(&shop.routes[0]), &buyer);
    let counted = [KeyPart::Device, KeyPart::Ip, KeyPart::Member].map(|part| plan.counts_by(part));
    assert_eq!(counted, [true, true, false]);
}

#[test]
fn a_home_that_does_not_answer_refuses_nobody() {
    let config = config();
    let limits = of(&config, &buyer("192.0.2.1", Some(1)));
    assert_eq!(judge(LimitFields::default(), &limits, &[None, None]).refusal, None);
    assert_eq!(judge(LimitFields::default(), &limits, &[None, ALLOWED]).refusal, None);
    let refused = judge(LimitFields::default(), &limits, &[None, Some(denied(Some(Duration::from_secs(1))))])
        .refusal
        .unwrap();
    assert_eq!(refused.policy, "wide");
    assert_eq!(refused.fields.rate_limit_policy, "\"wide\";q=200;w=2");
}

#[test]
fn a_home_is_found_by_its_name_and_by_no_other() {
    let callers = [KeyPart::Client, KeyPart::Member, KeyPart::Device, KeyPart::Ip];
    let callers = callers.into_iter().flat_map(|part| (0..=255).map(move |shard| Home::Caller(part, shard)));
    for home in callers.chain([Home::Shop("alpha"), Home::Site]) {
        assert_eq!(Home::named(&home.to_string(), "alpha"), Some(home));
    }
    for name in [
        "",
        "site-",
        "Site",
        "isolate",
        "shop-beta",
        "shop-",
        "device",
        "device-",
        "device-3F",
        "device-03f",
        "device-+f",
        "device-100",
        "sku-00",
        "route-00",
        "shop-alpha ",
    ] {
        assert_eq!(Home::named(name, "alpha"), None, "{name}");
    }
}
