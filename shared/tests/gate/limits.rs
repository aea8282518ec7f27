//! Which keys a request is charged to, and what refuses it.

use crate::fixtures::{buyer, config};
use shared::config::Config;
use shared::gate::{Buyer, Limit, Plan, Stage, Subject, by_home, judge};
use shared::http::ratelimit::LimitFields;
use shared::limiter::Decision;
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
