//! Shares calls among lanes by weight: stride scheduling, so that no lane falls behind by more than one slot.

use crate::ids::LaneId;

/// Where each lane stands on the common track; the lane that is furthest behind is called next.
///
/// A lane has gone as far as its buyers have come in or are expected: a wrong expectation is made up for when they have come or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Strides {
    lanes: Vec<Track>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Track {
    at: i64,
    /// The buyers up to whom the lane has gone, in millionths.
    served_micro: u64,
}

/// What one lane brings to a round of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contender {
    /// Most numbers that may be called in it now.
    pub(super) callable: u64,
    /// Expected redemptions per call, in ppm, from 1.
    pub(super) show_up_ppm: u64,
    /// Its share of this round against the others', from 1.
    pub(super) share: u64,
    /// Buyers who have come so far or are expected, in millionths.
    pub(super) served_micro: u64,
}

/// Track length of one redemption at share 1, per ppm of it.
const SCALE: u64 = 1_000;

impl Contender {
    fn track(&self, micro: u64) -> i64 {
        let length = micro.saturating_mul(SCALE).checked_div(self.share.max(1)).unwrap_or(0);
        i64::try_from(length).unwrap_or(i64::MAX)
    }
}

impl Strides {
    /// Shares `budget_micro` expected redemptions (in millionths) among the lanes, at most `most` calls.
    pub(super) fn share(&mut self, lanes: &[Contender], budget_micro: u64, most: u64) -> Vec<(LaneId, u32)> {
        self.catch_up(lanes);
        let mut passed: Vec<i64> = self.lanes.iter().map(|track| track.at).collect();
        let mut calls = vec![0_u32; lanes.len()];
        let mut left_micro = budget_micro;
        for _ in 0..most {
            let next = (0..lanes.len())
                .filter(|&index| can_call(lanes, &calls, index))
                .min_by_key(|&index| (passed.get(index).copied(), index));
            let Some((index, lane)) = next.and_then(|index| Some((index, lanes.get(index)?))) else { break };
            let Some(rest) = left_micro.checked_sub(lane.show_up_ppm) else { break };
            left_micro = rest;
            if let (Some(count), Some(passed)) = (calls.get_mut(index), passed.get_mut(index)) {
                *count = count.saturating_add(1);
                *passed = passed.saturating_add(lane.track(lane.show_up_ppm));
            }
        }
        self.carry_sleepers(lanes, &passed);
        let ids = (0..lanes.len()).map(LaneId::at);
        ids.zip(calls).filter(|&(_, count)| count > 0).collect()
    }

    /// Moves each lane by what was served since the last round, at the share that it has now. Whoever takes over the calls owes nobody
    /// for what was before.
    fn catch_up(&mut self, lanes: &[Contender]) {
        if self.lanes.is_empty() {
            self.lanes = lanes.iter().map(|lane| Track { at: 0, served_micro: lane.served_micro }).collect();
        }
        for (track, lane) in self.lanes.iter_mut().zip(lanes) {
            let ahead = lane.track(lane.served_micro.saturating_sub(track.served_micro));
            let back = lane.track(track.served_micro.saturating_sub(lane.served_micro));
            track.at = track.at.saturating_add(ahead).saturating_sub(back);
            track.served_micro = lane.served_micro;
        }
    }

    /// A lane without waiters earns nothing: when it wakes it goes on from where the busy ones are. Where nobody waits all come in as they
    /// come, and no lane owes another for it.
    fn carry_sleepers(&mut self, lanes: &[Contender], passed: &[i64]) {
        let busy = |(_, lane): &(&i64, &Contender)| lane.callable > 0;
        let least = passed.iter().zip(lanes).filter(busy).map(|(passed, _)| *passed).min();
        let Some(floor) = least.or_else(|| passed.iter().copied().max()) else { return };
        for (track, lane) in self.lanes.iter_mut().zip(lanes) {
            if lane.callable == 0 {
                track.at = track.at.max(floor);
            }
        }
    }
}

fn can_call(lanes: &[Contender], calls: &[u32], index: usize) -> bool {
    let callable = lanes.get(index).map_or(0, |lane| lane.callable);
    calls.get(index).is_some_and(|&count| u64::from(count) < callable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(callable: u64, share: u64) -> Contender {
        Contender { callable, show_up_ppm: 1_000_000, share, served_micro: 0 }
    }

    #[test]
    fn busy_lanes_get_their_weights_within_one_slot() {
        let mut strides = Strides::default();
        let mut lanes = [lane(u64::MAX, 3), lane(u64::MAX, 1)];
        let mut totals = [0_u32; 2];
        for round in 1..=1_000_u32 {
            for (id, count) in strides.share(&lanes, 1_000_000, 10) {
                totals[usize::from(id.0)] += count;
                lanes[usize::from(id.0)].served_micro += u64::from(count) * 1_000_000;
            }
            assert!(totals[0].abs_diff(round * 3 / 4) <= 1, "{totals:?} after {round}");
        }
    }

    #[test]
    fn unused_share_flows_on_and_a_sleeping_lane_saves_nothing_up() {
        let mut strides = Strides::default();
        assert_eq!(strides.share(&[lane(0, 1), lane(50, 1)], 40_000_000, 100), [(LaneId(1), 40)]);
        let woken = [lane(50, 1), Contender { served_micro: 40_000_000, ..lane(50, 1) }];
        let both = strides.share(&woken, 10_000_000, 100);
        assert_eq!(both, [(LaneId(0), 5), (LaneId(1), 5)]);
    }

    /// Once, the first thousand entries went 6 to 1 where the weights said 3 to 1, because twice as many of one lane came as had been
    /// expected, and that was never made up for.
    #[test]
    fn what_came_otherwise_than_expected_is_made_up_for() {
        let mut strides = Strides::default();
        let mut lanes = [lane(1_000, 1), lane(1_000, 1)];
        assert_eq!(strides.share(&lanes, 20_000_000, 100), [(LaneId(0), 10), (LaneId(1), 10)]);
        (lanes[0].served_micro, lanes[1].served_micro) = (10_000_000, 4_000_000);
        assert_eq!(strides.share(&lanes, 10_000_000, 100), [(LaneId(0), 2), (LaneId(1), 8)]);
    }

    /// A share that changes, because a floor or a ceiling begins to bind, says nothing of what was served before.
    #[test]
    fn another_share_counts_from_now_on() {
        let mut strides = Strides::default();
        let mut lanes = [lane(1_000, 1), lane(1_000, 1)];
        assert_eq!(strides.share(&lanes, 20_000_000, 100), [(LaneId(0), 10), (LaneId(1), 10)]);
        (lanes[0].served_micro, lanes[1].served_micro) = (10_000_000, 10_000_000);
        strides.share(&lanes, 0, 0);
        lanes[0].share = 3;
        assert_eq!(strides.share(&lanes, 20_000_000, 100), [(LaneId(0), 15), (LaneId(1), 5)]);
    }

    /// Once, those who came into the empty shop in the first second were in nobody's share, and their lane had a twentieth too much of the
    /// first three thousand entries.
    #[test]
    fn who_came_in_without_waiting_counts_from_the_tick_at_which_others_wait() {
        let mut strides = Strides::default();
        let lanes = |callable, guests: u64, members: u64| {
            let of = |come: u64| Contender { served_micro: come * 1_000_000, ..lane(callable, 1) };
            [of(guests), of(members)]
        };
        strides.share(&lanes(0, 0, 0), 0, 0);
        assert_eq!(strides.share(&lanes(0, 9_000, 0), 10_000_000, 100), [], "the line is empty for an hour");
        let calls = strides.share(&lanes(50, 9_006, 2), 10_000_000, 100);
        assert_eq!(calls, [(LaneId(0), 3), (LaneId(1), 7)]);
    }

    #[test]
    fn a_new_leader_owes_no_lane_for_the_past() {
        let lanes = [Contender { served_micro: 900_000_000, ..lane(50, 1) }, lane(50, 1)];
        let calls = Strides::default().share(&lanes, 10_000_000, 100);
        assert_eq!(calls, [(LaneId(0), 5), (LaneId(1), 5)]);
    }

    #[test]
    fn calls_stop_at_the_budget_and_at_the_most() {
        let mut strides = Strides::default();
        assert_eq!(strides.share(&[lane(50, 1)], 3_999_999, 100), [(LaneId(0), 3)]);
        assert_eq!(strides.share(&[lane(50, 1)], 90_000_000, 7), [(LaneId(0), 7)]);
        assert_eq!(strides.share(&[lane(2, 1)], 90_000_000, 7), [(LaneId(0), 2)]);
        assert_eq!(strides.share(&[lane(2, 1)], 0, 7), []);
    }
}
