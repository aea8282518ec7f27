//! A shop's own numbers, and those of its SKUs.

use crate::fixtures::{config, counted_by, errors};
use shared::config::{PolicyConfig, PolicyMode};
use shared::http::sku::Sku;

fn own(added: &str) -> PolicyConfig {
    let route = "[[shop.route]]\nmethods = [\"POST\"]\npath = \"/cart/{sku}\"\nsku = { path = \"sku\" }\nlimits = [\"p\"]\n";
    let beta = "[[shop]]\nid = \"beta\"\nhosts = [\"beta.example\"]\norigin = \"https://beta.example\"\n";
    let config = config(&format!("{added}{route}{beta}{route}{}", counted_by("p", "\"sku\"")));
    let of = |shop: usize| PolicyConfig::clone(&config.shops[shop].routes[0].limits[0].policies[0]);
    assert_eq!(of(1), *config.policies[0], "another shop keeps the numbers of the file");
    assert_eq!(of(0), **config.shops[0].policy("p").unwrap());
    of(0)
}

#[test]
fn each_shop_and_each_sku_has_its_own_numbers() {
    let numbers = |rate: u32| format!("burst_capacity = {rate}\nrate = {rate}\nperiod_s = 1\n");
    let text = format!(
        "[[shop.policy]]\nname = \"p\"\n{}[[shop.policy]]\nname = \"p\"\nsku = \"A-1\"\n{}",
        numbers(100),
        numbers(7)
    );
    let policy = own(&text);
    let quota = |sku: &str| policy.limiter_for(Some(&Sku::parse(sku).unwrap())).quota();
    assert_eq!((quota("a-1"), quota("B-1"), policy.limiter_for(None).quota()), (7, 100, 100));
}

#[test]
fn a_shop_may_switch_a_policy_off_or_watch_it_only() {
    let of = |mode: &str| {
        own(&format!("[[shop.policy]]\nname = \"p\"\nmode = \"{mode}\"\nat_most = 5\nwindow_s = 1\n")).mode
    };
    assert_eq!((of("off"), of("shadow")), (PolicyMode::Off, PolicyMode::Shadow));
    let compact = own("[[shop.policy]]\nname = \"p\"\nlockout = \"false|3|1|30\"\n");
    assert_eq!(compact.mode, PolicyMode::Off);
}

#[test]
fn an_override_names_a_policy_that_a_shop_can_have_alone() {
    let check = |own: &str, key: &str, expected: &[&str]| {
        let numbers = "at_most = 5\nwindow_s = 1\n";
        let text = format!("[[shop.policy]]\n{own}{numbers}{}", counted_by("p", key));
        assert_eq!(errors(&text), expected, "{own}");
    };
    check(
        "name = \"q\"\n",
        "\"ip\"",
        &["f:10: shop[0].policy[0].name: no [[policy]] has this name; got \"q\""],
    );
    check(
        "name = \"p\"\n",
        "[\"site\", \"ip\"]",
        &[
            "f:10: shop[0].policy[0].name: this policy counts over all shops, so none of them has numbers of its own",
        ],
    );
    check(
        "name = \"p\"\nsku = \"A-1\"\n",
        "\"ip\"",
        &["f:10: shop[0].policy[0].name: this policy does not count by SKU; remove sku"],
    );
    check(
        "name = \"p\"\nsku = \"A-1\"\nmode = \"off\"\n",
        "\"sku\"",
        &["f:9: shop[0].policy[0]: mode and inherit hold for the whole policy; write them without sku"],
    );
}
