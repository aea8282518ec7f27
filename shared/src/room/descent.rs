//! Most sessions at once, and how a room comes down where the shop's server can serve fewer than are inside.

use super::Room;
use crate::time::Timestamp;

/// What the shop's server can serve of a room, and the way down to it.
///
/// A cut throws nobody out, and who was called before it would stand at a full door until the sessions have fallen to the share, for a
/// whole session's length where the server has lost half. So half of the ends are theirs: for two who leave, one of them enters. Sessions
/// fall all the same, and nobody is called meanwhile. Where those who were called are more than a sixteenth of the sessions, as in a
/// first fill, they would keep the load up for too long, and the door is closed until it fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Descent {
    /// `None`: the room's own capacity counts alone.
    share: Option<u32>,
    on_the_way: Option<Step>,
}

/// How far the way down has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// Twice the most sessions: each end takes one away.
    most_doubled: u64,
    /// When so many sessions had ended.
    ended_total: u64,
}

impl Descent {
    /// The server serves `share` sessions from now on. So many are inside, so many of those called are still to enter, and so many
    /// sessions have ended ever.
    fn heed(&mut self, share: Option<u32>, sessions: u32, to_enter: u32, ended_total: u64) {
        let doubled = |sessions: u32| u64::from(sessions).saturating_mul(2);
        let most_doubled = match self.on_the_way {
            // What nobody needs who was called is given up.
            Some(step) => step.after(ended_total).min(doubled(sessions.saturating_add(to_enter))),
            None if to_enter <= sessions >> 4 => doubled(sessions),
            None => 0,
        };
        self.share = share;
        let is_above = share.is_some_and(|share| sessions > share);
        self.on_the_way = is_above.then_some(Step { most_doubled, ended_total });
    }

    /// Most sessions that the door lets be when so many have ended ever.
    fn most(&self, ended_total: u64) -> u32 {
        let on_the_way = self.on_the_way.map_or(0, |step| step.after(ended_total) >> 1);
        self.share().max(u32::try_from(on_the_way).unwrap_or(u32::MAX))
    }

    /// Most sessions for which anybody is called.
    fn share(&self) -> u32 {
        self.share.unwrap_or(u32::MAX)
    }
}

impl Step {
    fn after(self, ended_total: u64) -> u64 {
        self.most_doubled.saturating_sub(ended_total.saturating_sub(self.ended_total))
    }
}

impl Room {
    /// The shop's server serves `share` sessions of this room from now on; `None`: any number.
    pub(super) fn heed_share(&mut self, share: Option<u32>, now: Timestamp) {
        let to_enter = self.expected.saturating_add(self.doorstep.waiting_count(now));
        self.descent.heed(share, self.sessions.count(), to_enter, self.sessions.ended_total());
    }

    /// Most sessions at once: the operator's word, else the configuration's, and never more than the shop's server can serve, but for
    /// the way down to it.
    pub(super) fn capacity(&self) -> u32 {
        self.own_capacity().min(self.descent.most(self.sessions.ended_total()))
    }

    /// The same without the way down: for whoever has not been called yet.
    pub(super) fn capacity_for_newcomers(&self) -> u32 {
        self.own_capacity().min(self.descent.share())
    }

    pub(super) fn own_capacity(&self) -> u32 {
        self.control.capacity.unwrap_or(self.settings.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once, somebody who was called before a cut stood at the door for 159 s, while one session after another ended.
    #[test]
    fn of_two_who_leave_one_is_followed_by_somebody_who_was_called() {
        let mut descent = Descent::default();
        descent.heed(Some(1_000), 1_000, 30, 0);
        assert_eq!(descent.most(500), 1_000);
        descent.heed(Some(500), 990, 30, 500);
        let most = [500, 501, 502, 503, 504].map(|ended_total| descent.most(ended_total));
        assert_eq!(most, [990, 989, 989, 988, 988]);
        descent.heed(Some(500), 985, 27, 505);
        assert_eq!(descent.most(505), 987, "an odd end is not lost at a tick");
        assert_eq!(descent.most(506), 987);
    }

    #[test]
    fn it_never_rises_whoever_enters_and_leaves_and_ends_at_the_share() {
        let mut descent = Descent::default();
        let (mut sessions, mut ended_total, mut to_enter) = (900_u32, 0_u64, 40_u32);
        descent.heed(Some(900), sessions, to_enter, ended_total);
        let mut before = u32::MAX;
        for second in 0..1_000_u64 {
            let leave = u32::try_from(second % 4).unwrap_or(0).min(sessions);
            (sessions, ended_total) = (sessions - leave, ended_total + u64::from(leave));
            let most = descent.most(ended_total);
            let enter = most.saturating_sub(sessions).min(to_enter);
            (sessions, to_enter) = (sessions + enter, to_enter - enter);
            assert!(sessions <= most && most <= before, "{sessions} of {most} after {before}");
            before = most;
            descent.heed(Some(450), sessions, to_enter, ended_total);
        }
        assert_eq!((before, to_enter, descent.on_the_way), (450, 0, None));
    }

    #[test]
    fn what_nobody_needs_who_was_called_is_given_up() {
        let mut descent = Descent::default();
        descent.heed(Some(400), 800, 0, 0);
        descent.heed(Some(400), 780, 2, 20);
        assert_eq!(descent.most(20), 782, "and not the 790 that half of the ends allow");
        descent.heed(Some(400), 780, 0, 20);
        assert_eq!(descent.most(20), 780);
    }

    #[test]
    fn where_many_were_called_the_door_is_closed_until_it_fits() {
        for (to_enter, most) in [(50, 799), (51, 400)] {
            let mut descent = Descent::default();
            descent.heed(Some(400), 800, to_enter, 0);
            assert_eq!(descent.most(1), most);
            descent.heed(Some(400), 780, 1, 20);
            assert_eq!(descent.most(20), if most > 400 { 781 } else { 400 }, "also when fewer are left");
        }
    }

    #[test]
    fn a_share_that_rises_again_ends_the_way_down() {
        let mut descent = Descent::default();
        descent.heed(Some(400), 800, 50, 0);
        for (share, most) in [(Some(799), 799), (Some(800), 800), (None, u32::MAX)] {
            descent.heed(share, 800, 50, 2);
            assert_eq!(descent.most(2), most, "{share:?}");
        }
    }
}
