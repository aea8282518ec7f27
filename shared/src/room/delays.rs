//! How many of those called come to the door, and how long they take.

use super::PPM;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// For each second after a call: how many called buyers have lived through it, and how many of them came in it, both in
/// millionths and fading.
///
/// The share that comes in a second is the one divided by the other, whatever the rest of a cohort's time will bring. So buyers
/// who were called a moment ago count for the seconds that are over for them and for nothing else: neither the quick ones,
/// who are seen first, nor those who could not have come yet distort what is learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Delays {
    seconds: Vec<Second>,
}

/// Those who were heard of after they had joined are there when they are called; of the others nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowUp {
    heard: Delays,
    unheard: Delays,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Second {
    called_micro: u64,
    came_micro: u64,
}

/// Longest delay told apart, in seconds.
pub(super) const DELAY_MAX_S: u64 = 300;
/// Each second, one part in this many is forgotten.
const MEMORY_S: u64 = 200;
/// Weight of the assumption that everybody comes within [`PRIOR_S`], evenly spread: the safe side, which calls too few.
const PRIOR_WEIGHT: u64 = 50;
/// Of so many who have come, in millionths, it is assumed that they are spread over the lanes as those who were called are.
const ALIKE_MICRO: u64 = 5 * PPM;
/// The longest that buyers near their turn may take: 6 s between two polls, 5 s for the age of a snapshot, 1 s to the next tick.
pub(super) const PRIOR_S: u64 = 12;

/// What is assumed of those who have not come within the time that was seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// They were there when they were called. Up to so many seconds after it, they come in the seconds that follow.
    AreComing { within_s: u64 },
    /// Nobody knows whether they ever stayed: they have left.
    HaveLeft,
}

impl ShowUp {
    /// [`Delays::come_within_ppm`] of those who had been heard of, or of the others. Of the former, some ask as late as `asks_after_s`
    /// seconds after they are called: in a first fill people are called sooner than they were told.
    ///
    /// `supposed_ppm` of the others are supposed to come as long as nothing is seen of them.
    pub(super) fn come_within_ppm(&self, heard: bool, asks_after_s: u64, supposed_ppm: u64) -> Vec<u64> {
        if heard {
            let within_s = asks_after_s.saturating_add(PRIOR_S);
            self.heard.come_within_ppm(Missing::AreComing { within_s }, PPM)
        } else {
            self.unheard.come_within_ppm(Missing::HaveLeft, supposed_ppm)
        }
    }

    pub(super) fn learn(&mut self, heard: bool) -> &mut Delays {
        if heard { &mut self.heard } else { &mut self.unheard }
    }

    pub(super) fn fade(&mut self) {
        self.heard.fade();
        self.unheard.fade();
    }

    /// How many of those of whom nothing had been heard come in each lane, beside the lane in which most do, in ppm: all of them where
    /// nobody has come yet.
    ///
    /// A lane is compared with what all lanes together would have brought by now of people called when its own were called, so that
    /// it does not matter which lane was called later.
    pub(super) fn beside_the_best_ppm(lanes: &[&Self]) -> Vec<u64> {
        let ages = lanes.iter().map(|lane| lane.unheard.seconds.len()).max().unwrap_or(0);
        let of = |lane: &Self, second: usize| lane.unheard.seconds.get(second).copied().unwrap_or_default();
        let mut all = vec![Second::default(); ages];
        for lane in lanes {
            for (second, sum) in all.iter_mut().enumerate() {
                sum.called_micro = sum.called_micro.saturating_add(of(lane, second).called_micro);
                sum.came_micro = sum.came_micro.saturating_add(of(lane, second).came_micro);
            }
        }
        let ratio = |lane: &&Self| {
            let (mut came, mut expected) = (u128::from(ALIKE_MICRO), u128::from(ALIKE_MICRO));
            for (second, all) in all.iter().enumerate() {
                let own = of(lane, second);
                let as_all = u128::from(own.called_micro).saturating_mul(all.came_micro.into());
                came = came.saturating_add(own.came_micro.into());
                expected = expected.saturating_add(as_all.checked_div(all.called_micro.into()).unwrap_or(0));
            }
            came.saturating_mul(PPM.into()).checked_div(expected).unwrap_or(0)
        };
        let ratios: Vec<u128> = lanes.iter().map(ratio).collect();
        let best = ratios.iter().copied().max().unwrap_or(0);
        let beside = |ratio: &u128| ratio.saturating_mul(PPM.into()).checked_div(best);
        ratios.iter().map(|own| beside(own).and_then(|ppm| u64::try_from(ppm).ok()).unwrap_or(PPM)).collect()
    }
}

impl Delays {
    /// One called buyer has come `delay` after the call.
    pub(super) fn note_come(&mut self, delay: Duration) {
        if let Some(second) = self.second(delay.as_secs()) {
            second.came_micro = second.came_micro.saturating_add(PPM);
        }
    }

    /// `called` buyers, whether they have come or not, have lived through second `second` after their call, 0 the first.
    pub(super) fn note_over(&mut self, second: u64, called: u32) {
        if let Some(seen) = self.second(second) {
            let called = u64::from(called).saturating_mul(PPM);
            seen.called_micro = seen.called_micro.saturating_add(called);
        }
    }

    /// A second passes, and the past counts less.
    pub(super) fn fade(&mut self) {
        let faded = |value: u64| value.saturating_sub(value.div_ceil(MEMORY_S));
        for second in &mut self.seconds {
            second.called_micro = faded(second.called_micro);
            second.came_micro = faded(second.came_micro);
        }
    }

    /// Share in ppm of the called who come within so many seconds after the call: entry 0 is 0, the entries never fall, and the
    /// last, for 300 s, is the share that comes at all.
    pub(super) fn come_within_ppm(&self, missing: Missing, supposed_ppm: u64) -> Vec<u64> {
        let prior_ppm = supposed_ppm.checked_div(PRIOR_S).unwrap_or(0);
        let mut sum = 0_u64;
        let mut unseen_each = None;
        let mut shares = vec![0];
        for second in 0..DELAY_MAX_S {
            let index = usize::try_from(second).unwrap_or(usize::MAX);
            let seen = self.seconds.get(index).copied().unwrap_or_default();
            let expected = if second < PRIOR_S { PRIOR_WEIGHT.saturating_mul(prior_ppm) } else { 0 };
            let came = u128::from(seen.came_micro.saturating_add(expected)).saturating_mul(u128::from(PPM));
            let called = u128::from(seen.called_micro.saturating_add(PRIOR_WEIGHT.saturating_mul(PPM)));
            let share = came.checked_div(called).and_then(|share| u64::try_from(share).ok()).unwrap_or(PPM);
            let is_seen = second < PRIOR_S || seen.called_micro >= PRIOR_WEIGHT.saturating_mul(PPM);
            let share = match missing {
                Missing::AreComing { within_s } if second < within_s && !is_seen => {
                    let rest = PPM.saturating_sub(sum).checked_div(PRIOR_S).unwrap_or(0);
                    share.max(*unseen_each.get_or_insert(rest))
                }
                _ => share,
            };
            sum = sum.saturating_add(share).min(PPM);
            shares.push(sum);
        }
        shares
    }

    fn second(&mut self, second: u64) -> Option<&mut Second> {
        if second >= DELAY_MAX_S {
            return None;
        }
        let index = usize::try_from(second).ok()?;
        if self.seconds.len() <= index {
            self.seconds.resize(index.saturating_add(1), Second::default());
        }
        self.seconds.get_mut(index)
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use super::*;

    /// `calls` a second, of whom a share comes in the second `delay_s` after the call.
    fn learn(delays: &mut Delays, seconds: u64, calls: u32, arrivals: u32, delay_s: u64) {
        for now in 0..seconds {
            delays.fade();
            for age in 0..now.min(DELAY_MAX_S) {
                delays.note_over(age, calls);
            }
            for _ in 0..arrivals * u32::from(now >= delay_s) {
                delays.note_come(Duration::from_secs(delay_s));
            }
        }
    }

    #[test]
    fn before_anything_is_seen_everybody_comes_within_the_longest_way() {
        let shares = Delays::default().come_within_ppm(Missing::HaveLeft, PPM);
        assert_eq!(shares.first(), Some(&0));
        assert_eq!(shares.get(6), Some(&499_998));
        assert!(shares.get(12).is_some_and(|&share| share > 999_980));
        assert_eq!(shares.len(), 301);
    }

    #[test]
    fn the_share_and_the_delay_are_learnt() {
        let mut delays = Delays::default();
        learn(&mut delays, 600, 50, 20, 7);
        let shares = delays.come_within_ppm(Missing::HaveLeft, PPM);
        assert!(shares.is_sorted());
        assert!(shares[7] < 10_000, "before the 8th second: {}", shares[7]);
        assert!(shares[8].abs_diff(400_000) < 20_000, "two in five come: {}", shares[8]);
        assert!(shares[300].abs_diff(400_000) < 20_000, "and nobody later: {}", shares[300]);
    }

    /// Once, only the quick had been seen in the first seconds of a sale, everybody else was written off, and far too many were called.
    #[test]
    fn who_could_not_have_come_yet_is_not_written_off() {
        let mut delays = Delays::default();
        learn(&mut delays, 4, 200, 0, 0);
        let shares = delays.come_within_ppm(Missing::HaveLeft, PPM);
        assert!(shares[300] > 700_000, "the first seconds say little: {}", shares[300]);
    }

    #[test]
    fn who_was_told_to_ask_late_is_awaited_until_then_and_no_longer() {
        let mut delays = Delays::default();
        learn(&mut delays, 20, 50, 30, 5);
        let at_all = |within_s| delays.come_within_ppm(Missing::AreComing { within_s }, PPM)[300];
        let seen = delays.come_within_ppm(Missing::HaveLeft, PPM)[300];
        assert!((550_000..750_000).contains(&seen), "{seen}");
        assert_eq!(at_all(15), seen, "these seconds are seen");
        assert!(at_all(40) > 990_000, "{}", at_all(40));
    }

    /// So many seconds of calls to 100 people each, of whom so many come in the seventh second after it.
    fn show_up(seconds: u64, arrivals: u32) -> ShowUp {
        let mut show_up = ShowUp::default();
        learn(show_up.learn(false), seconds, 100, arrivals, 6);
        show_up
    }

    /// Once, all lanes were supposed to show up alike for the first twelve seconds of a sale, and of its first thousand buyers two thirds were
    /// of one of two equal lanes.
    #[test]
    fn lanes_are_compared_by_who_has_come_of_those_who_could_have() {
        let (many, few, later) = (show_up(20, 80), show_up(20, 20), show_up(12, 20));
        let beside = ShowUp::beside_the_best_ppm(&[&few, &many, &later]);
        assert_eq!(beside[1], PPM);
        assert!((250_000..300_000).contains(&beside[0]), "{beside:?}");
        assert!((250_000..340_000).contains(&beside[2]), "they have had less time: {beside:?}");
    }

    #[test]
    fn lanes_are_alike_until_some_have_come() {
        let (nobody, one) = (show_up(6, 90), show_up(7, 1));
        assert_eq!(ShowUp::beside_the_best_ppm(&[&nobody, &nobody, &ShowUp::default()]), [PPM; 3]);
        let beside = ShowUp::beside_the_best_ppm(&[&nobody, &one]);
        assert!(beside[0] > 800_000 && beside[1] == PPM, "one says little: {beside:?}");
        assert_eq!(ShowUp::beside_the_best_ppm(&[&one]), [PPM], "one lane is the best");
        assert!(ShowUp::beside_the_best_ppm(&[]).is_empty());
    }

    #[test]
    fn a_lane_that_shows_up_less_is_supposed_to_until_it_is_seen() {
        let of = |supposed_ppm| Delays::default().come_within_ppm(Missing::HaveLeft, supposed_ppm)[300];
        assert!(of(PPM).abs_diff(PPM) < 20 && of(PPM / 4).abs_diff(PPM / 4) < 20);
        let mut delays = Delays::default();
        learn(&mut delays, 600, 50, 20, 7);
        let seen = delays.come_within_ppm(Missing::HaveLeft, PPM / 4)[300];
        assert!(seen.abs_diff(400_000) < 20_000, "{seen}");
    }

    #[test]
    fn a_delay_beyond_the_longest_teaches_nothing_and_memory_is_bounded() {
        let mut delays = Delays::default();
        for second in [DELAY_MAX_S - 1, DELAY_MAX_S, u64::MAX] {
            delays.note_come(Duration::from_secs(second));
            delays.note_over(second, 1);
        }
        assert_eq!(u64::try_from(delays.seconds.len()), Ok(DELAY_MAX_S));
        assert_eq!(delays.seconds[299], Second { called_micro: PPM, came_micro: PPM });
    }
}
