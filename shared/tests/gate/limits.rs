//! Which keys a request is charged to, and what refuses it.

use crate::fixtures::{buyer, config};
use shared::config::{Config, PolicyConfig, RouteKind};
use shared::gate::{Buyer, Limit, bound, by_home, limits};
use shared::limiter::Decision;
use std::sync::Arc;
use std::time::Duration;

fn policies(config: &Config) -> &[Arc<PolicyConfig>] {
    match &config.shops[0].routes[0].kind {
        RouteKind::Gated { limits, .. } => limits,
        RouteKind::Bypass => panic!("the route is gated"),
    }
}

fn of<'c>(config: &'c Config, buyer: &Buyer<'_>) -> Vec<Limit<'c>> {
    limits("alpha", policies(config), buyer)
}

const ALLOWED: Option<Decision> =
    Some(Decision::Allowed { remaining: 3, reset_after: Duration::ZERO, delay: Duration::ZERO });

fn denied(retry_after: Option<Duration>) -> Decision {
    Decision::Denied { remaining: 0, retry_after, reset_after: Duration::from_secs(9) }
}

#[test]
fn devices_come_first_and_addresses_last() {
    let config = config();
    let names = |buyer: &Buyer<'_>| of(&config, buyer).iter().map(|limit| limit.name).collect::<Vec<_>>();
    assert_eq!(names(&buyer("192.0.2.1", Some(1))), ["narrow", "wide"]);
    assert_eq!(names(&buyer("192.0.2.1", None)), ["wide"]);
}

#[test]
fn keys_follow_the_shop_the_policy_and_who_asks() {
    let config = config();
    let keys = |shop: &str, buyer: &Buyer<'_>| {
        limits(shop, policies(&config), buyer).iter().map(|limit| limit.charge.key).collect::<Vec<_>>()
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
    let joining = &config.join.limits;
    let all: Vec<_> = policies(&config).iter().chain(joining).cloned().collect();
    let limits = limits("alpha", &all, &buyer("2001:db8::1", Some(9)));
    let homes = by_home(&limits);
    let indices: Vec<Vec<usize>> =
        homes.values().map(|members| members.iter().map(|(index, _)| *index).collect()).collect();
    assert_eq!(limits.len(), 4);
    assert!(indices.contains(&vec![0, 1]) && indices.contains(&vec![2, 3]), "{indices:?}");
    for home in homes.keys() {
        let name = home.to_string();
        let (kind, shard) = name.split_once('-').unwrap();
        assert!(matches!(kind, "device" | "ip") && shard.len() == 2 && u8::from_str_radix(shard, 16).is_ok());
    }
}

#[test]
fn the_longest_wait_binds_and_every_answer_is_told() {
    let config = config();
    let limits = of(&config, &buyer("192.0.2.1", Some(1)));
    assert_eq!(bound(&limits, &[ALLOWED, ALLOWED]), None);
    let wait = |millis| Some(denied(Some(Duration::from_millis(millis))));
    let both = bound(&limits, &[wait(200), wait(1_400)]).unwrap();
    assert_eq!((both.policy, both.retry_after), ("wide", Some(Duration::from_millis(1_400))));
    assert!(both.fields.rate_limit.starts_with("\"wide\";r=0"), "{}", both.fields.rate_limit);
    assert_eq!(both.fields.rate_limit_policy, "\"wide\";q=200;w=2, \"narrow\";q=10;w=2");
    let never = bound(&limits, &[Some(denied(None)), wait(1_400)]).unwrap();
    assert_eq!((never.policy, never.retry_after), ("narrow", None));
}

#[test]
fn a_home_that_does_not_answer_refuses_nobody() {
    let config = config();
    let limits = of(&config, &buyer("192.0.2.1", Some(1)));
    assert_eq!(bound(&limits, &[None, None]), None);
    assert_eq!(bound(&limits, &[None, ALLOWED]), None);
    let refused = bound(&limits, &[None, Some(denied(Some(Duration::from_secs(1))))]).unwrap();
    assert_eq!(refused.policy, "wide");
    assert_eq!(refused.fields.rate_limit_policy, "\"wide\";q=200;w=2");
}
