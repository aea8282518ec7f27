//! What a configuration asks for, in words: `fairgate check` and `fairgate size`.

use anyhow::{Context, Result};
use shared::{
    config::{Callers, Config, CoverageKind, RouteCoverage, StoreConfig, policy_changes},
    http::cookie::CookieMode,
    limiter::sizing::Sizing,
};
use std::{fmt::Write, time::Duration};

/// The whole configuration: parts, events, then each route with what limits it, and each with nothing.
pub fn report(config: &Config) -> String {
    let mut report = String::new();
    for line in parts(config).into_iter().chain(events(config)) {
        // Writing into a String cannot fail.
        let _ = writeln!(report, "{line}");
    }
    let coverage = config.coverage();
    for route in &coverage {
        let _ = writeln!(report, "{route}");
    }
    let _ = write!(report, "{}\n{}", callers(&config.callers), summary(&coverage));
    report
}

/// What becomes of counted state when `new` takes the place of `old`.
pub fn changes(old: &Config, new: &Config) -> String {
    let changes = policy_changes(old, new);
    if changes.is_empty() {
        return "No limit changes: everything that was counted stays.".to_owned();
    }
    let lines: Vec<String> = changes.iter().map(|change| format!("  {change}")).collect();
    format!("Limits that change:\n{}", lines.join("\n"))
}

/// What a pool bears, and the limits that leave it room.
pub fn sizing(pool: u32, work_ms: u64) -> Result<String> {
    let sizing = Sizing::of_pool(pool, Duration::from_millis(work_ms))
        .context("a pool has at least one place, a request takes at least 1 ms, and one a second must fit")?;
    let Sizing { most_per_s, rate_per_s, window_per_s } = sizing;
    Ok(format!(
        "{pool} places at {work_ms} ms each bear {most_per_s} requests a second, every place busy all the time.\n\
         Limit to {}-{} a second (50-60 %) with GCRA, a bucket or a sliding window, and keep the burst below {pool}.\n\
         With fixed windows take {}-{} a second (60-70 %) as the limit; twice as many may come around a boundary.",
        rate_per_s.start(),
        rate_per_s.end(),
        window_per_s.start(),
        window_per_s.end(),
    ))
}

fn parts(config: &Config) -> Vec<String> {
    let site = &config.site;
    let cookies = match site.cookie_mode {
        CookieMode::Development => "development cookies",
        CookieMode::Host | CookieMode::Domain(_) => "production cookies",
    };
    let mut lines = vec![
        format!(
            "Buyers reach the edge at {}; Fairgate's own calls lie under {} ({cookies}).",
            site.public_url, site.prefix
        ),
        format!(
            "The queue server listens on {} and keeps its data in {}.",
            config.server.listen, config.server.data_dir
        ),
    ];
    lines.push(store(&config.server.store));
    let shops = config.shops.iter();
    lines
        .extend(shops.map(|shop| format!("Shop {}: {} at {}.", shop.id, shop.hosts.join(", "), shop.origin)));
    lines
}

fn store(store: &StoreConfig) -> String {
    let StoreConfig::Redis(redis) = store else {
        return "Rooms are kept on its disk, so it is the only queue server.".to_owned();
    };
    let replicas = match redis.replicas {
        0 => "no replica is waited for: a failover of Redis together with the death of the leading server may lose the last moment".to_owned(),
        replicas => format!("{replicas} replicas have each change before its answer leaves"),
    };
    format!(
        "Rooms are kept in Redis at {}, keys begin with {}1:, a commit may take {} ms; {replicas}. Any number of queue servers \
         may run; one leads.",
        redis.url.as_deref().unwrap_or("the URL of FAIRGATE_STORE_URL"),
        redis.prefix,
        redis.budget.as_millis(),
    )
}

fn events(config: &Config) -> Vec<String> {
    let event = |event: &shared::config::EventConfig| {
        format!(
            "Event {} of shop {}: {} SKUs, at most {} buyers inside, at most {} let in per second; a turn waits {} s, \
             a pass lives {} s, a session at most {} s.",
            event.id,
            event.shop_id,
            event.skus.len(),
            event.capacity,
            event.admission_rate_per_s,
            event.turn_grace.as_secs(),
            event.pass_life.as_secs(),
            event.session_max.as_secs(),
        )
    };
    config.events.iter().map(event).collect()
}

fn callers(callers: &Callers) -> String {
    let by_plan = callers.clients.iter().filter(|client| client.plan.is_some()).count();
    let bypassed = callers.clients.iter().filter(|client| client.is_bypassed).count();
    format!(
        "{} API clients, {by_plan} with a plan. All limits are passed by for {} networks, {} internal tokens and \
         {bypassed} API clients; no gate opens for them.",
        callers.clients.len(),
        callers.bypassed_networks.prefixes().len(),
        callers.bypass_tokens(),
    )
}

fn summary(coverage: &[RouteCoverage]) -> String {
    let is_open = |route: &&RouteCoverage| route.kind != CoverageKind::Bypassed && !route.is_limited;
    let open: Vec<String> = coverage
        .iter()
        .filter(is_open)
        .map(|route| format!("{} {}", route.shop_id, route.route_id.as_deref().unwrap_or("everything else")))
        .collect();
    if open.is_empty() {
        return "Every route that is not bypassed is limited.".to_owned();
    }
    format!("Limited by nothing: {}.", open.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: &str = include_str!("../../tests/demo/fairgate.toml");

    fn demo(old: &str, new: &str) -> Config {
        assert!(DEMO.contains(old), "{old}");
        Config::parse("fairgate.toml", &DEMO.replace(old, new)).unwrap_or_else(|errors| panic!("{errors}"))
    }

    #[test]
    fn each_route_is_told_with_what_limits_it_and_each_with_nothing() {
        let report = report(&demo("", ""));
        let gated = "alpha POST /api/cart/items: needs a pass\n  - device: each device: 10 at once, then 5 each 1 s; \
                     in any 1 s at most 15.";
        assert!(report.contains(gated), "{report}");
        assert!(report.contains("alpha /health: bypassed: goes to the shop uncounted"), "{report}");
        assert!(
            report.ends_with("Limited by nothing: alpha everything else; beta everything else."),
            "{report}"
        );
    }

    #[test]
    fn a_reload_says_what_becomes_of_what_was_counted() {
        let (old, new) =
            (demo("", ""), demo("burst_capacity = 200\nrate = 100", "burst_capacity = 20\nrate = 10"));
        assert_eq!(changes(&old, &old), "No limit changes: everything that was counted stays.");
        let words = "ip has other numbers; what a key has in use stays in use";
        assert_eq!(changes(&old, &new), format!("Limits that change:\n  alpha: {words}\n  beta: {words}"));
    }

    #[test]
    fn a_pool_says_which_limits_leave_it_room() {
        let words = sizing(60, 50).unwrap_or_default();
        assert!(words.starts_with("60 places at 50 ms each bear 1200 requests a second"), "{words}");
        assert!(
            words.contains("600-720 a second (50-60 %)") && words.contains("720-840 a second (60-70 %)"),
            "{words}"
        );
        assert!(sizing(0, 50).is_err() && sizing(60, 0).is_err() && sizing(1, 1001).is_err());
    }
}
