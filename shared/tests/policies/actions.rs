//! Actions of members and shops in the compact form: the shop's list, then the site's setting, then the built-in one.

use crate::fixtures::{config, errors};
use shared::config::{PolicyConfig, PolicyMode};
use shared::limiter::{PolicySettings, compact_list::CompactList};

const ROUTE: &str =
    "[[shop.route]]\nmethods = [\"POST\"]\npath = \"/carts\"\naction = \"ShoppingCart.CartsCreate\"\n";

/// Name, mode, maximum and lock in seconds of what limits the route.
fn limits(added: &str) -> Vec<(String, PolicyMode, u64, u64)> {
    let config = config(added);
    let all = config.shops[0].routes[0].limits.iter().flat_map(|choice| &choice.policies);
    let row = |policy: &PolicyConfig| match PolicySettings::from(policy.limiter) {
        PolicySettings::Lockout { max, lock_us, .. } => {
            (policy.name.clone(), policy.mode, max, lock_us / 1_000_000)
        }
        other => panic!("{other:?}"),
    };
    all.map(|policy| row(policy)).collect()
}

#[test]
fn the_shop_comes_before_the_site_and_the_site_before_the_built_in() {
    let site = "[actions]\nShoppingCart.CartsCreate.MemberId = \"true|3|1|30\"\n\"ShoppingCart.CartsCreate.ShopId\" = \"true|1000|1|0\"\n";
    let member = "ShoppingCart.CartsCreate.MemberId".to_owned();
    let shop = "ShoppingCart.CartsCreate.ShopId".to_owned();
    assert_eq!(limits(ROUTE), [(member.clone(), PolicyMode::Off, 3, 30)]);
    assert_eq!(
        limits(&format!("{ROUTE}{site}")),
        [(member.clone(), PolicyMode::Enforced, 3, 30), (shop.clone(), PolicyMode::Enforced, 1000, 0)]
    );
    let own = "[shop.actions]\nShoppingCart = \"CartsCreate.MemberId=true|5|1|60; CheckoutCreate.MemberId=true|1|1|1;\"\n";
    assert_eq!(
        limits(&format!("{own}{ROUTE}{site}")),
        [(member.clone(), PolicyMode::Enforced, 5, 60), (shop, PolicyMode::Enforced, 1000, 0)]
    );
    let off = "[shop.actions]\nShoppingCart = \"CartsCreate.MemberId=false|5|1|60\"\n";
    assert_eq!(limits(&format!("{off}{ROUTE}{site}"))[0], (member, PolicyMode::Off, 5, 60));
}

#[test]
fn a_shops_actions_can_be_asked_for_by_name() {
    let config = config("[shop.actions]\nPay = \"CheckoutCreate.MemberId=true|1|1|1\"\n");
    assert!(config.shops[0].policy("Pay.CheckoutCreate.MemberId").is_some());
}

#[test]
fn a_malformed_setting_tells_its_place_and_reason() {
    let own = |list: &str| errors(&format!("[shop.actions]\nShoppingCart = \"{list}\"\n"));
    let check = |list: &str, expected: &str| {
        assert_eq!(own(list), [format!("f:10: shop[0].actions.ShoppingCart: {expected}; got {list:?}")]);
    };
    check(
        "CartsCreate.MemberId=true|3|1|30;CartsCreate.ShopId=true|3|1",
        "setting 2 (CartsCreate.ShopId): write enabled|max|window_s|lock_s, 4 parts; there are 3",
    );
    check(
        "CartsCreate=true|3|1|30",
        "setting 1 (CartsCreate): name it Action.Identity, such as CartsCreate.MemberId",
    );
    check(
        "CartsCreate.MemberId",
        "setting 1 (CartsCreate.MemberId): write Action.Identity=enabled|max|window_s|lock_s",
    );
    check(
        "A.MemberId=true|3|1|30;A.MemberId=true|4|1|30",
        "setting 2 (A.MemberId): it is set before; set it once",
    );
    assert_eq!(
        own("A.Member=true|3|1|30"),
        [
            "f:10: shop[0].actions.ShoppingCart: A.Member: an identity is MemberId, ShopId, DeviceId, ClientId, SkuId or Ip"
        ]
    );
    let name = "name it Service.Action.Identity, with MemberId, ShopId, DeviceId, ClientId, SkuId or Ip";
    assert_eq!(
        errors("[actions]\nCartsCreate.MemberId = \"true|3|1|30\"\n"),
        [format!("f:10: actions.CartsCreate.MemberId: {name}")]
    );
    assert_eq!(
        errors("[[shop.route]]\npath = \"/a\"\naction = \"CartsCreate\"\n"),
        [
            "f:11: shop[0].route[0].action: write Service.Action, such as ShoppingCart.CartsCreate; got \"CartsCreate\""
        ]
    );
}

#[test]
fn a_list_has_a_greatest_length() {
    let list = |count: usize| {
        let entries: Vec<String> = (0..count).map(|index| format!("A{index}.MemberId=true|1|1|1")).collect();
        entries.join(";").parse::<CompactList>()
    };
    assert_eq!(list(256).unwrap().entries.len(), 256);
    assert_eq!(
        list(257).unwrap_err().to_string(),
        "setting 257 (A256.MemberId): a list has at most 256 settings"
    );
}
