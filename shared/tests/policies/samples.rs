//! The samples that ship are good, and say what they are meant to say.

use shared::config::{Config, Credentials, PolicyMode};
use shared::http::language::Language;

const ENDPOINTS: &str = include_str!("../../../queue-server/samples/endpoints.toml");
const ACTIONS: &str = include_str!("../../../queue-server/samples/actions.toml");

#[test]
fn the_policies_of_endpoints() {
    let config = Config::parse("endpoints.toml", ENDPOINTS).unwrap_or_else(|errors| panic!("{errors}"));
    let words = |name: &str| config.policies.iter().find(|policy| policy.name == name).unwrap().in_words();
    assert_eq!(words("products"), "products: each address: in any 1 min at most 1000, exactly.");
    assert_eq!(words("login"), "login: each address: in any 1 min at most 5, exactly.");
    assert_eq!(words("register"), "register: each address: in any 1 h at most 3, exactly.");
    for (name, limit) in [
        ("comment", "in any 1 min at most 10, exactly"),
        ("export", "in any 1 min at most 1, exactly"),
        ("payment", "in any 1 min at most 3, exactly"),
        ("ai", "10 each day of UTC; in any 24 hours at most 20"),
    ] {
        assert_eq!(
            words(name),
            format!("{name}: each member (who is not known: device, else address): {limit}.")
        );
    }
    assert_eq!(
        words("exports-at-once"),
        "exports-at-once: each route: 20 at the same time, each for at most 1 min."
    );
    let export = config.shops[0]
        .routes
        .iter()
        .find(|route| route.limits.iter().any(|limit| limit.policies[0].name == "export"));
    assert_eq!(export.unwrap().limits.last().unwrap().policies[0].name, "exports-at-once");
    let quota = |api_key| {
        let client = config.callers.client(&Credentials { api_key: Some(api_key), ..Credentials::default() });
        client.unwrap().limits[0].policies[0].limiter.quota()
    };
    assert_eq!((quota("basic-key"), quota("plus-key")), (1_000, 10_000));
    let unlimited: Vec<String> =
        config.coverage().iter().filter(|route| !route.is_limited).map(ToString::to_string).collect();
    assert_eq!(unlimited, ["alpha /health: bypassed: goes to the shop uncounted"]);
}

#[test]
fn the_catalogue_of_actions() {
    let config = Config::parse("actions.toml", ACTIONS).unwrap_or_else(|errors| panic!("{errors}"));
    let beta = config.shop("beta").unwrap();
    let on: Vec<&str> = beta
        .policies
        .iter()
        .filter(|policy| policy.name.contains('.') && policy.mode == PolicyMode::Enforced)
        .map(|policy| policy.name.as_str())
        .collect();
    assert_eq!(on, ["ShoppingCart.CartsCreate.MemberId", "ShoppingCart.CartsCreate.ShopId"]);
    let actions = [
        "CartsCreate",
        "CartsCalculate",
        "CartsSkuUpdateQty",
        "CartsSkuAdd",
        "CheckoutCreate",
        "CheckoutComplete",
    ];
    for action in actions {
        assert!(beta.policy(&format!("ShoppingCart.{action}.MemberId")).is_some(), "{action}");
    }
    for service in ["ShoppingCart", "Pay", "Auth", "ECoupon", "CCA", "RetailStore", "Brand", "Catering"] {
        assert!(
            beta.policies.iter().any(|policy| policy.name.starts_with(&format!("{service}."))),
            "{service}"
        );
    }
    let cart = beta.policy("ShoppingCart.CartsCreate.MemberId").unwrap();
    assert!(
        cart.words.in_language(Language::ZhTw).is_some_and(|words| words.starts_with("目前商品搶購熱烈"))
    );
    let quota = |shop: &str| config.shop(shop).unwrap().routes[0].limits[0].policies[0].limiter.quota();
    assert_eq!((quota("alpha"), quota("beta")), (5, 3), "the shop's list comes first");
}
