//! When each buyer acts next: a calendar of milliseconds with one entry per buyer and no allocation per event.

const SLOTS: u32 = 1 << 18;
const NOBODY: u32 = u32::MAX;

/// A buyer has at most one moment at which something happens to them; buyers of one moment act in the order of planning.
pub(crate) struct Wheel {
    first: Vec<u32>,
    last: Vec<u32>,
    next: Vec<u32>,
    due_ms: Vec<u32>,
}

impl Wheel {
    pub(crate) fn new(buyers: usize) -> Self {
        let slots = SLOTS as usize;
        let (nobody, next) = (vec![NOBODY; slots], vec![NOBODY; buyers]);
        Self { first: nobody.clone(), last: nobody, next, due_ms: vec![0; buyers] }
    }

    /// Plans the next moment of a buyer who has none.
    pub(crate) fn plan(&mut self, buyer: u32, now_ms: u32, due_ms: u32) {
        let due_ms = due_ms.max(now_ms + 1);
        self.due_ms[buyer as usize] = due_ms;
        // What lies beyond a turn of the wheel waits in its last slot and is planned again from there.
        let slot = (due_ms.min(now_ms + SLOTS - 1) % SLOTS) as usize;
        self.next[buyer as usize] = NOBODY;
        match self.last[slot] {
            NOBODY => self.first[slot] = buyer,
            last => self.next[last as usize] = buyer,
        }
        self.last[slot] = buyer;
    }

    /// The next buyer whose moment is `now_ms`.
    pub(crate) fn pop(&mut self, now_ms: u32) -> Option<u32> {
        let slot = (now_ms % SLOTS) as usize;
        loop {
            let buyer = self.first[slot];
            if buyer == NOBODY {
                return None;
            }
            self.first[slot] = self.next[buyer as usize];
            if self.first[slot] == NOBODY {
                self.last[slot] = NOBODY;
            }
            let due_ms = self.due_ms[buyer as usize];
            if due_ms <= now_ms {
                return Some(buyer);
            }
            self.plan(buyer, now_ms, due_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_acts_at_their_moment_in_the_order_of_planning() {
        let mut wheel = Wheel::new(4);
        for (buyer, due_ms) in [(2, 5), (0, 5), (1, 3 * SLOTS + 5), (3, 0)] {
            wheel.plan(buyer, 0, due_ms);
        }
        let mut seen = Vec::new();
        for now_ms in 0..4 * SLOTS {
            while let Some(buyer) = wheel.pop(now_ms) {
                seen.push((buyer, now_ms));
            }
        }
        assert_eq!(seen, [(3, 1), (2, 5), (0, 5), (1, 3 * SLOTS + 5)]);
    }
}
