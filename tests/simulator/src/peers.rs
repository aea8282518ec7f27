//! What other waiting rooms publish about their rules, as models: the same people, the same sessions, the same idle time-out.
//!
//! A model steps by seconds and is kind to the peer: called buyers come 1 to 11 s after their call, as ours do, and no poll is lost.

use crate::{
    crowd::{self, Buyer},
    order::Order,
    scenario::Scenario,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A published rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// First in, first out, by somebody who knows who has left the line and who has left the shop.
    Oracle,
    /// Once a minute the free sessions are opened to the oldest minute of arrivals, in the order in which its people ask.
    MinuteBuckets,
    /// A counter moves on by as many as have finished.
    Counter,
    /// The same, and a number that nobody claims for 60 s is taken back.
    CounterWithExpiry,
    /// A fixed number is called each second: capacity ÷ mean session.
    FixedOutflow,
    /// Free sessions are drawn among all numbers; one that nobody claims for 60 s is taken back.
    Lottery,
}

/// What a model measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PeerFigures {
    /// The rule.
    pub peer: Peer,
    /// People really inside ÷ capacity, over the seconds in which somebody present waits.
    pub true_use: f64,
    /// Counted sessions ÷ capacity at the fullest second: above 1 where the rule passes the capacity.
    pub fullest: f64,
    /// Share of pairs in the wrong order, in percent.
    pub inversions_percent: f64,
    /// Share of the present buyers who came in within the time that our room needs twice over, in percent.
    pub served_percent: f64,
}

impl Peer {
    /// All rules, in the order of the table.
    pub const ALL: [Self; 6] = [
        Self::Oracle,
        Self::MinuteBuckets,
        Self::Counter,
        Self::CounterWithExpiry,
        Self::FixedOutflow,
        Self::Lottery,
    ];

    /// Runs the rule on the people of a scenario for so many seconds.
    pub fn run(self, scenario: &Scenario, seed: u64, seconds: u32) -> PeerFigures {
        let mut model = Model::new(self, scenario, seed);
        for now_s in 0..seconds {
            model.second(now_s);
        }
        let (inverted, pairs) = model.order.pairs();
        let present = model.people.iter().filter(|(buyer, _)| buyer.present).count();
        PeerFigures {
            peer: self,
            true_use: model.inside_sum / model.waited_s.max(1.0) / model.capacity,
            fullest: model.fullest / model.capacity,
            inversions_percent: inverted as f64 * 100.0 / pairs.max(1) as f64,
            served_percent: f64::from(model.entered) * 100.0 / present.max(1) as f64,
        }
    }
}

struct Model<'a> {
    peer: Peer,
    scenario: &'a Scenario,
    capacity: f64,
    chance: fastrand::Rng,
    /// In the order of their numbers.
    people: Vec<(Buyer, u32)>,
    arrived: usize,
    /// Numbers not called yet, by place in `people`.
    waiting: BTreeSet<usize>,
    present_waiting: u32,
    /// What happens in later seconds.
    entering: BTreeMap<u32, Vec<usize>>,
    leaving: BTreeMap<u32, u32>,
    freed: BTreeMap<u32, u32>,
    /// Sessions and claims that count against the capacity.
    counted: u32,
    inside: u32,
    /// Slots of this minute that nobody has taken yet.
    slots: u32,
    order: Order,
    entered: u32,
    fullest: f64,
    inside_sum: f64,
    waited_s: f64,
}

impl<'a> Model<'a> {
    fn new(peer: Peer, scenario: &'a Scenario, seed: u64) -> Self {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut people = crowd::gather(scenario, &mut chance);
        people.sort_by_key(|(_, comes_ms)| *comes_ms);
        Self {
            peer,
            scenario,
            capacity: f64::from(scenario.room.capacity),
            chance,
            order: Order::new(people.len() as u32 + 1),
            people,
            arrived: 0,
            waiting: BTreeSet::new(),
            present_waiting: 0,
            entering: BTreeMap::new(),
            leaving: BTreeMap::new(),
            freed: BTreeMap::new(),
            counted: 0,
            inside: 0,
            slots: 0,
            entered: 0,
            fullest: 0.0,
            inside_sum: 0.0,
            waited_s: 0.0,
        }
    }

    fn second(&mut self, now_s: u32) {
        while self.people.get(self.arrived).is_some_and(|(_, comes_ms)| comes_ms / 1_000 <= now_s) {
            self.waiting.insert(self.arrived);
            self.present_waiting += u32::from(self.people[self.arrived].0.present);
            self.arrived += 1;
        }
        self.inside -= self.leaving.remove(&now_s).unwrap_or(0);
        self.counted -= self.freed.remove(&now_s).unwrap_or(0);
        for index in self.entering.remove(&now_s).unwrap_or_default() {
            self.enter(index, now_s);
        }
        for _ in 0..self.calls(now_s) {
            let Some(index) = self.next() else { break };
            self.call(index, now_s);
        }
        self.fullest = self.fullest.max(f64::from(self.counted));
        if self.present_waiting > 0 {
            self.inside_sum += f64::from(self.inside);
            self.waited_s += 1.0;
        }
    }

    /// How many numbers the rule calls in this second.
    fn calls(&mut self, now_s: u32) -> u32 {
        let free = self.scenario.room.capacity.saturating_sub(self.counted);
        match self.peer {
            Peer::Oracle => self.scenario.room.capacity.saturating_sub(self.inside),
            Peer::Counter | Peer::CounterWithExpiry | Peer::Lottery => free,
            Peer::FixedOutflow => {
                let a_second = self.capacity / self.scenario.stay.mean_s;
                let until = |second: u32| (f64::from(second) * a_second) as u32;
                until(now_s + 1) - until(now_s)
            }
            Peer::MinuteBuckets => {
                if now_s.is_multiple_of(60) {
                    self.slots = free;
                }
                // Everybody asks once in 20 s, so a twentieth of the bucket asks in each second.
                let asking = self.present_waiting.div_ceil(20).min(self.slots);
                self.slots -= asking;
                asking
            }
        }
    }

    fn next(&mut self) -> Option<usize> {
        let first = *self.waiting.first()?;
        let is_here = |index: &usize| self.people[*index].0.present;
        match self.peer {
            Peer::Oracle => self.waiting.iter().copied().find(is_here),
            Peer::MinuteBuckets => {
                let minute = |index: usize| self.people[index].1 / 60_000;
                let oldest = minute(self.waiting.iter().copied().find(is_here)?);
                let until = self.people.partition_point(|(_, comes_ms)| comes_ms / 60_000 <= oldest);
                let from = self.chance.usize(first..until);
                let asks = |from, until| self.waiting.range(from..until).copied().find(is_here);
                asks(from, until).or_else(|| asks(first, from))
            }
            Peer::Lottery => {
                let from = self.chance.usize(first..self.arrived);
                let drawn = self.waiting.range(from..).next().or_else(|| self.waiting.first());
                drawn.copied()
            }
            Peer::Counter | Peer::CounterWithExpiry | Peer::FixedOutflow => Some(first),
        }
    }

    fn call(&mut self, index: usize, now_s: u32) {
        self.waiting.remove(&index);
        let here = self.people[index].0.present;
        self.present_waiting -= u32::from(here);
        if self.peer != Peer::FixedOutflow {
            self.counted += 1;
        }
        match self.peer {
            Peer::Oracle => self.enter(index, now_s),
            _ if here => {
                let comes_s = now_s + self.chance.u32(1..12);
                self.entering.entry(comes_s).or_default().push(index);
            }
            Peer::CounterWithExpiry | Peer::Lottery => *self.freed.entry(now_s + CLAIM_S).or_default() += 1,
            Peer::MinuteBuckets | Peer::Counter | Peer::FixedOutflow => {}
        }
    }

    fn enter(&mut self, index: usize, now_s: u32) {
        let buyer = &self.people[index].0;
        let leaves_s = now_s + buyer.stay_ms.div_ceil(1_000);
        // A silent leaver was seen half of the idle time-out before at the earliest, as in our room.
        let idle_s = self.scenario.room.pass_life.as_secs() as u32;
        let idles_s = if buyer.explicit_end { 0 } else { self.chance.u32(idle_s / 2..=idle_s) };
        let freed_s = if self.peer == Peer::Oracle { leaves_s } else { leaves_s + idles_s };
        if self.peer == Peer::FixedOutflow {
            self.counted += 1;
        }
        *self.leaving.entry(leaves_s).or_default() += 1;
        *self.freed.entry(freed_s).or_default() += 1;
        self.inside += 1;
        self.entered += 1;
        self.order.enter(index as u32 + 1);
    }
}

/// A claim that nobody takes is given back after so long.
const CLAIM_S: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_behave_as_their_rules_are_known_to() {
        let mut scenario = crate::all().into_iter().find(|scenario| scenario.name == "no_shows_60").unwrap();
        scenario.room.capacity = 100;
        scenario.crowds[0].buyers = 2_000;
        let run = |peer: Peer| peer.run(&scenario, 3, 3_000);
        let oracle = run(Peer::Oracle);
        assert!(oracle.true_use > 0.97 && oracle.inversions_percent == 0.0, "{oracle:?}");
        let counter = run(Peer::Counter);
        assert!(counter.served_percent < 20.0, "it waits for people who left: {counter:?}");
        let expiry = run(Peer::CounterWithExpiry);
        assert!(expiry.true_use > 2.0 * counter.true_use && expiry.true_use < 0.7, "{expiry:?}");
        assert!(run(Peer::Lottery).inversions_percent > 30.0);
        assert!(Peer::ALL.iter().all(|&peer| peer == Peer::FixedOutflow || run(peer).fullest <= 1.0));
    }
}
