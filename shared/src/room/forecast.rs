//! What the past says of those who are called: how many come, and when.

use super::{
    Fault, PPM, Planted,
    cohorts::Part,
    facts::{Facts, LaneFacts},
};

/// What the past says about one lane: a share in ppm, and people in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forecast {
    /// Share of those who come when they are called next.
    pub(super) show_up_ppm: u64,
    /// The same of all who wait.
    pub(super) line_show_up_ppm: u64,
    /// The same of those of whom nothing was heard yet, and of the others.
    pub(super) comes_ppm: [u64; 2],
    /// Called buyers still expected.
    pub(super) pending_micro: u64,
    /// Called numbers that may still come, whether or not they are expected to.
    pub(super) open_micro: u64,
    /// Arrivals expected within the coming second.
    pub(super) next_second_micro: u64,
}

/// Those of one cohort who have not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Missing {
    people: u64,
    /// Share of the cohort that comes at all.
    all_ppm: u64,
    /// Share of it that should have come by now.
    due_ppm: u64,
    /// The same a second later.
    due_next_ppm: u64,
}

/// So few come at least, so this many calls bring one redemption at most: ten.
pub(super) const SHOW_UP_MIN_PPM: u64 = 100_000;

impl Forecast {
    /// Of a lane of whose people so many are supposed to come as long as nothing is seen of them.
    pub(super) fn of(facts: &Facts, lane: &LaneFacts, supposed_ppm: u64, planted: Planted) -> Self {
        let shares = [false, true].map(|heard| lane.come_within_ppm(heard, supposed_ppm));
        let [unheard, heard] = &shares;
        let of = |is_heard: bool| if is_heard { heard } else { unheard };
        let comes = |is_heard| of(is_heard).last().copied().unwrap_or(PPM);
        let mixed = |permille: u16| {
            let permille = u64::from(permille);
            let all = comes(true).saturating_mul(permille);
            let all = all.saturating_add(comes(false).saturating_mul(1_000_u64.saturating_sub(permille)));
            all.checked_div(1_000).unwrap_or(PPM).clamp(SHOW_UP_MIN_PPM, PPM)
        };
        let mut forecast = Self {
            show_up_ppm: mixed(lane.next_heard_permille),
            line_show_up_ppm: mixed(lane.line_heard_permille),
            comes_ppm: [false, true].map(comes),
            pending_micro: 0,
            open_micro: 0,
            next_second_micro: 0,
        };
        for cohort in &lane.cohorts {
            let age_s = facts.at.up.saturating_sub(cohort.called_at.up).as_secs();
            let age_s = if planted.has(Fault::GhostsAwaited) { 0 } else { age_s };
            for heard in [false, true] {
                forecast.add(&Missing::of(cohort.part(heard), age_s, of(heard)));
            }
        }
        forecast
    }

    fn add(&mut self, missing: &Missing) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.pending_micro, missing.still_to_come_micro(missing.all_ppm));
        add(&mut self.next_second_micro, missing.still_to_come_micro(missing.due_next_ppm));
        let open = missing.people.saturating_mul(missing.all_ppm.saturating_sub(missing.due_ppm));
        let all_ppm = missing.all_ppm.max(SHOW_UP_MIN_PPM);
        add(&mut self.open_micro, open.saturating_mul(PPM).checked_div(all_ppm).unwrap_or(0));
    }
}

impl Missing {
    fn of(part: Part, age_s: u64, shares: &[u64]) -> Self {
        let all_ppm = shares.last().copied().unwrap_or(PPM);
        let within =
            |age_s: u64| shares.get(usize::try_from(age_s).unwrap_or(usize::MAX)).copied().unwrap_or(all_ppm);
        Self {
            people: u64::from(part.called.saturating_sub(part.come)),
            all_ppm,
            due_ppm: within(age_s),
            due_next_ppm: within(age_s.saturating_add(1)),
        }
    }

    /// How many of them come before the share `until_ppm` is due, given that they have not come yet:
    /// `(until − due) / (1 − due)` of them.
    fn still_to_come_micro(&self, until_ppm: u64) -> u64 {
        let due = until_ppm.saturating_sub(self.due_ppm);
        let not_due_ppm = PPM.saturating_sub(self.due_ppm);
        self.people.saturating_mul(due).saturating_mul(PPM).checked_div(not_due_ppm).unwrap_or(0)
    }
}

/// Seconds within which half of those who come when called next have come, rounded up.
pub(super) fn median_s(lane: &LaneFacts) -> u64 {
    let shares = lane.come_within_ppm(lane.next_heard_permille > 500, PPM);
    let half = shares.last().map_or(0, |all| all >> 1);
    u64::try_from(shares.partition_point(|&share| share < half)).unwrap_or(u64::MAX)
}
