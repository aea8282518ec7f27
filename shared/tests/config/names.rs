//! Names that exist, once each, and routes that are one thing.

use crate::{LEAST, check};
use shared::config::Config;
use shared::http::sku::Sku;

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
