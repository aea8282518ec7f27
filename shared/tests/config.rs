//! The configuration file: what it means, and that every error says where it is and what to do.

use shared::config::{
    ClientIpSource, Config, KeyPart, LimitChoice, PolicyConfig, PolicyKey, RouteKind, SkuSource, StoreConfig,
};
use shared::http::cookie::CookieMode;
use shared::http::sku::Sku;
use shared::ids::EventId;
use shared::limiter::{Policy, gcra::GcraPolicy};
use std::time::Duration;

const DEMO: &str = include_str!("../../tests/demo/fairgate.toml");

/// The least that is a configuration.
const LEAST: &str = r#"
[site]
public_url = "https://shop.example"
[edge]
queue_server = "https://queue.example"
[[shop]]
id = "alpha"
hosts = ["shop.example"]
origin = "https://origin.example"
[[shop.route]]
methods = ["POST"]
path = "/cart/{sku}"
sku = { path = "sku" }
[[event]]
id = "drop"
shop = "alpha"
skus = ["A-1"]
capacity = 100
admission_rate_per_s = 50
"#;

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

/// Replaces `old` in the least configuration, and expects exactly these errors.
fn check(old: &str, new: &str, expected: &[&str]) {
    assert!(LEAST.contains(old), "{old}");
    let errors =
        Config::parse("f", &LEAST.replacen(old, new, 1)).err().unwrap_or_else(|| panic!("no error: {new}"));
    let errors: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected, "{new}");
}

#[test]
fn a_watched_server_is_that_of_a_shop_and_named_once() {
    let watched = "[[event]]";
    let origin = |url: &str, more: &str| {
        format!("[[origin]]\nurl = \"{url}\"\ntarget_latency_ms = 300\ncapacity = 500\n{more}\n[[event]]")
    };
    let text = LEAST.replace(watched, &origin("https://ORIGIN.example:443", "capacity_min = 20"));
    let config = Config::parse("f", &text).unwrap();
    let settings = config.origin_of(&config.shops[0]).unwrap().settings;
    assert_eq!((settings.capacity_min, settings.capacity_max), (20, 500));
    assert_eq!((settings.target_latency.as_millis(), config.events[0].weight), (300, 1));

    let unknown = origin("https://other.example", "");
    check(watched, &unknown, &["f:15: origin[0].url: no [[shop]] has this origin"]);
    let wide = origin("https://origin.example", "capacity_min = 501");
    check(watched, &wide, &["f:18: origin[0].capacity_min: write a whole number from 1 to 500; got 501"]);
    let twice =
        origin("https://origin.example", "").replace("[[event]]", &origin("https://origin.example", ""));
    let named = "f:20: origin[1].url: https://origin.example is named on line 15 already; name it once";
    check(watched, &twice, &[named]);
}

#[test]
fn numbers_are_checked_against_their_ranges() {
    let wanted = "f:18: event[0].capacity: write a whole number from 1 to 1000000; got";
    check("capacity = 100", "capacity = 0", &[&format!("{wanted} 0")]);
    check("capacity = 100", "capacity = 1_000_001", &[&format!("{wanted} 1000001")]);
    check("capacity = 100", "capacity = -1", &[&format!("{wanted} -1")]);
    check("capacity = 100", "capacity = 99999999999999999999", &[&format!("{wanted} 99999999999999999999")]);
    check("capacity = 100", "capacity = 1.5", &[&format!("{wanted} float")]);
    check("capacity = 100", "capacity = \"100\"", &[&format!("{wanted} string")]);
    for capacity in [1, 1_000_000] {
        let text = LEAST.replace("capacity = 100", &format!("capacity = {capacity}"));
        assert_eq!(Config::parse("f", &text).unwrap().events[0].capacity, capacity);
    }
    check(
        "capacity = 100",
        "capacity = 100\npass_life_s = 100\nsession_max_s = 99",
        &["f:20: event[0].session_max_s: write a whole number from 100 to 86400; got 99"],
    );
}

#[test]
fn rooms_are_kept_on_disk_or_in_redis() {
    assert_eq!(Config::parse("f", LEAST).unwrap().server.store, StoreConfig::Embedded);
    let text =
        |store: &str| format!("{LEAST}[server]\nadvertise = \"http://10.0.0.5:8701/\"\n[store]\n{store}");
    let url = "redis+sentinel://a:26379,b:26379/main";
    let all = format!("kind = \"redis\"\nurl = \"{url}\"\nprefix = \"shop-7\"\nreplicas = 2\nbudget_ms = 80");
    let server = Config::parse("f", &text(&all)).unwrap().server;
    assert_eq!(server.advertise.unwrap().as_str(), "http://10.0.0.5:8701");
    let StoreConfig::Redis(redis) = server.store else { panic!("the file says redis") };
    let told = (redis.url.as_deref(), redis.prefix.as_str(), redis.replicas, redis.budget.as_millis());
    assert_eq!(told, (Some(url), "shop-7", 2, 80));
    let StoreConfig::Redis(least) = Config::parse("f", &text("kind = \"redis\"")).unwrap().server.store
    else {
        panic!("the file says redis")
    };
    let told = (least.url.as_deref(), least.prefix.as_str(), least.replicas, least.budget.as_millis());
    assert_eq!(told, (None, "fairgate", 0, 50));

    let line = LEAST.lines().count() + 4;
    for (store, error) in [
        ("kind = \"disk\"", "store.kind: write \"embedded\" or \"redis\"; got \"disk\""),
        ("prefix = \"a\"", "store: an embedded store has no prefix; write kind = \"redis\", or leave it out"),
        ("replicas = 1", "store: an embedded store has no replicas; write kind = \"redis\", or leave it out"),
        (
            "url = \"redis://u:p@h\"\nkind = \"redis\"",
            "store.url: edges read this file; give a URL with a login by FAIRGATE_STORE_URL",
        ),
        ("url = \"http://h\"\nkind = \"redis\"", "store.url: write redis://<host>:<port>"),
        ("replicas = 9\nkind = \"redis\"", "store.replicas: write a whole number from 0 to 8; got 9"),
        ("budget_ms = 0\nkind = \"redis\"", "store.budget_ms: write a whole number from 1 to 1000; got 0"),
    ] {
        let errors = Config::parse("f", &text(store)).unwrap_err().to_string();
        let at = if error.starts_with("store:") { line - 1 } else { line };
        assert_eq!(errors, format!("f:{at}: {error}"), "{store}");
    }
}

#[test]
fn keys_are_known_and_there() {
    let missing = "f:14: event[0].capacity: missing; write capacity = <number from 1 to 1000000>";
    check("capacity = 100", "", &[missing]);
    let unknown = "f:18: event[0].capacty: unknown key; known here are id, shop, title, skus, capacity, weight, \
                   admission_rate_per_s, turn_grace_s, pass_life_s, session_max_s, session_extensions_max, sessions_per_buyer, remember_devices, passthrough, opens_at, closes_at, poll_budget_per_s, lane";
    check("capacity = 100", "capacty = 100", &[missing, unknown]);
    check(
        "methods = [\"POST\"]",
        "",
        &["f:10: shop[0].route[0]: a gated route names its methods; write methods = [\"POST\"]"],
    );
    check(
        "sku = { path = \"sku\" }",
        "",
        &["f:10: shop[0].route[0]: write sku = { json = \"<field>\" } to gate the route, \
           limits = [\"<policy>\"] to limit it, or bypass = true"],
    );
}

#[test]
fn members_are_proved_by_keys_for_an_audience() {
    let members = "[shop.members]\njwks = \"\"\nage_max_s = 5\nlane = \"A B\"\n";
    check(
        "[[event]]",
        &format!("{members}[[event]]"),
        &[
            "f:14: shop[0].members.audience: missing; write audience = \"<name>\"",
            "f:15: shop[0].members.jwks: write a text that is not empty; got \"\"",
            "f:16: shop[0].members.age_max_s: write a whole number from 10 to 86400; got 5",
            "f:17: shop[0].members.lane: a name is 1 to 32 characters of a-z, 0-9 and -; got \"A B\"",
        ],
    );
}

#[test]
fn texts_say_what_they_must_be() {
    check(
        "shop = \"alpha\"",
        "shop = \"beta\"",
        &["f:16: event[0].shop: no [[shop]] has this id; got \"beta\""],
    );
    check("[\"A-1\"]", "[]", &["f:17: event[0].skus: name at least one SKU, which this event then gates"]);
    let sku = "f:17: event[0].skus[0]: a SKU is 1 to 64 letters, digits and . _ - : / # ~, without spaces";
    check("\"A-1\"", "\"A 1\"", &[&format!("{sku}; got \"A 1\"")]);
    let url = "f:3: site.public_url: buyers' cookies need https; write https://, or http://localhost for development";
    check("https://shop.example", "http://shop.example", &[&format!("{url}; got \"http://shop.example\"")]);
    let origin = "f:5: edge.queue_server: write http://host[:port] or https://host[:port], without user, path or query";
    check("https://queue.example", "queue.example", &[&format!("{origin}; got \"queue.example\"")]);
    let network = "f:4: site.trusted_proxies[1]: write a network such as 10.0.0.0/8 or 2001:db8::/32";
    check(
        "[edge]",
        "trusted_proxies = [\"10.0.0.0/8\", \"10.0.0.1/33\"]\n[edge]",
        &[&format!("{network}; got \"10.0.0.1/33\"")],
    );
    let ipv6 = "f:4: site.ipv6_prefix: write \"/64\", \"/56\" or \"/48\"";
    check("[edge]", "ipv6_prefix = \"/60\"\n[edge]", &[&format!("{ipv6}; got \"/60\"")]);
    let prefix = "f:4: site.prefix: write a path such as /.fairgate, in lower case, without a slash behind";
    check("[edge]", "prefix = \"/a/\"\n[edge]", &[&format!("{prefix}; got \"/a/\"")]);
    check("[edge]", "prefix = \"/\"\n[edge]", &[&format!("{prefix}; got \"/\"")]);
}

#[test]
fn a_route_is_gated_in_one_way_or_bypassed() {
    let exactly = "f:13: shop[0].route[0].sku: write exactly one of json, form, query and path, \
                   such as { json = \"item.sku\" }";
    let segment =
        "f:13: shop[0].route[0].sku.path: name a {segment} of this route's path, without its braces";
    check("{ path = \"sku\" }", "{ path = \"id\" }", &[exactly, &format!("{segment}; got \"id\"")]);
    check("{ path = \"sku\" }", "{ path = \"sku\", json = \"sku\" }", &[exactly]);
    check(
        "/cart/{sku}",
        "/.Fairgate/{sku}",
        &[
            "f:12: shop[0].route[0].path: /.fairgate belongs to Fairgate's own calls; choose a path outside it",
        ],
    );
    check(
        "sku = {",
        "bypass = true\nsku = {",
        &[
            "f:10: shop[0].route[0]: a bypassed route is neither gated nor limited; remove bypass, or sku, limits and action",
        ],
    );
    let policy =
        "f:13: shop[0].route[0].limits[0]: no [[policy]] has this name; known are join-device, join-ip";
    check("sku = {", "limits = [\"device\"]\nsku = {", &[&format!("{policy}; got \"device\"")]);
}

#[test]
fn names_are_given_once() {
    let check_appended = |appended: &str, expected: &[&str]| {
        let errors = Config::parse("f", &format!("{LEAST}{appended}")).expect_err(appended);
        let errors: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected);
    };
    let again = |line: usize, key: &str, name: &str, first: usize| {
        format!("f:{line}: {key}: {name} is named on line {first} already; name it once")
    };
    check("\"A-1\"", "\"A-1\", \"a-1\"", &[&again(17, "event[0].skus[1]", "a-1", 17)]);
    let shop = "[[shop]]\nid = \"alpha\"\nhosts = [\"SHOP.example:443\"]\norigin = \"http://o\"\n";
    check_appended(
        shop,
        &[&again(21, "shop[1].id", "alpha", 7), &again(22, "shop[1].hosts[0]", "shop.example", 8)],
    );
    let event = "[[event]]\nid = \"drop\"\nshop = \"alpha\"\nskus = [\"A-1\"]\ncapacity = 1\nadmission_rate_per_s = 1\n";
    check_appended(
        event,
        &[&again(21, "event[1].id", "drop", 15), &again(23, "event[1].skus[0]", "a-1", 17)],
    );
    let lanes = "[[event.lane]]\nname = \"a\"\nweight = 1\n[[event.lane]]\nname = \"a\"\nweight = 1001\n";
    let weight = "f:25: event[0].lane[1].weight: write a whole number from 1 to 1000; got 1001";
    check_appended(lanes, &[&again(24, "event[0].lane[1].name", "a", 21), weight]);
    let bounds = "[[event.lane]]\nname = \"a\"\nfloor_pct = 60\nceiling_pct = 50\n[[event.lane]]\nname = \"b\"\nfloor_pct = 41\n";
    let ceiling = "f:23: event[0].lane[0].ceiling_pct: write a whole number from 60 to 100; got 50";
    let floors = "f:24: event[0].lane[1]: the floors of all lanes together are at most 100 percent";
    check_appended(bounds, &[ceiling, floors]);
    let policies =
        "[[policy]]\nname = \"p\"\nkey = \"ip\"\nburst_capacity = 1\nrate = 1\nperiod_ms = 1\n".repeat(2);
    check_appended(&policies, &[&again(27, "policy[1].name", "p", 21)]);
}

#[test]
fn a_title_is_one_line_of_at_most_eighty_characters() {
    let titled = |title: &str| format!("capacity = 100\ntitle = \"{title}\"");
    let longest = "搶".repeat(80);
    let text = LEAST.replace("capacity = 100", &titled(&longest));
    assert_eq!(Config::parse("f", &text).unwrap().events[0].title, longest);
    for title in ["", "two\\nlines", &"x".repeat(81)] {
        let text = LEAST.replace("capacity = 100", &titled(title));
        let error = Config::parse("f", &text).unwrap_err().to_string();
        assert!(error.starts_with("f:19: event[0].title: write 1 to 80 characters, on one line"), "{error}");
    }
}

#[test]
fn an_event_opens_and_closes_at_moments_with_an_offset() {
    let event = |lines: &str| LEAST.replace("capacity = 100", &format!("capacity = 100\n{lines}"));
    let read = |lines: &str| Config::parse("f", &event(lines)).map(|config| config.events[0].clone());
    let opens = |text: &str| read(&format!("opens_at = {text}")).unwrap().opens_at.unwrap().as_secs();
    assert_eq!(opens("2026-12-01T12:00:00+08:00"), 1_796_097_600);
    assert_eq!(opens("2026-12-01T04:00:00.9Z"), 1_796_097_600);
    assert_eq!(opens("2024-02-29T00:00:00-00:30"), 1_709_166_600);
    assert_eq!(opens("1970-01-01T00:00:00Z"), 0);
    let refused = |lines: &str| read(lines).unwrap_err().to_string();
    let moment = "a date and time with its offset, such as 2026-12-01T12:00:00+08:00";
    for (text, got) in [
        ("2026-12-01T12:00:00", "2026-12-01T12:00:00"),
        ("2026-12-01", "2026-12-01"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
        ("\"noon\"", "string"),
    ] {
        assert_eq!(
            refused(&format!("opens_at = {text}")),
            format!("f:19: event[0].opens_at: write {moment}; got {got}")
        );
    }
    let both = "opens_at = 2026-12-01T12:00:00Z\ncloses_at = 2026-12-01T12:00:00Z";
    assert_eq!(refused(both), "f:20: event[0].closes_at: an event closes after opens_at");
}

#[test]
fn one_path_is_not_two_routes_of_one_method() {
    let route =
        "[[shop.route]]\nmethods = [\"PUT\", \"POST\"]\npath = \"/CART//{sku}/\"\nsku = { path = \"sku\" }\n";
    let text = LEAST.replace("[[event]]", &format!("{route}[[event]]"));
    let errors = Config::parse("f", &text).unwrap_err().to_string();
    assert_eq!(errors, "f:16: shop[0].route[1].path: /cart/{sku} is named on line 12 already; name it once");
}

#[test]
fn two_shops_may_sell_skus_of_one_name() {
    let beta = "[[shop]]\nid = \"beta\"\nhosts = [\"beta.example\"]\norigin = \"http://o\"\n";
    let event = "[[event]]\nid = \"other\"\nshop = \"beta\"\nskus = [\"A-1\"]\ncapacity = 1\nadmission_rate_per_s = 1\n";
    let config = Config::parse("f", &format!("{LEAST}{beta}{event}")).unwrap();
    let sku = Sku::parse("A-1").unwrap();
    let event_of = |shop: &str| config.shop(shop).unwrap().event_of_sku(&sku).unwrap().as_str().to_owned();
    assert_eq!((event_of("alpha"), event_of("beta")), ("drop".to_owned(), "other".to_owned()));
}

#[test]
fn several_errors_are_told_at_once_in_the_order_of_lines() {
    let text = LEAST
        .replace("capacity = 100", "capacity = -1")
        .replace("[edge]", "[egde]")
        .replace("\"alpha\"", "\"Alpha\"");
    let errors = Config::parse("f", &text).unwrap_err();
    let lines: Vec<usize> = errors.0.iter().map(|error| error.line).collect();
    assert!(lines.is_sorted() && lines.len() >= 4, "{errors}");
    for part in [
        "f:4: egde: unknown key",
        "edge.queue_server: missing",
        "shop[0].id: a name is",
        "event[0].capacity: write",
    ] {
        assert!(errors.to_string().contains(part), "{part} in {errors}");
    }
}

#[test]
fn text_that_is_not_toml_is_told_with_its_lines() {
    let errors = Config::parse("f", "[site]\npublic_url = \n[edge\nx = 1\nx = 2\n").unwrap_err();
    let lines: Vec<usize> = errors.0.iter().map(|error| error.line).collect();
    assert!(lines.contains(&2) && lines.contains(&3), "{errors}");
    assert!(errors.0.iter().all(|error| error.message.starts_with("not TOML: ")), "{errors}");
}

#[test]
fn the_file_and_its_lists_have_a_greatest_size() {
    let padded = |bytes: usize| format!("{LEAST}#{}", "x".repeat(bytes - LEAST.len() - 1));
    assert!(Config::parse("f", &padded(1024 * 1024)).is_ok());
    let errors = Config::parse("f", &padded(1024 * 1024 + 1)).unwrap_err();
    assert_eq!(errors.to_string(), "f:1: write at most 1048576 bytes; got 1048577");

    let with_skus = |count: usize| {
        let skus: Vec<String> = (0..count).map(|index| format!("\"S-{index}\"")).collect();
        Config::parse("f", &LEAST.replace("[\"A-1\"]", &format!("[{}]", skus.join(","))))
    };
    assert_eq!(with_skus(10_000).unwrap().events[0].skus.len(), 10_000);
    assert_eq!(
        with_skus(10_001).unwrap_err().to_string(),
        "f:17: event[0].skus: write at most 10000; got 10001"
    );

    let with_lanes = |count: usize| {
        let lanes: Vec<String> =
            (0..count).map(|index| format!("[[event.lane]]\nname = \"l{index}\"\n")).collect();
        let lanes = lanes.concat();
        Config::parse("f", &format!("{LEAST}{lanes}"))
    };
    assert_eq!(with_lanes(16).unwrap().events[0].lanes.len(), 16);
    assert!(with_lanes(17).is_err());

    let endless = "[[event]]\n".repeat(200);
    assert_eq!(Config::parse("f", &format!("{LEAST}{endless}")).unwrap_err().0.len(), 100);
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
