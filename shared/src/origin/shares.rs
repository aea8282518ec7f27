//! How the rooms of one server divide its capacity.

/// What a room says of itself at its tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomNeed {
    /// Its weight beside the other rooms; 1 at least.
    pub weight: u32,
    /// Sessions inside now.
    pub sessions: u32,
    /// Sessions that it could fill: those inside and those who wait, at most its own capacity.
    pub wanted: u32,
}

/// The shares of the rooms, in the order in which the host names them.
///
/// Each room is told its share at its own tick, one after another. What a room gives up is there for the others once the
/// room has heeded it, so the shares together never exceed the capacity but for sessions that were inside when it was cut.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    rooms: Vec<Room>,
}

#[derive(Clone, Copy, Debug)]
struct Room {
    need: RoomNeed,
    /// What the room may fill, or has inside if that is more.
    held: u32,
}

impl Shares {
    /// Of so many rooms, none of which has asked yet.
    pub fn of(rooms: usize) -> Self {
        let need = RoomNeed { weight: 1, sessions: 0, wanted: 0 };
        Self { rooms: vec![Room { need, held: 0 }; rooms] }
    }

    /// What the room at `index` may fill from now on, out of `capacity`; 0 for one that is not there.
    ///
    /// Each room gets what it wants up to its part by weight; what one does not want goes to the others by theirs.
    pub fn share(&mut self, index: usize, need: RoomNeed, capacity: u32) -> u32 {
        let Some(own) = self.rooms.get_mut(index) else { return 0 };
        own.need = need;
        let before = own.held;
        let others = self.rooms.iter().enumerate().filter(|(other, _)| *other != index);
        let taken = others.fold(0_u32, |sum, (_, room)| sum.saturating_add(room.held));
        let share = self.fair(index, capacity).min(capacity.saturating_sub(taken));
        if let Some(own) = self.rooms.get_mut(index) {
            // A smaller one is given up when the room says that it has heeded it.
            own.held = before.max(share).max(need.sessions);
        }
        share
    }

    /// The room has heeded its share, and has or lets be so many sessions inside.
    pub fn heeded(&mut self, index: usize, share: u32, sessions: u32) {
        if let Some(room) = self.rooms.get_mut(index) {
            room.held = share.max(sessions);
        }
    }

    /// Sessions of all rooms, as they last said.
    pub fn sessions(&self) -> u32 {
        self.rooms.iter().fold(0, |sum, room| sum.saturating_add(room.need.sessions))
    }

    /// The room's part when what is not wanted is divided again, until nothing is left over or everybody has enough.
    fn fair(&self, index: usize, capacity: u32) -> u32 {
        let mut left = u64::from(capacity);
        let mut open: Vec<(usize, RoomNeed)> = self.rooms.iter().map(|room| room.need).enumerate().collect();
        loop {
            let weights: u64 = open.iter().map(|(_, need)| u64::from(need.weight.max(1))).sum();
            let part = |need: &RoomNeed| {
                left.saturating_mul(need.weight.max(1).into()).checked_div(weights).unwrap_or(0)
            };
            let own = open.iter().find(|(room, _)| *room == index);
            let Some((_, own)) = own else { return 0 };
            let (enough, more): (Vec<_>, Vec<_>) =
                open.iter().partition(|(_, need)| u64::from(need.wanted) <= part(need));
            if u64::from(own.wanted) <= part(own) || enough.is_empty() {
                // Whoever has enough may still take what nobody else wants: the line may form within the second.
                let share = if more.is_empty() { part(own) } else { part(own).min(own.wanted.into()) };
                return u32::try_from(share).unwrap_or(u32::MAX);
            }
            let given = enough.iter().fold(0_u64, |sum, (_, need)| sum.saturating_add(need.wanted.into()));
            left = left.saturating_sub(given);
            open = more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(weight: u32, sessions: u32, wanted: u32) -> RoomNeed {
        RoomNeed { weight, sessions, wanted }
    }

    /// Asks every room in turn, several times over, and lets each fill its share.
    fn settle(needs: &[RoomNeed], capacity: u32) -> Vec<u32> {
        let mut shares = Shares::of(needs.len());
        let mut got = vec![0; needs.len()];
        for _ in 0..4 {
            for (index, need) in needs.iter().enumerate() {
                got[index] = shares.share(index, *need, capacity);
                shares.heeded(index, got[index], need.sessions.min(got[index]));
            }
        }
        got
    }

    #[test]
    fn rooms_share_by_weight_and_what_one_does_not_want_goes_to_the_others() {
        assert_eq!(settle(&[need(1, 0, 900)], 1_000), [1_000]);
        assert_eq!(settle(&[need(1, 0, 900), need(1, 0, 900)], 1_000), [500, 500]);
        assert_eq!(settle(&[need(3, 0, 900), need(1, 0, 900)], 1_000), [750, 250]);
        assert_eq!(settle(&[need(1, 0, 100), need(1, 0, 900)], 1_000), [100, 900]);
        assert_eq!(settle(&[need(1, 0, 100), need(1, 0, 100)], 1_000), [500, 500]);
        assert_eq!(settle(&[need(1, 0, 10), need(1, 0, 900), need(2, 0, 900)], 1_000), [10, 330, 660]);
        assert_eq!(settle(&[need(0, 0, 5), need(1, 0, 5)], 0), [0, 0]);
    }

    #[test]
    fn what_a_room_gives_up_is_there_once_it_has_heeded() {
        let mut shares = Shares::of(2);
        // The other room wants nothing at first, so the first one takes all.
        assert_eq!(shares.share(0, need(1, 0, 1_000), 1_000), 1_000);
        shares.heeded(0, 1_000, 800);
        // A line forms at the other: the first has 800 inside and may fill up to its old share until it has heeded.
        assert_eq!(shares.share(1, need(1, 0, 1_000), 1_000), 0);
        assert_eq!(shares.share(0, need(1, 800, 1_000), 1_000), 500);
        assert_eq!(shares.share(1, need(1, 0, 1_000), 1_000), 0);
        shares.heeded(0, 500, 800);
        assert_eq!(shares.share(1, need(1, 0, 1_000), 1_000), 200, "what the first one's buyers leave");
    }

    #[test]
    fn a_room_that_is_not_there_gets_nothing() {
        assert_eq!(Shares::of(1).share(1, need(1, 0, 9), 100), 0);
    }
}
