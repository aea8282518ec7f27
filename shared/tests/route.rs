//! Where a request goes: Fairgate's own calls, gated routes in every spelling, bypasses, and the rest.

#![expect(clippy::unwrap_used, reason = "a test stops where its own input is wrong")]

use proptest::prelude::*;
use shared::config::Config;
use shared::http::path::{CanonicalPath, PATH_BYTES_MAX, RoutePattern};
use shared::http::reason::Reason;
use shared::http::route::{FairgateRoute, RequestLine, RouteTarget, Unroutable, find, find_call};
use shared::ids::EventId;
use std::sync::LazyLock;

static DEMO: LazyLock<Config> =
    LazyLock::new(|| Config::parse("fairgate.toml", include_str!("../../tests/demo/fairgate.toml")).unwrap());

const HOST: &str = "localhost:8700";

fn target(method: &str, path: &str) -> Result<RouteTarget<'static>, Unroutable> {
    find(&DEMO, &RequestLine { method, host: HOST, path }).map(|found| found.target)
}

fn call(method: &str, path: &str) -> FairgateRoute {
    match target(method, path) {
        Ok(RouteTarget::Fairgate(call)) => call,
        other => panic!("{method} {path}: {other:?}"),
    }
}

fn drop_event() -> EventId {
    EventId::parse("drop").unwrap()
}

/// Id of the gated route, `"refused"`, or what else became of it.
fn gate(method: &str, path: &str) -> String {
    match target(method, path) {
        Ok(RouteTarget::Gated { route, .. }) => route.id.clone(),
        Ok(RouteTarget::Bypass(_)) => "bypass".to_owned(),
        Ok(RouteTarget::Limited(route)) => format!("limited {}", route.id),
        Ok(RouteTarget::Open) => "open".to_owned(),
        Ok(RouteTarget::Fairgate(_)) => "fairgate".to_owned(),
        Err(unroutable) => unroutable.reason.code().to_owned(),
    }
}

#[test]
fn the_calls_of_the_protocol_are_found_under_the_prefix() {
    assert_eq!(call("GET", "/.fairgate/events/drop"), FairgateRoute::Snapshot(drop_event()));
    assert_eq!(call("HEAD", "/.fairgate/events/drop"), FairgateRoute::Snapshot(drop_event()));
    assert_eq!(call("POST", "/.fairgate/events/drop/ticket"), FairgateRoute::Join(drop_event()));
    assert_eq!(call("GET", "/.fairgate/events/drop/ticket"), FairgateRoute::Status(drop_event()));
    assert_eq!(call("DELETE", "/.fairgate/events/drop/ticket"), FairgateRoute::Abandon(drop_event()));
    assert_eq!(call("POST", "/.fairgate/events/drop/ticket/redeem"), FairgateRoute::Redeem(drop_event()));
    assert_eq!(call("POST", "/.fairgate/events/drop/session/renew"), FairgateRoute::Renew(drop_event()));
    assert_eq!(call("POST", "/.fairgate/events/drop/session/extend"), FairgateRoute::Extend(drop_event()));
    assert_eq!(call("GET", "/.fairgate/wait/drop?return=/a"), FairgateRoute::WaitPage(drop_event()));
    assert_eq!(call("GET", "/.fairgate/limits/state?policy=ip"), FairgateRoute::KeyState);
    assert_eq!(call("GET", "/.fairgate/jwks.json"), FairgateRoute::Jwks);
    assert_eq!(call("OPTIONS", "/.fairgate/events/drop/ticket"), FairgateRoute::Preflight);
    assert_eq!(call("GET", "//.FAIRGATE/./%65vents/drop/"), FairgateRoute::Snapshot(drop_event()));
}

#[test]
fn calls_that_do_not_exist_say_why() {
    let check = |method, path, reason, allow| {
        assert_eq!(target(method, path), Err(Unroutable { reason, allow }), "{method} {path}");
    };
    check("GET", "/.fairgate", Reason::RouteUnknown, None);
    check("GET", "/.fairgate/events", Reason::RouteUnknown, None);
    check("GET", "/.fairgate/events/drop/ticket/redeem/x", Reason::RouteUnknown, None);
    check("GET", "/.fairgate/events/drop%2Fticket", Reason::EventUnknown, None);
    check("GET", "/.fairgate/events/none", Reason::EventUnknown, None);
    check("POST", "/.fairgate/events/a%20b/ticket", Reason::EventUnknown, None);
    // An event of another shop is none of this host's.
    check("GET", "/.fairgate/events/beta-drop", Reason::EventUnknown, None);
    check("POST", "/.fairgate/events/drop", Reason::MethodNotAllowed, Some("GET, HEAD, OPTIONS"));
    check("GET", "/.fairgate/events/drop/ticket/redeem", Reason::MethodNotAllowed, Some("POST, OPTIONS"));
    check(
        "PUT",
        "/.fairgate/events/drop/ticket",
        Reason::MethodNotAllowed,
        Some("GET, HEAD, POST, DELETE, OPTIONS"),
    );
    check("get", "/.fairgate/jwks.json", Reason::MethodNotAllowed, Some("GET, HEAD, OPTIONS"));
}

#[test]
fn the_host_decides_the_shop() {
    let shop = |host| {
        let found = find(&DEMO, &RequestLine { method: "GET", host, path: "/" });
        found.map(|found| found.shop.id.as_str()).map_err(|unroutable| unroutable.reason)
    };
    assert_eq!(shop("localhost:8700"), Ok("alpha"));
    assert_eq!(shop("ALPHA.localhost.:8700"), Ok("alpha"));
    assert_eq!(shop("beta.localhost:8700"), Ok("beta"));
    for host in [
        "",
        "localhost",
        "localhost:87000",
        "evil.example",
        "localhost:8700, evil.example",
        "local host:8700",
    ] {
        assert_eq!(shop(host), Err(Reason::HostUnknown), "{host}");
    }
}

#[test]
fn the_queue_server_finds_calls_on_any_host() {
    let beta = EventId::parse("beta-drop").unwrap();
    assert_eq!(
        find_call(&DEMO, "GET", "/.fairgate/events/beta-drop"),
        Some(Ok(FairgateRoute::Snapshot(beta)))
    );
    assert_eq!(find_call(&DEMO, "GET", "/v1/edge/report"), None);
    let reason = |path| find_call(&DEMO, "GET", path).unwrap().unwrap_err().reason;
    assert_eq!(reason("/.fairgate/events/none"), Reason::EventUnknown);
    assert_eq!(reason("/%zz"), Reason::PathInvalid);
}

#[test]
fn a_gated_path_is_gated_in_every_spelling() {
    let gated = "POST /api/cart/items";
    for path in [
        "/api/cart/items",
        "/api/cart/items/",
        "/api/cart/items//",
        "//api///cart/items",
        "/API/Cart/ITEMS",
        "/%61pi/c%61rt/%69tem%73",
        "/api/./cart/items",
        "/api/cart/x/../items",
        "/../api/cart/items",
        "/api/%2e/cart/items",
        "/api/x/%2E%2e/cart/items",
        "/api/x/.%2e/cart/items",
        "/api;v=1/cart;a;b/items;jsessionid=1",
        "/api/cart/items%3Bx",
        "/;/api/cart/items",
        "/api/cart/items.json",
        "/api/cart/items.",
        "/api/cart/items?x=1",
        "/api/cart/items?/../..",
        "/api/cart/items#x",
        "/api/cart/item%C5%BF",
    ] {
        assert_eq!(gate("POST", path), gated, "{path}");
    }
    for method in ["post", "Post"] {
        assert_eq!(gate(method, "/api/cart/items"), gated, "{method}");
    }
}

#[test]
fn an_ambiguous_path_is_refused_only_where_something_is_gated() {
    for path in [
        "/api%2Fcart/items",
        "/api/cart%5Citems",
        "/api\\cart\\items",
        "/%2561pi/cart/items",
        "/api/cart/items%25",
        "/api/..;a/../cart/items",
        "/api//../cart/items",
        "/api/%FF/items",
        "/api/%C0%AFcart/items",
        "/x/..;/api/cart/items",
    ] {
        assert_eq!(gate("POST", path), "PATH_INVALID", "{path}");
        assert_eq!(gate("GET", path), "open", "{path}");
    }
}

#[test]
fn a_malformed_path_is_refused_always() {
    for path in [
        "",
        "*",
        "api/cart/items",
        "http://localhost/api",
        "/%",
        "/%4",
        "/%4g",
        "/%g4",
        "/a%",
        "/a b",
        "/\t",
        "/\u{7f}",
        "/é",
        "/%00",
        "/a%0d%0aX",
        "/%7f",
    ] {
        assert_eq!(gate("GET", path), "PATH_INVALID", "{path:?}");
    }
    let longest = format!("/{}", "a".repeat(PATH_BYTES_MAX - 1));
    assert_eq!(gate("GET", &longest), "open");
    assert_eq!(gate("GET", &format!("{longest}?{longest}")), "open");
    assert_eq!(gate("GET", &format!("{longest}a")), "PATH_INVALID");
}

#[test]
fn other_requests_go_to_the_shop() {
    assert_eq!(gate("GET", "/api/cart/items"), "open");
    assert_eq!(gate("POST", "/api/cart"), "open");
    assert_eq!(gate("POST", "/api/cart/items/1"), "open");
    assert_eq!(gate("POST", "/api/cart/itemsx"), "open");
    assert_eq!(gate("POST", "/api.json/cart/items"), "open");
    assert_eq!(gate("GET", "/%E8%B3%BC%E7%89%A9%E8%BB%8A"), "open");
    assert_eq!(gate("GET", "/health"), "bypass");
    assert_eq!(gate("HEAD", "/Health/"), "bypass");
    assert_eq!(gate("GET", "/health.json"), "open");
    assert_eq!(gate("GET", "/.fairgate2"), "open");
}

#[test]
fn a_bypass_never_opens_a_gate() {
    let text = include_str!("../../tests/demo/fairgate.toml")
        .replace("path = \"/health\"", "path = \"/api/{any}/items\"");
    let config = Config::parse("f", &text).unwrap();
    let line = |method| RequestLine { method, host: HOST, path: "/api/cart/items" };
    assert!(matches!(find(&config, &line("POST")).unwrap().target, RouteTarget::Gated { .. }));
    assert!(matches!(find(&config, &line("GET")).unwrap().target, RouteTarget::Bypass(_)));
}

#[test]
fn patterns_name_whole_segments() {
    let shown = |text| RoutePattern::parse(text).map(|pattern| pattern.to_string()).ok();
    assert_eq!(shown("/Cart//{sku}/add/").as_deref(), Some("/cart/{sku}/add"));
    assert_eq!(shown("/").as_deref(), Some("/"));
    assert_eq!(shown("/購物車").as_deref(), Some("/購物車"));
    for bad in [
        "",
        "cart",
        "/{}",
        "/{a",
        "/a}",
        "/{a}.json",
        "/{a}/{a}",
        "/{a b}",
        "/a?b",
        "/a;b",
        "/a%2Fb",
        "/%zz",
        "/a b",
    ] {
        assert_eq!(shown(bad), None, "{bad}");
    }

    let pattern = RoutePattern::parse("/cart/{sku}/add").unwrap();
    let path = CanonicalPath::parse("/CART/A-1;x/add.json").unwrap();
    assert!(pattern.covers(&path) && !pattern.matches(&path));
    assert_eq!(pattern.capture("sku", &path), Some("a-1"));
    assert_eq!(pattern.capture("id", &path), None);
    let encoded = CanonicalPath::parse("/%e8%b3%bc%E7%89%A9%E8%BB%8A").unwrap();
    assert!(RoutePattern::parse("/購物車").unwrap().matches(&encoded));
}

proptest! {
    #[test]
    fn no_text_is_too_odd_to_route(method in ".{0,8}", host in ".{0,20}", path in ".{0,40}") {
        let _ = find(&DEMO, &RequestLine { method: &method, host: &host, path: &path });
        let _ = target(&method, &path);
        let _ = target("POST", &format!("/.fairgate/events/{path}"));
    }
}
