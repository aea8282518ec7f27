//! The clocks of a zone as a host tells them that has its rules: how far from UTC they are, and when that changes next.
//! Enough for the calendar of the days around, and small enough for a host without the rules.

use core::fmt;

/// `@480`, or with up to three changes `@-300;29549220:-240`: minutes east of UTC, and since 1970. As small as it is because
/// a policy holds it, and every key's charge a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToldClock {
    /// Minutes since 1970, in their order; those that are not needed are at the end of time.
    changes_min: [u32; CHANGES_TOLD],
    /// Before the first change, and after each.
    offsets: [Quarters; CHANGES_TOLD + 1],
}

/// Quarters of an hour east of UTC: no zone has had anything finer since 1972.
type Quarters = i8;

/// Two a year are usual; a zone that rests its summer time for a month has four.
const CHANGES_TOLD: usize = 3;

impl ToldClock {
    /// Never changes, and shows UTC.
    pub(super) const UTC: Self =
        Self { changes_min: [u32::MAX; CHANGES_TOLD], offsets: [0; CHANGES_TOLD + 1] };

    /// What the clocks show from the first moment on, and after each change; `None` where this form cannot say it.
    fn new(first_min: i64, changes: impl Iterator<Item = (u32, i64)>) -> Option<Self> {
        let mut clock = Self { offsets: [quarters(first_min)?; CHANGES_TOLD + 1], ..Self::UTC };
        let mut before_min = 0;
        let [_, offsets @ ..] = &mut clock.offsets;
        for ((place, offset), (at_min, to_min)) in clock.changes_min.iter_mut().zip(offsets).zip(changes) {
            (*place, *offset) = (Some(at_min).filter(|at| *at > before_min)?, quarters(to_min)?);
            before_min = at_min;
        }
        Some(clock)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix('@')?.split(';');
        let first_min = parts.next()?.parse().ok()?;
        let change = |part: &str| {
            let (at, to) = part.split_once(':')?;
            Some((at.parse().ok()?, to.parse().ok()?))
        };
        let changes: Vec<(u32, i64)> = parts.map(change).collect::<Option<_>>()?;
        if changes.len() > CHANGES_TOLD {
            return None;
        }
        Self::new(first_min, changes.into_iter())
    }

    /// A zone's own rules from a moment on.
    #[cfg(feature = "zones")]
    pub(super) fn of(
        from_us: i64,
        offset_us: impl Fn(i64) -> i64,
        next_change_us: impl Fn(i64) -> Option<i64>,
    ) -> Option<Self> {
        let minutes = |us: i64| us.div_euclid(MINUTE_US);
        let moments = core::iter::successors(next_change_us(from_us), |at_us| next_change_us(*at_us));
        let changes = moments.map_while(|at_us| {
            let at_min = u32::try_from(minutes(at_us)).ok().filter(|at| *at < u32::MAX)?;
            Some((at_min, minutes(offset_us(at_us))))
        });
        Self::new(minutes(offset_us(from_us)), changes.take(CHANGES_TOLD))
    }

    pub(super) fn offset_us(&self, moment_us: i64) -> i64 {
        let [first, ..] = self.offsets;
        let last = self.changes().take_while(|(at_us, _)| *at_us <= moment_us).last();
        minutes_of(last.map_or(first, |(_, offset)| offset)).saturating_mul(MINUTE_US)
    }

    pub(super) fn next_change_us(&self, after_us: i64) -> Option<i64> {
        self.changes().map(|(at_us, _)| at_us).find(|at_us| *at_us > after_us)
    }

    fn changes(&self) -> impl Iterator<Item = (i64, Quarters)> {
        let known = self.changes_min.into_iter().zip(self.offsets.into_iter().skip(1));
        let known = known.filter(|(at_min, _)| *at_min < u32::MAX);
        known.map(|(at_min, offset)| (i64::from(at_min).saturating_mul(MINUTE_US), offset))
    }
}

impl fmt::Display for ToldClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, ..] = self.offsets;
        write!(f, "@{}", minutes_of(first))?;
        for (at_us, offset) in self.changes() {
            write!(f, ";{}:{}", at_us.div_euclid(MINUTE_US), minutes_of(offset))?;
        }
        Ok(())
    }
}

fn quarters(minutes: i64) -> Option<Quarters> {
    let whole = minutes.rem_euclid(QUARTER_MIN) == 0 && minutes.unsigned_abs() < OFFSET_MIN_MAX;
    Quarters::try_from(minutes.div_euclid(QUARTER_MIN)).ok().filter(|_| whole)
}

fn minutes_of(offset: Quarters) -> i64 {
    i64::from(offset).saturating_mul(QUARTER_MIN)
}

/// 26 hours, which no clock differs from UTC.
const OFFSET_MIN_MAX: u64 = 26 * 60;
const QUARTER_MIN: i64 = 15;
const MINUTE_US: i64 = 60_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_as_it_was_written() {
        for text in
            ["@0", "@480", "@-210", "@-300;29549220:-240", "@-300;29549220:-240;29891880:-300;30083460:-240"]
        {
            assert_eq!(ToldClock::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "480",
            "@",
            "@1560",
            "@-1560",
            "@0;5",
            "@0;9:60;9:0",
            "@0;1:0;2:0;3:0;4:0",
            "@x",
            "@0;-1:0",
            "@7",
        ] {
            assert_eq!(ToldClock::parse(text), None, "{text}");
        }
    }

    #[test]
    fn clocks_change_at_their_moments() {
        let clock = ToldClock::parse("@-300;100:-240;200:-300").unwrap();
        let hours = |minute: i64| clock.offset_us(minute * MINUTE_US) / MINUTE_US;
        assert_eq!([0, 99, 100, 199, 200, 999].map(hours), [-300, -300, -240, -240, -300, -300]);
        let next = |minute: i64| clock.next_change_us(minute * MINUTE_US).map(|us| us / MINUTE_US);
        assert_eq!([0, 99, 100, 199, 200].map(next), [Some(100), Some(100), Some(200), Some(200), None]);
    }
}
