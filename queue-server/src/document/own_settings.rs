//! A shop's own settings of a policy as the file writes them: a `[[shop.policy]]`.

use super::zones;
use crate::limits::InForce;
use shared::{
    config::{Config, PolicyConfig},
    limiter::{Inheritance, Policy, PolicySettings as Settings, calendar::Calendar},
    time::Timestamp,
};
use toml::{Table, Value};
use tracing::warn;

/// The file with what is in force beside it, as edges read it on `day`; `None` where it cannot be told, and edges go by the file alone.
pub(super) fn written_into(text: &str, in_force: &InForce, day: Timestamp) -> Option<String> {
    let mut file: Table = toml::from_str(text).ok()?;
    for (shop, policy) in in_force.overrides.keys() {
        let Some(own) = in_force.config.shop(shop).and_then(|shop| shop.policy(policy)) else { continue };
        if let Some(table) = table_of(own) {
            put(&mut file, shop, table);
        } else {
            warn!(shop, policy, "no file can say these numbers: edges go by those of the file");
        }
    }
    zones::tell(&mut file, day);
    let text = toml::to_string(&file).ok()?;
    match Config::parse("the configuration with the settings of shops", &text) {
        Ok(_) => Some(text),
        Err(errors) => {
            warn!("edges go by the file alone, because its shops' own settings do not fit it\n{errors}");
            None
        }
    }
}

/// Replaces the shop's own table of that policy, or adds it.
fn put(file: &mut Table, shop_id: &str, table: Table) {
    let shops = file.get_mut("shop").and_then(Value::as_array_mut).into_iter().flatten();
    let is_it = |shop: &&mut Table| shop.get("id").and_then(Value::as_str) == Some(shop_id);
    let Some(shop) = shops.filter_map(Value::as_table_mut).find(is_it) else { return };
    let policies = shop.entry("policy").or_insert_with(|| Value::Array(Vec::new()));
    let Some(policies) = policies.as_array_mut() else { return };
    // Numbers for one SKU are the file's business and stay.
    policies.retain(|policy| policy.get("name") != table.get("name") || policy.get("sku").is_some());
    policies.push(Value::Table(table));
}

/// `None` where the numbers are none that a file may hold.
fn table_of(own: &PolicyConfig) -> Option<Table> {
    let mut table = numbers(&own.limiter)?;
    let inherit = match own.inherit {
        Inheritance::Keep => "keep",
        Inheritance::Proportional => "proportional",
        Inheritance::Reset => "reset",
    };
    for (key, text) in [("name", own.name.as_str()), ("mode", own.mode.name()), ("inherit", inherit)] {
        table.insert(key.to_owned(), Value::from(text));
    }
    Some(table)
}

fn numbers(limiter: &Policy) -> Option<Table> {
    let (algorithm, numbers): (&str, Vec<(&str, Value)>) = match Settings::from(*limiter) {
        Settings::Gcra { burst_capacity, rate, period_us } => {
            let (rate, period) = in_millis(rate, period_us)?;
            ("gcra", vec![("burst_capacity", whole(burst_capacity)?), ("rate", rate), ("period_ms", period)])
        }
        Settings::IntervalBucket { capacity, refill, period_us } => {
            let period = millis(period_us)?;
            (
                "interval_bucket",
                vec![("capacity", whole(capacity)?), ("refill", whole(refill)?), ("period_ms", period)],
            )
        }
        Settings::LeakyQueue { rate, period_us, max_waiting } => {
            let (rate, period) = in_millis(rate, period_us)?;
            ("leaky_queue", vec![("rate", rate), ("period_ms", period), ("max_waiting", whole(max_waiting)?)])
        }
        Settings::FixedWindow { limit, window_us, aligned } => {
            let aligned = ("aligned", Value::Boolean(aligned));
            ("fixed_window", vec![("limit", whole(limit)?), ("window_ms", millis(window_us)?), aligned])
        }
        Settings::SlidingLog { limit, window_us } => {
            ("sliding_log", vec![("limit", whole(limit)?), ("window_ms", millis(window_us)?)])
        }
        Settings::SlidingTwoCounters { limit, window_us } => {
            ("sliding_two_counters", vec![("limit", whole(limit)?), ("window_ms", millis(window_us)?)])
        }
        Settings::SlidingSubWindows { limit, window_us, sub_windows } => {
            let sub_windows = ("sub_windows", whole(sub_windows)?);
            (
                "sliding_sub_windows",
                vec![("limit", whole(limit)?), ("window_ms", millis(window_us)?), sub_windows],
            )
        }
        Settings::Lockout { max, window_us, lock_us } => (
            "lockout",
            vec![("max", whole(max)?), ("window_ms", millis(window_us)?), ("lock_ms", millis(lock_us)?)],
        ),
        Settings::LongQuota { limit, calendar, zone } => {
            let per = if calendar == Calendar::Day { "day" } else { "month" };
            (
                "long_quota",
                vec![("limit", whole(limit)?), ("per", Value::from(per)), ("zone", Value::from(zone))],
            )
        }
        Settings::Concurrency { permits, life_us } => {
            ("concurrency", vec![("permits", whole(permits)?), ("life_ms", millis(life_us)?)])
        }
    };
    let numbers = numbers.into_iter().map(|(key, value)| (key.to_owned(), value));
    Some(numbers.chain([("algorithm".to_owned(), Value::from(algorithm))]).collect())
}

/// A rate in lowest terms may have a period of fewer microseconds than a file can say: then it is told of more.
fn in_millis(rate: u64, period_us: u64) -> Option<(Value, Value)> {
    let times = (1..=MICROS_PER_MS)
        .find(|times| period_us.checked_mul(*times).is_some_and(|us| us.is_multiple_of(MICROS_PER_MS)))?;
    Some((whole(rate.checked_mul(times)?)?, millis(period_us.checked_mul(times)?)?))
}

fn millis(us: u64) -> Option<Value> {
    us.is_multiple_of(MICROS_PER_MS).then_some(us / MICROS_PER_MS).and_then(whole)
}

fn whole(number: u64) -> Option<Value> {
    u32::try_from(number).ok().map(Value::from)
}

const MICROS_PER_MS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[site]\npublic_url = \"http://localhost:8700\"\n[edge]\nqueue_server = \"http://127.0.0.1:8701\"\n\
        [[shop]]\nid = \"alpha\"\nhosts = [\"localhost:8700\"]\norigin = \"http://127.0.0.1:8702\"\n\
        [[policy]]\nname = \"p\"\nkey = \"device\"\n";

    #[test]
    fn every_algorithm_is_read_as_it_was_written() {
        for numbers_in_file in [
            "burst_capacity = 5\nrate = 1_000_000\nperiod_s = 1",
            "burst_capacity = 5\nrate = 3\nperiod_ms = 7",
            "algorithm = \"interval_bucket\"\ncapacity = 9\nrefill = 3\nperiod_s = 2",
            "algorithm = \"leaky_queue\"\nrate = 2\nperiod_s = 1\nmax_waiting = 4",
            "algorithm = \"fixed_window\"\nlimit = 7\nwindow_s = 60\naligned = true",
            "at_most = 12\nwindow_s = 60",
            "at_most = 60\nwindow_s = 60",
            "algorithm = \"sliding_two_counters\"\nlimit = 7\nwindow_s = 60",
            "lockout = \"true|3|1|30\"",
            "algorithm = \"long_quota\"\nlimit = 5\nper = \"month\"\nzone = \"Asia/Taipei\"",
            "algorithm = \"concurrency\"\npermits = 2\nlife_s = 30",
        ] {
            let config = Config::parse("f", &format!("{FILE}{numbers_in_file}\n")).unwrap();
            let policy = config.shop("alpha").and_then(|shop| shop.policy("p")).unwrap();
            let mut table = numbers(&policy.limiter).unwrap();
            table.insert("name".to_owned(), Value::from("p"));
            table.insert("key".to_owned(), Value::from("device"));
            let mut file: Table = toml::from_str(FILE).unwrap();
            file.insert("policy".to_owned(), Value::Array(vec![Value::Table(table)]));
            let again = Config::parse("f", &toml::to_string(&file).unwrap()).unwrap();
            assert_eq!(again.shops, config.shops, "{numbers_in_file}");
        }
    }
}
