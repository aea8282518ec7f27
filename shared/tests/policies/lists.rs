//! Lists of limits: of a route, its shop and the site.

use crate::fixtures::{config, counted_by, errors};
use shared::config::{Config, LimitChoice, RouteKind};

const ROUTE: &str = "[[shop.route]]\nmethods = [\"POST\"]\npath = \"/login\"\n";

fn names(limits: &[LimitChoice]) -> Vec<String> {
    let name = |choice: &LimitChoice| {
        choice.policies.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>().join("|")
    };
    limits.iter().map(name).collect()
}

#[test]
fn a_route_without_a_sku_may_be_limited() {
    let text = format!(
        "{ROUTE}limits = [\"a\", [\"m\", \"d\"]]\n{}{}{}",
        counted_by("a", "\"ip\""),
        counted_by("m", "\"member\""),
        counted_by("d", "\"device\"")
    );
    let route = &config(&text).shops[0].routes[0];
    assert_eq!(route.kind, RouteKind::Limited);
    assert_eq!(names(&route.limits), ["a", "m|d"]);
}

#[test]
fn limits_of_site_and_shop_hold_on_every_route_but_a_bypassed_one() {
    let policies = ["s", "h", "r"].map(|name| counted_by(name, "\"ip\"")).concat();
    let text = format!(
        "limits = [\"h\"]\n{ROUTE}limits = [\"r\"]\n[[shop.route]]\npath = \"/health\"\nbypass = true\n{policies}"
    );
    let whole = format!(
        "[site]\npublic_url = \"https://shop.example\"\nlimits = [\"s\"]\n[edge]\nqueue_server = \"https://q.example\"\n\
         [[shop]]\nid = \"alpha\"\nhosts = [\"shop.example\"]\norigin = \"https://o.example\"\n{text}"
    );
    let config = Config::parse("f", &whole).unwrap();
    let shop = &config.shops[0];
    assert_eq!(names(&shop.limits), ["s", "h"]);
    assert_eq!(names(&shop.routes[0].limits), ["s", "h", "r"]);
    assert_eq!(names(&shop.routes[1].limits), [""; 0]);
}

#[test]
fn a_policy_is_named_once_and_a_check_holds_eight() {
    let policies: String = (0..9).map(|index| counted_by(&format!("p{index}"), "\"ip\"")).collect();
    let list = |count: usize| (0..count).map(|index| format!("\"p{index}\"")).collect::<Vec<_>>().join(", ");
    let eight = config(&format!("{ROUTE}limits = [{}]\n{policies}", list(8)));
    assert_eq!(eight.shops[0].routes[0].limits.len(), 8);
    assert_eq!(
        errors(&format!("{ROUTE}limits = [{}]\n{policies}", list(9))),
        [
            "f:12: shop[0].route[0].limits: a request has at most 8 limits, those of [site] and its [[shop]] included; \
             here are 9",
            "f:12: shop[0].route[0].limits: write at most 8; got 9",
        ]
    );
    assert_eq!(
        errors(&format!("limits = [\"p0\"]\n{ROUTE}limits = [{}]\n{policies}", list(8))),
        [
            "f:13: shop[0].route[0].limits: a request has at most 8 limits, those of [site] and its [[shop]] included; \
             here are 9",
            "f:13: shop[0].route[0].limits: p0 limits every request here already, by [site] or its [[shop]]; name it once",
        ]
    );
}

#[test]
fn what_could_not_work_in_a_list_is_refused() {
    let check = |limits: &str, policies: &str, expected: &str| {
        let text = format!("{ROUTE}limits = {limits}\n{policies}");
        assert_eq!(errors(&text), [format!("f:12: shop[0].route[0].limits: {expected}")]);
    };
    check(
        "[\"p\"]",
        &counted_by("p", "\"sku\""),
        "p counts by SKU, and no SKU is known here; write where the route's SKU stands",
    );
    check(
        "[\"p\"]",
        "[[policy]]\nname = \"p\"\nkey = \"ip\"\nalgorithm = \"leaky_queue\"\nrate = 1\nperiod_s = 1\nmax_waiting = 10\n",
        "p may hold a request for 11 s; at most 10 s are waited",
    );
    // L7 and L100: keys of one check share a home, or it could not be all or nothing.
    check(
        "[\"p\"]",
        &counted_by("p", "\"site\""),
        "p counts over all shops, so it has another home than a shop's keys and cannot be taken with them, \
         all or none; put it into the limits of [site]",
    );
    check(
        "[[\"p\", \"q\"]]",
        &format!("{}{}", counted_by("p", "\"ip\""), counted_by("q", "\"member\"")),
        "p always applies, so what stands behind it never does",
    );
}

#[test]
fn joins_count_nothing_that_a_join_does_not_have() {
    let text = format!("{}[join]\nlimits = [\"p\"]\n", counted_by("p", "\"sku\""));
    let expected =
        "f:16: join.limits: p counts by SKU, and no SKU is known here; write where the route's SKU stands";
    assert_eq!(errors(&text), [expected]);
    let permits =
        "[[policy]]\nname = \"p\"\nkey = \"ip\"\nalgorithm = \"concurrency\"\npermits = 1\nlife_s = 60\n";
    let expected =
        "f:16: join.limits: p hands out permits, and a join is over at once: limit joins by a rate";
    assert_eq!(errors(&format!("{permits}[join]\nlimits = [\"p\"]\n")), [expected]);
    config(&format!("{ROUTE}limits = [\"p\"]\n{permits}"));
}
