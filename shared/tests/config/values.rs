//! Values out of their range, or not what their key says.

use crate::{LEAST, check};
use shared::config::{Config, StoreConfig};

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
