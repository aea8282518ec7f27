//! Time zones as edges get them: what their clocks show around this day, in place of their names.

use shared::{
    config::Config,
    limiter::{Policy, zone::Zone},
    time::Timestamp,
};
use std::time::Duration;
use toml::{Table, Value};

/// Whether some policy counts days or months of a zone other than UTC.
pub(super) fn are_named(config: &Config) -> bool {
    let of_shops = config.shops.iter().flat_map(|shop| &shop.policies);
    let mut policies = config.policies.iter().chain(of_shops);
    policies.any(|policy| matches!(policy.limiter, Policy::LongQuota(quota) if quota.zone() != Zone::UTC))
}

/// Replaces each name by its clocks, from before the month that holds `day`.
pub(super) fn tell(file: &mut Table, day: Timestamp) {
    let from = day.saturating_sub(BEFORE);
    tell_policies(file, from);
    let shops = file.get_mut("shop").and_then(Value::as_array_mut).into_iter().flatten();
    for shop in shops.filter_map(Value::as_table_mut) {
        tell_policies(shop, from);
    }
}

fn tell_policies(section: &mut Table, from: Timestamp) {
    let policies = section.get_mut("policy").and_then(Value::as_array_mut).into_iter().flatten();
    for policy in policies.filter_map(Value::as_table_mut) {
        let Some(zone) = policy.get_mut("zone") else { continue };
        if let Some(known) = zone.as_str().and_then(|name| Zone::parse(name).ok()) {
            *zone = Value::from(known.told(from).name().into_owned());
        }
    }
}

/// Longer than a month and a day.
const BEFORE: Duration = Duration::from_hours(33 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 January 2026.
    const DAY: Timestamp = Timestamp::from_millis(1_767_225_600_000);

    fn told(text: &str) -> Table {
        let mut file = toml::from_str(text).unwrap();
        tell(&mut file, DAY);
        file
    }

    #[test]
    fn names_become_clocks_and_all_else_stays() {
        let file = told(
            "[[policy]]\nname = \"a\"\nzone = \"Asia/Taipei\"\n[[policy]]\nname = \"b\"\nzone = \"UTC\"\n\
             [[shop]]\nid = \"s\"\n[[shop.policy]]\nname = \"a\"\nzone = \"America/New_York\"\n",
        );
        let wanted = toml::from_str(
            "[[policy]]\nname = \"a\"\nzone = \"@480\"\n[[policy]]\nname = \"b\"\nzone = \"UTC\"\n\
             [[shop]]\nid = \"s\"\n[[shop.policy]]\nname = \"a\"\n\
             zone = \"@-300;29549220:-240;29891880:-300;30083460:-240\"\n",
        );
        assert_eq!(file, wanted.unwrap());
    }
}
