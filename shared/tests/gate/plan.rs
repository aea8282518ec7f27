//! The stages of a request: which home is asked for what, what a shadow does, and what is given back.

use crate::fixtures::buyer;
use shared::config::{ClientConfig, Config, RouteConfig, ShopConfig};
use shared::gate::{Buyer, Home, Ledger, Limit, Plan, Stage, Subject, by_home, judge, refused_already};
use shared::http::ratelimit::LimitFields;
use shared::http::reason::Reason;
use shared::http::sku::Sku;
use shared::limiter::check::CheckRequest;
use shared::limiter::key::TableSeed;
use shared::limiter::table::LimiterTable;
use shared::limiter::{Decision, Inheritance};
use shared::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// Policies `p-<key>` of these keys and one mode, on a gated route that names `limits`.
fn config(limits: &str, keys: &[&str], more: &str) -> Config {
    let text = config_text(limits, keys, more);
    Config::parse("f", &text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn config_text(limits: &str, keys: &[&str], more: &str) -> String {
    let mut text = format!(
        "[site]\npublic_url = \"https://s.example\"\nlimits = [{}]\n[edge]\nqueue_server = \"https://q.example\"\n\
         [[shop]]\nid = \"alpha\"\nhosts = [\"s.example\"]\norigin = \"https://o.example\"\n\
         [[shop.route]]\nmethods = [\"POST\"]\npath = \"/cart/{{sku}}\"\nsku = {{ path = \"sku\" }}\nlimits = {limits}\n\
         [[shop.route]]\nmethods = [\"POST\"]\npath = \"/other/{{id}}\"\nlimits = {}\n",
        if keys.contains(&"site") { "\"p-site\"" } else { "" },
        if keys.contains(&"sku") { "[]" } else { limits }
    );
    for key in keys {
        let parts: Vec<String> = key.split('+').map(|part| format!("\"{part}\"")).collect();
        let (name, parts) = (key.replace('+', "-"), parts.join(", "));
        text += "[[policy]]\nburst_capacity = 2\nrate = 1\nperiod_s = 60\n";
        text.extend(["name = \"p-", &name, "\"\nkey = [", &parts, "]\n", more, "\n"]);
    }
    text
}

fn route(config: &Config) -> (&ShopConfig, &RouteConfig) {
    (&config.shops[0], &config.shops[0].routes[0])
}

/// All limits of one request, stage by stage.
fn stages<'c>(config: &'c Config, who: &Buyer<'c>, sku: &'c Sku) -> [Vec<Limit<'c>>; 3] {
    let (shop, route) = route(config);
    let plan = Plan::of_request(shop, Some(route), who);
    let subject = Subject { sku: Some(sku.clone()), ..who.subject(shop, Some(route)) };
    Stage::ALL.map(|stage| plan.limits(stage, &subject))
}

fn names(limits: &[Limit<'_>]) -> Vec<String> {
    limits.iter().map(|limit| limit.name.to_owned()).collect()
}

fn sku() -> Sku {
    Sku::parse("A-1").unwrap()
}

const DENIED: Option<Decision> = Some(Decision::Denied {
    remaining: 0,
    retry_after: Some(Duration::from_secs(1)),
    reset_after: Duration::from_secs(2),
});
const ALLOWED: Option<Decision> =
    Some(Decision::Allowed { remaining: 1, reset_after: Duration::ZERO, delay: Duration::ZERO });

#[test]
fn personal_keys_come_first_and_those_of_the_shop_share_one_home() {
    let keys = ["device", "ip", "shop", "sku", "route", "device+sku", "ip+route"];
    let limits = r#"["p-device", "p-ip", "p-shop", "p-sku", "p-route", "p-device-sku", "p-ip-route"]"#;
    let (config, sku) = (config(limits, &keys, ""), sku());
    let stages = stages(&config, &buyer("192.0.2.1", Some(1)), &sku);
    assert_eq!(names(&stages[0]), ["p-device", "p-ip", "p-ip-route"]);
    assert_eq!(names(&stages[1]), ["p-shop", "p-sku", "p-route", "p-device-sku"]);
    assert_eq!(by_home(&stages[0]).len(), 2, "one call for the device, one for the address");
    let shop = by_home(&stages[1]);
    assert_eq!((shop.len(), shop[0].home, shop[0].checks.len()), (1, Home::Shop("alpha"), 1), "all or none");
    assert!(stages[2].is_empty());
}

#[test]
fn the_site_is_asked_last_and_by_itself() {
    let (config, sku) = (config(r#"["p-shop"]"#, &["shop", "site"], ""), sku());
    let stages = stages(&config, &buyer("192.0.2.1", None), &sku);
    assert_eq!(
        stages.each_ref().map(|stage| names(stage)),
        [vec![], vec!["p-shop".to_owned()], vec!["p-site".to_owned()]]
    );
    assert_eq!(stages[2][0].home, Home::Site);
}

#[test]
fn a_policy_that_is_off_asks_no_home() {
    let (config, sku) = (config(r#"["p-device", "p-shop"]"#, &["device", "shop"], "mode = \"off\""), sku());
    assert!(stages(&config, &buyer("192.0.2.1", Some(1)), &sku).iter().all(Vec::is_empty));
    let (shop, route) = route(&config);
    assert!(!Plan::may_limit(&config, shop, Some(route)));
}

#[test]
fn who_bypasses_asks_no_home() {
    let (config, sku) = (config(r#"["p-device", "p-shop"]"#, &["device", "shop"], ""), sku());
    let who = Buyer { is_bypassed: true, ..buyer("192.0.2.1", Some(1)) };
    assert!(stages(&config, &who, &sku).iter().all(Vec::is_empty));
}

#[test]
fn a_shadow_is_asked_by_itself_and_refuses_nobody() {
    let (config, sku) = (config(r#"["p-shop", "p-sku"]"#, &["shop", "sku"], "mode = \"shadow\""), sku());
    let limits = &stages(&config, &buyer("192.0.2.1", None), &sku)[1];
    let calls = by_home(limits);
    assert_eq!((calls.len(), calls[0].checks.len()), (1, 2), "one call, and neither spoils the other");
    let verdict = judge(LimitFields::default(), limits, &[DENIED, ALLOWED]);
    assert_eq!((verdict.refusal, verdict.would_refuse), (None, vec!["p-shop"]));
    assert_eq!(verdict.fields.rate_limit, "", "a client learns nothing of a shadow");
    assert_eq!(refused_already(LimitFields::default(), limits, &[DENIED, DENIED]), None);
}

#[test]
fn a_home_that_does_not_answer_refuses_only_where_the_policy_is_closed() {
    let reason = |more: &str| {
        let (config, sku) = (config(r#"["p-shop"]"#, &["shop"], more), sku());
        let limits = &stages(&config, &buyer("192.0.2.1", None), &sku)[1];
        let verdict = judge(LimitFields::default(), limits, &[None]);
        assert_eq!(
            refused_already(LimitFields::default(), limits, &[None]),
            None,
            "not asked yet is not unanswered"
        );
        (verdict.refusal.map(|bound| bound.reason), verdict.unanswered)
    };
    assert_eq!(reason("on_store_failure = \"closed\""), (Some(Reason::LimiterUnavailable), 0));
    assert_eq!(reason("on_store_failure = \"open\""), (None, 1));
    assert_eq!(reason(""), (None, 1));
}

#[test]
fn a_refusal_is_called_by_what_is_busy() {
    let reason = |key: &str| {
        let limits = format!("[\"p-{key}\"]");
        let (config, sku) = (config(&limits, &[key], ""), sku());
        let stages = stages(&config, &buyer("192.0.2.1", Some(1)), &sku);
        let stage = stages.iter().find(|stage| !stage.is_empty()).unwrap();
        judge(LimitFields::default(), stage, &[DENIED]).refusal.unwrap().reason
    };
    assert_eq!(reason("device"), Reason::RateLimited);
    assert_eq!(reason("shop"), Reason::ShopBusy);
    assert_eq!(reason("route"), Reason::ShopBusy);
    assert_eq!(reason("sku"), Reason::SkuBusy);
}

#[test]
fn a_member_who_is_not_known_counts_by_device_and_then_by_address() {
    let config = config(r#"["p-member"]"#, &["member"], "");
    let (shop, route) = route(&config);
    let found = |member: Option<&'static str>, device: Option<u8>| {
        let who = buyer("192.0.2.1", device);
        let subject = Subject { member: member.map(str::to_owned), ..who.subject(shop, Some(route)) };
        let limits = Plan::of_request(shop, Some(route), &who).limits(Stage::Personal, &subject);
        (limits[0].home.to_string().split('-').next().unwrap().to_owned(), limits[0].charge.key)
    };
    let kinds = [found(Some("ann"), Some(1)), found(None, Some(1)), found(None, None)];
    assert_eq!(kinds.each_ref().map(|(kind, _)| kind.as_str()), ["member", "device", "ip"]);
    assert_ne!(kinds[0].1, found(Some("bob"), Some(1)).1);
    assert_eq!(kinds[0].1, found(Some("ann"), Some(2)).1, "a member is the same on every device");
    // A member may be named like the bytes of a device, and is still another key.
    let device_bytes = std::str::from_utf8(&[1; 16]).unwrap();
    assert_ne!(found(Some(device_bytes), None).1, kinds[1].1);
    let long: &'static str = "x".repeat(65).leak();
    assert_eq!(found(Some(long), None).1, kinds[2].1, "no member has so long a name");
}

#[test]
fn the_first_whose_key_is_known_applies() {
    let config = config(r#"[["p-member", "p-device"], "p-ip"]"#, &["member", "device", "ip"], "");
    let (shop, route) = route(&config);
    let of = |member: Option<&'static str>, device: Option<u8>| {
        let who = buyer("192.0.2.1", device);
        let subject = Subject { member: member.map(str::to_owned), ..who.subject(shop, Some(route)) };
        names(&Plan::of_request(shop, Some(route), &who).limits(Stage::Personal, &subject))
    };
    assert_eq!(of(Some("ann"), Some(1)), ["p-member", "p-ip"]);
    assert_eq!(of(None, Some(1)), ["p-device", "p-ip"]);
    assert_eq!(of(None, None), ["p-ip"]);
}

#[test]
fn the_pattern_is_in_the_key_and_the_raw_path_is_not() {
    // L88, L89: every spelling and every code of one route is one key, and another route is another.
    use shared::http::route::{RequestLine, RouteTarget, find};
    let config = config(r#"["p-ip-route"]"#, &["ip+route"], "");
    let key = |path: &str| {
        let line = RequestLine { method: "POST", host: "s.example", path };
        let found = find(&config, &line).unwrap();
        let route = match found.target {
            RouteTarget::Gated { route, .. } | RouteTarget::Limited(route) => route,
            other => panic!("{path}: {other:?}"),
        };
        let who = buyer("192.0.2.1", None);
        let subject = who.subject(found.shop, Some(route));
        Plan::of_request(found.shop, Some(route), &who).limits(Stage::Personal, &subject)[0].charge.key
    };
    let other = key("/other/1");
    for path in ["/other/2", "//other/1", "/OTHER/1/", "/other/./1", "/%6fther/3", "/other/1;x=1"] {
        assert_eq!(key(path), other, "{path}");
    }
    assert_ne!(key("/cart/1"), other);
}

/// Homes of a test, each a table, asked as a host asks them.
#[derive(Default)]
struct Homes {
    tables: BTreeMap<String, LimiterTable>,
}

impl Homes {
    fn table(&mut self, home: Home<'_>) -> &mut LimiterTable {
        self.tables.entry(home.to_string()).or_insert_with(|| LimiterTable::new(64, TableSeed([0; 16])))
    }

    fn ask(&mut self, limits: &[Limit<'_>]) -> Vec<Option<Decision>> {
        let mut decisions = vec![None; limits.len()];
        for call in by_home(limits) {
            for check in &call.checks {
                let reply =
                    self.table(call.home).check(&check.request(limits).unwrap(), Timestamp::default());
                for (index, decision) in check.indices.iter().zip(reply.decisions) {
                    decisions[*index] = Some(decision);
                }
            }
        }
        decisions
    }

    /// What a key has left.
    fn left(&mut self, limit: &Limit<'_>) -> u64 {
        let peek =
            CheckRequest::new(vec![shared::limiter::check::Charge { cost: 0, ..limit.charge }]).unwrap();
        self.table(limit.home).check(&peek, Timestamp::default()).decisions[0].remaining()
    }
}

#[test]
fn a_later_refusal_gives_back_what_was_taken_before() {
    // L102, L103: the shop is full, so the buyer's own quota is whole afterwards.
    let (config, sku) = (config(r#"["p-device", "p-ip", "p-shop"]"#, &["device", "ip", "shop"], ""), sku());
    let who = |device: u8| buyer("192.0.2.1", Some(device));
    let mut homes = Homes::default();
    let first = stages(&config, &who(1), &sku);
    for _ in 0..2 {
        assert!(homes.ask(&first[1])[0].unwrap().is_allowed(), "others fill the shop");
    }
    let own = stages(&config, &who(2), &sku);
    let mut ledger = Ledger::default();
    let decisions = homes.ask(&own[0]);
    ledger.note(&own[0], &decisions, Timestamp::default());
    assert_eq!((homes.left(&own[0][0]), homes.left(&own[0][1])), (1, 1));
    let refused = homes.ask(&own[1]);
    ledger.note(&own[1], &refused, Timestamp::default());
    assert!(judge(LimitFields::default(), &own[1], &refused).refusal.is_some());
    for (home, refunds) in ledger.refunds() {
        for refund in refunds {
            homes.table(home).refund(&refund.charge, refund.taken_at, Timestamp::default());
        }
    }
    assert_eq!((homes.left(&own[0][0]), homes.left(&own[0][1])), (2, 2));
    assert_eq!(homes.left(&own[1][0]), 0, "what was not taken is not given back");
}

#[test]
fn twenty_refused_callers_cost_the_shop_nothing() {
    // L100: one caller's own limit refuses nineteen of twenty, and the shop's quota is spent twice at most.
    let (config, sku) = (config(r#"["p-ip", "p-shop"]"#, &["ip", "shop"], ""), sku());
    let who = buyer("192.0.2.1", None);
    let limits = stages(&config, &who, &sku);
    let mut homes = Homes::default();
    let mut passed = 0;
    for _ in 0..20 {
        if judge(LimitFields::default(), &limits[0], &homes.ask(&limits[0])).refusal.is_none() {
            passed += 1;
            homes.ask(&limits[1]);
        }
    }
    assert_eq!((passed, homes.left(&limits[1][0])), (2, 0));
}

#[test]
fn a_check_of_a_home_that_was_refused_or_silent_took_nothing() {
    let (config, sku) = (config(r#"["p-shop", "p-sku"]"#, &["shop", "sku"], ""), sku());
    let limits = &stages(&config, &buyer("192.0.2.1", None), &sku)[1];
    let taken = |decisions: &[Option<Decision>]| {
        let mut ledger = Ledger::default();
        ledger.note(limits, decisions, Timestamp::default());
        ledger.refunds().values().map(Vec::len).sum::<usize>()
    };
    assert_eq!(taken(&[ALLOWED, ALLOWED]), 2);
    assert_eq!(taken(&[ALLOWED, DENIED]), 0, "all or none");
    assert_eq!(taken(&[ALLOWED, None]), 0, "nobody knows");
}

#[test]
fn a_charge_says_how_its_key_inherits() {
    let (config, sku) = (config(r#"["p-shop"]"#, &["shop"], "inherit = \"reset\""), sku());
    let limits = &stages(&config, &buyer("192.0.2.1", None), &sku)[1];
    assert_eq!(limits[0].charge.inheritance, Inheritance::Reset);
}

#[test]
fn a_reload_changes_live_keys_at_once_and_frees_nobody() {
    // L125, L126, L128: the same file again, a lower and a higher limit, and a reset that is asked for.
    let sku = sku();
    let who = buyer("192.0.2.1", None);
    let mut homes = Homes::default();
    let mut passes = |numbers: &str, more: &str| {
        let text = "burst_capacity = 2\nrate = 1\nperiod_s = 60\n";
        let keys = config_text(r#"["p-shop"]"#, &["shop"], more).replace(text, &format!("{numbers}\n"));
        let config = Config::parse("f", &keys).unwrap();
        homes.ask(&stages(&config, &who, &sku)[1])[0].unwrap().is_allowed()
    };
    let two = "burst_capacity = 2\nrate = 1\nperiod_s = 60";
    assert!(passes(two, "") && passes(two, ""));
    for _ in 0..10 {
        assert!(!passes(two, ""), "a reload without a change fills nothing");
    }
    let raised = "burst_capacity = 3\nrate = 1\nperiod_s = 60";
    assert!(passes(raised, "") && !passes(raised, ""), "two of three were in use");
    assert!(!passes("burst_capacity = 1\nrate = 1\nperiod_s = 60", ""), "lowered: it binds at once");
    let reset = "burst_capacity = 2\nrate = 1\nperiod_s = 60";
    assert!(passes(reset, "inherit = \"reset\"") && passes(reset, "inherit = \"reset\""));
    assert!(!passes(reset, "inherit = \"reset\""), "a reset is done once");
}

#[test]
fn a_clients_plan_comes_on_top_in_the_shops_that_it_may_call() {
    let hash = "0".repeat(64);
    let clients = format!(
        "[[plan]]\nname = \"basic\"\nlimits = [\"p-client\"]\n\
         [[client]]\nid = \"one\"\nkey_sha256 = [\"{hash}\"]\nplan = \"basic\"\n"
    );
    let text = config_text(r#"["p-ip"]"#, &["ip", "client"], "") + &clients;
    let config = Config::parse("f", &text).unwrap();
    let (shop, route) = route(&config);
    let of = |client: &ClientConfig, route: Option<&RouteConfig>| {
        let who = Buyer { client: Some(client), ..buyer("192.0.2.1", None) };
        names(&Plan::of_request(shop, route, &who).limits(Stage::Personal, &who.subject(shop, route)))
    };
    let one = &config.callers.clients[0];
    assert_eq!(of(one, Some(route)), ["p-client", "p-ip"]);
    assert_eq!(of(one, None), ["p-client"], "a plan holds where no route matches too");
    assert!(Plan::may_limit(&config, shop, None));
    let elsewhere = ClientConfig { shop_id: Some("beta".to_owned()), ..one.clone() };
    assert_eq!(of(&elsewhere, Some(route)), ["p-ip"]);
}
