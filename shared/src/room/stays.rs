//! How long buyers stay inside, age by age, and how many of those inside will leave soon.

use super::PPM;
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// The live sessions by the second in which they began, and what became of those before them at each age.
///
/// Where all stay about as long, or idle out, those who came in together leave together. A mean of the last seconds goes on expecting a
/// wave that is over; the first who leave show at which age the others will.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// At most one entry for each live session.
    groups: BTreeMap<u64, Group>,
    /// By age in seconds.
    ages: Vec<Age>,
    /// Sessions of whatever age that end per second, in millionths, as a running mean.
    ending_micro: u64,
    ticked_at_s: Option<u64>,
}

/// Sessions that began in the same second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Group {
    inside: u32,
    ended_since_tick: u32,
}

/// How many sessions have lived through one second of their lives, and how many of them ended in it: in millionths and fading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Age {
    lived_micro: u64,
    ended_micro: u64,
}

/// Ages told apart, in seconds; the last stands for all beyond. A session lives for 900 s at most unless the operator says otherwise.
const AGES: usize = 1_024;
/// Each second, one part in this many is forgotten.
const MEMORY_S: u64 = 300;
/// Weight of the assumption that buyers leave at any age as all of them did in the last seconds.
const PRIOR_WEIGHT: u64 = 50;
/// Ticks over which that is averaged.
const ENDING_MEMORY: u64 = 8;
/// Of ticks that are further apart nobody knows in which second between them somebody left: nothing is learnt from them.
const TICK_MAX_S: u64 = 2;

impl Stays {
    /// A session has begun.
    pub(super) fn begin(&mut self, at: Timestamp) {
        let group = self.groups.entry(at.as_secs()).or_default();
        group.inside = group.inside.saturating_add(1);
    }

    /// A session that had begun at a moment has ended, in whatever way.
    pub(super) fn end(&mut self, begun_at: Timestamp) {
        if let Some(group) = self.groups.get_mut(&begun_at.as_secs()) {
            group.inside = group.inside.saturating_sub(1);
            group.ended_since_tick = group.ended_since_tick.saturating_add(1);
        }
    }

    /// Learns who stayed and who left in the second that is over; again in the same second, nothing.
    pub(super) fn tick(&mut self, now: Timestamp) {
        let now_s = now.as_secs();
        let before_s = self.ticked_at_s.replace(now_s);
        let passed_s = before_s.map_or(u64::MAX, |before_s| now_s.saturating_sub(before_s));
        if passed_s == 0 {
            return;
        }
        let is_learnt = passed_s <= TICK_MAX_S;
        if is_learnt {
            self.ages.iter_mut().for_each(Age::fade);
        }
        let mut ended_micro = 0_u64;
        for (&begun_s, group) in &mut self.groups {
            let of_group_micro = micro(core::mem::take(&mut group.ended_since_tick));
            ended_micro = ended_micro.saturating_add(of_group_micro);
            let age_s = now_s.saturating_sub(begun_s);
            if is_learnt && let Some(second) = age_s.checked_sub(1) {
                note(&mut self.ages, second, micro(group.inside), of_group_micro);
            }
        }
        self.groups.retain(|_, group| group.inside > 0);
        let weighed = self.ending_micro.saturating_mul(ENDING_MEMORY.saturating_sub(1));
        let weighed = weighed.saturating_add(ended_micro);
        self.ending_micro = weighed.checked_div(ENDING_MEMORY).unwrap_or(0);
    }

    /// How many sessions end in the next `seconds` if each of them is followed by another at once, in millionths, rounded down.
    pub(super) fn ending_within_micro(&self, seconds: u64) -> u64 {
        let mut inside_micro = self.inside_by_age_micro();
        let all_micro = inside_micro.iter().fold(0_u64, |sum, &of_age| sum.saturating_add(of_age));
        let mean_ppm = self.ending_micro.saturating_mul(PPM).checked_div(all_micro).unwrap_or(0).min(PPM);
        let shares_ppm: Vec<u64> = (0..AGES).map(|second| self.leaving_ppm(second, mean_ppm)).collect();
        let mut ending_micro = 0_u64;
        for _ in 0..seconds {
            let mut leaving_micro = 0_u64;
            for (inside, &share_ppm) in inside_micro.iter_mut().zip(&shares_ppm) {
                let leaving = inside.saturating_mul(share_ppm).checked_div(PPM).unwrap_or(0);
                *inside = inside.saturating_sub(leaving);
                leaving_micro = leaving_micro.saturating_add(leaving);
            }
            ending_micro = ending_micro.saturating_add(leaving_micro);
            // A second later everybody is a second older.
            let oldest = inside_micro.pop().unwrap_or(0);
            if let Some(last) = inside_micro.last_mut() {
                *last = last.saturating_add(oldest);
            }
            inside_micro.insert(0, 0);
            if let Some(newcomers) = inside_micro.get_mut(1) {
                *newcomers = newcomers.saturating_add(leaving_micro);
            }
        }
        ending_micro
    }

    fn inside_by_age_micro(&self) -> Vec<u64> {
        let mut inside_micro = vec![0_u64; AGES];
        let now_s = self.ticked_at_s.unwrap_or(0);
        for (&begun_s, group) in &self.groups {
            if let Some(of_age) = inside_micro.get_mut(index_of(now_s.saturating_sub(begun_s))) {
                *of_age = of_age.saturating_add(micro(group.inside));
            }
        }
        inside_micro
    }

    /// Share of those who have stayed for so many seconds who leave in the next one.
    fn leaving_ppm(&self, second: usize, mean_ppm: u64) -> u64 {
        let seen = self.ages.get(second).copied().unwrap_or_default();
        let ended = seen.ended_micro.saturating_add(PRIOR_WEIGHT.saturating_mul(mean_ppm));
        let lived = seen.lived_micro.saturating_add(PRIOR_WEIGHT.saturating_mul(PPM));
        let share = u128::from(ended).saturating_mul(u128::from(PPM)).checked_div(u128::from(lived));
        share.and_then(|share| u64::try_from(share).ok()).unwrap_or(0)
    }
}

impl Age {
    fn fade(&mut self) {
        let faded = |value: u64| value.saturating_sub(value.div_ceil(MEMORY_S));
        (self.lived_micro, self.ended_micro) = (faded(self.lived_micro), faded(self.ended_micro));
    }
}

/// Of those who had stayed for `second` seconds, so many have stayed for another one, and so many have ended in it.
fn note(ages: &mut Vec<Age>, second: u64, stayed_micro: u64, ended_micro: u64) {
    let index = index_of(second);
    if ages.len() <= index {
        ages.resize(index.saturating_add(1), Age::default());
    }
    if let Some(age) = ages.get_mut(index) {
        age.lived_micro = age.lived_micro.saturating_add(stayed_micro).saturating_add(ended_micro);
        age.ended_micro = age.ended_micro.saturating_add(ended_micro);
    }
}

fn index_of(age_s: u64) -> usize {
    usize::try_from(age_s).unwrap_or(usize::MAX).min(AGES.saturating_sub(1))
}

fn micro(sessions: u32) -> u64 {
    u64::from(sessions).saturating_mul(PPM)
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;

    fn at(second: u64) -> Timestamp {
        Timestamp::from_millis((1_000 + second) * 1_000)
    }

    /// So many begin in each second, and each of them stays for so many seconds, until a moment.
    fn alike(begins: core::ops::Range<u64>, each: u32, stay_s: u64, until_s: u64) -> Stays {
        let mut stays = Stays::default();
        for second in 0..until_s {
            for _ in 0..each {
                if begins.contains(&second) {
                    stays.begin(at(second));
                }
                if second >= stay_s && begins.contains(&(second - stay_s)) {
                    stays.end(at(second - stay_s));
                }
            }
            stays.tick(at(second + 1));
        }
        stays
    }

    /// In sessions, rounded.
    fn ending(stays: &Stays, seconds: u64) -> u64 {
        (stays.ending_within_micro(seconds) + PPM / 2) / PPM
    }

    /// Once, a mean of eight seconds called for a wave that was over, and whoever was called for it stood at the door until the next.
    #[test]
    fn the_end_of_a_wave_is_foreseen() {
        for (until_s, expected) in
            [(149, 0..=0), (155, 940..=1_000), (166, 770..=820), (168, 380..=450), (170, 0..=0)]
        {
            let found = ending(&alike(0..20, 200, 150, until_s), 5);
            assert!(expected.contains(&found), "{found} within 5 s after {until_s} s");
        }
    }

    #[test]
    fn where_no_age_is_known_all_leave_as_the_last_ones_did() {
        let mut stays = alike(0..1, 1_000, 2_000, 500);
        for second in 500..530 {
            (0..10).for_each(|_| stays.end(at(0)));
            stays.tick(at(second + 1));
        }
        let found = ending(&stays, 10);
        assert!((90..=100).contains(&found), "{found}");
    }

    #[test]
    fn who_follows_leaves_too_where_sessions_are_short() {
        let found = ending(&alike(0..500, 10, 3, 499), 30);
        assert!((280..=300).contains(&found), "{found}");
    }

    #[test]
    fn a_server_that_stood_still_teaches_nothing() {
        let is_learnt = |pause_s| {
            let mut stays = alike(0..200, 10, 2_000, 200);
            (0..200).for_each(|begun_s| stays.end(at(begun_s)));
            stays.tick(at(200 + pause_s));
            stays.ages != alike(0..200, 10, 2_000, 200).ages
        };
        assert_eq!([0, 1, TICK_MAX_S, TICK_MAX_S + 1].map(is_learnt), [false, true, true, false]);
    }

    #[test]
    fn memory_is_bounded_by_the_longest_age_and_by_the_live_sessions() {
        let longest = 1_024;
        for stay_s in [longest - 1, longest, longest + 1] {
            let stays = alike(0..50, 3, stay_s, stay_s + 60);
            assert_eq!(stays.ages.len(), AGES, "after stays of {stay_s} s");
            assert_eq!(stays.groups.len(), 0, "all have left");
        }
        let groups = |stay_s| alike(0..5_000, 1, stay_s, 4_999).groups.len();
        assert_eq!([9, 10].map(groups), [9, 10], "the second of a session that has ended is forgotten");
    }
}
