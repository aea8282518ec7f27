//! What the file means.

use crate::LEAST;
use shared::config::{
    ClientIpSource, Config, KeyPart, LimitChoice, PolicyConfig, PolicyKey, RouteKind, SkuSource,
};
use shared::http::cookie::CookieMode;
use shared::http::sku::Sku;
use shared::ids::EventId;
use shared::limiter::{Policy, gcra::GcraPolicy};
use std::time::Duration;

const DEMO: &str = include_str!("../../../tests/demo/fairgate.toml");

fn policies(limits: &[LimitChoice]) -> impl Iterator<Item = &PolicyConfig> {
    limits.iter().flat_map(|choice| &choice.policies).map(AsRef::as_ref)
}

#[test]
fn the_demo_file_is_read() {
    let config = Config::parse("fairgate.toml", DEMO).unwrap();
    assert_eq!(config.site.prefix, "/.fairgate");
    assert_eq!(config.site.cookie_mode, CookieMode::Development);
    assert_eq!(config.edge.queue_server.as_str(), "http://127.0.0.1:8701");
    assert_eq!(config.server.listen.port(), 8701);
    assert_eq!(config.shops.len(), 2);
    assert_eq!(config.shop_of_host("Alpha.LOCALHOST:8700").map(|shop| shop.id.as_str()), Some("alpha"));

    let drop = config.event(&EventId::parse("drop").unwrap()).unwrap();
    assert_eq!((drop.capacity, drop.admission_rate_per_s, drop.poll_budget_per_s), (100, 50, 1000));
    assert_eq!(drop.turn_grace, Duration::from_mins(5));
    let alpha = config.shop("alpha").unwrap();
    assert_eq!(alpha.event_of_sku(&Sku::parse("a-2").unwrap()), Some(&drop.id));
    assert_eq!(alpha.event_of_sku(&Sku::parse("B-1").unwrap()), None);

    let RouteKind::Gated { sku } = &alpha.routes[0].kind else { panic!("the first route is gated") };
    assert_eq!(*sku, SkuSource::Json(vec!["sku".to_owned()]));
    assert_eq!(alpha.routes[0].id, "POST /api/cart/items");
    let limits: Vec<_> = policies(&alpha.routes[0].limits)
        .map(|policy| (policy.name.as_str(), policy.key.clone(), policy.limiter.quota()))
        .collect();
    assert_eq!(
        limits,
        [("device", PolicyKey::of(KeyPart::Device), 10), ("ip", PolicyKey::of(KeyPart::Ip), 200)]
    );
    assert_eq!(alpha.routes[2].kind, RouteKind::Bypass);
    assert_eq!(policies(&config.join.limits).next().unwrap().name, "join-device");
    assert_eq!((config.poll.burst_capacity, config.poll.rate), (20, 2));
}

#[test]
fn what_is_left_out_has_a_default() {
    let config = Config::parse("f", LEAST).unwrap();
    assert_eq!(config.site.prefix, "/.fairgate");
    assert_eq!(config.site.cookie_mode, CookieMode::Host);
    assert_eq!(config.edge.client_ip, ClientIpSource::Peer);
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8701");
    assert_eq!(config.server.data_dir, ".fairgate");
    let event = &config.events[0];
    let seconds = [event.turn_grace, event.pass_life, event.session_max].map(|span| span.as_secs());
    assert_eq!(seconds, [300, 120, 900]);
    assert_eq!(event.poll_budget_per_s, 1000);
    assert_eq!(event.title, "drop");
    assert_eq!((event.lanes.len(), event.lanes[0].name.as_str(), event.lanes[0].weight), (1, "guest", 1));
    let joins: Vec<_> = policies(&config.join.limits).map(|policy| policy.name.as_str()).collect();
    assert_eq!(joins, ["join-device", "join-ip"]);
    assert_eq!((config.poll.burst_capacity, config.poll.rate, config.poll.period.as_millis()), (20, 2, 1000));

    let long_pass = LEAST.replace("capacity = 100", "capacity = 100\npass_life_s = 3600");
    assert_eq!(Config::parse("f", &long_pass).unwrap().events[0].session_max.as_secs(), 3600);
    let domain = LEAST.replace("[edge]", "cookie_domain = \"shop.example\"\n[edge]");
    assert!(matches!(Config::parse("f", &domain).unwrap().site.cookie_mode, CookieMode::Domain(_)));
    let behind_cdn = LEAST.replacen("[[shop]]", "client_ip = \"True-Client-IP\"\n[[shop]]", 1);
    let client_ip = Config::parse("f", &behind_cdn).unwrap().edge.client_ip;
    assert_eq!(client_ip, ClientIpSource::Header("true-client-ip".to_owned()));
}

#[test]
fn every_number_in_range_makes_a_limiter() {
    for (burst_capacity, rate, period_ms) in
        [(1, 1, 1), (1_000_000, 999_983, 86_399_999), (1_000_000, 1, 86_400_000), (1, 1000, 1)]
    {
        let numbers = format!("burst_capacity = {burst_capacity}\nrate = {rate}\nperiod_ms = {period_ms}\n");
        let policy = format!("[[policy]]\nname = \"p\"\nkey = \"ip\"\n{numbers}[poll]\n{numbers}");
        let config = Config::parse("f", &format!("{LEAST}{policy}")).unwrap();
        let limiter = GcraPolicy::new(burst_capacity, rate, Duration::from_millis(period_ms)).unwrap();
        assert_eq!(config.policies[0].limiter, Policy::Gcra(limiter));
        assert_eq!(config.poll.limiter, Policy::Gcra(limiter));
    }
}
