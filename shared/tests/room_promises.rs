//! The promises of a room on generated histories, over crashes and clocks that step back.

#![expect(clippy::expect_used, reason = "a step that fails fails the test")]

#[expect(dead_code, reason = "the case tests use the rest")]
mod driven;

use driven::{Driven, device, settings};
use proptest::prelude::*;
use shared::{
    http::language::Language,
    ids::{EventId, Place},
    room::{Action, CallOrder, Law, Planted, RecordKey, RecordValue, Room, snapshot, status},
};
use std::{collections::BTreeMap, time::Duration};

#[derive(Clone, Debug)]
enum Op {
    Join(u16, bool),
    Redeem(u8),
    Renew(u8),
    Finish(u8),
    Abandon(u8),
    Wait(u16),
    ClockBack(u16),
    Operate(Action),
    Tick,
    Crash,
}

/// Orders under which joining stays possible and capacity a promise.
fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => Just(Action::Open),
        1 => Just(Action::Pause),
        1 => Just(Action::PassThrough),
        1 => (1..6_u32).prop_map(|capacity| Action::Capacity(Some(capacity))),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (0..200_u16, any::<bool>()).prop_map(|(id, enter)| Op::Join(id, enter)),
        6 => any::<u8>().prop_map(Op::Redeem),
        1 => any::<u8>().prop_map(Op::Renew),
        2 => any::<u8>().prop_map(Op::Finish),
        1 => any::<u8>().prop_map(Op::Abandon),
        1 => (0..60_000_u16).prop_map(Op::Wait),
        1 => (0..60_000_u16).prop_map(Op::ClockBack),
        1 => action().prop_map(Op::Operate),
        3 => Just(Op::Tick),
        1 => Just(Op::Crash),
    ];
    prop::collection::vec(op, 1..250)
}

/// What was seen from outside so far.
#[derive(Default)]
struct Seen {
    owners: BTreeMap<Place, u16>,
    places: Vec<(Place, u16)>,
    ended: Vec<Place>,
    positions: BTreeMap<Place, u64>,
}

impl Seen {
    fn pick(&self, at: u8) -> Option<(Place, u16)> {
        (!self.places.is_empty()).then(|| self.places[usize::from(at) % self.places.len()])
    }

    /// Does one operation and checks that no number has two owners and no ended ticket enters again.
    fn step(&mut self, driven: &mut Driven, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Join(id, may_enter) => {
                let (place, _) = driven.joins(id, may_enter);
                let owner = *self.owners.entry(place).or_insert(id);
                prop_assert_eq!(owner, id, "{:?} has two owners", place);
                self.places.push((place, id));
            }
            Op::Redeem(at) => {
                if let Some((place, _)) = self.pick(at) {
                    let entered = driven.redeem(place).is_ok();
                    prop_assert!(!(entered && self.ended.contains(&place)), "{:?} entered again", place);
                }
            }
            Op::Renew(at) => {
                if let Some((place, _)) = self.pick(at) {
                    let renewed = driven.room.renew(driven.now, place).is_ok();
                    prop_assert!(!(renewed && self.ended.contains(&place)), "{:?} lives on", place);
                }
            }
            Op::Finish(at) => {
                if let Some((place, _)) = self.pick(at)
                    && driven.room.finish(driven.now, place).is_ok()
                {
                    self.ended.push(place);
                }
            }
            Op::Abandon(at) => {
                if let Some((place, id)) = self.pick(at) {
                    driven.room.abandon(driven.now, place, device(id)).expect("the place is ours");
                    self.ended.push(place);
                }
            }
            Op::Wait(ms) => driven.now = driven.now.saturating_add(Duration::from_millis(ms.into())),
            Op::ClockBack(ms) => driven.now = driven.now.saturating_sub(Duration::from_millis(ms.into())),
            Op::Operate(ref action) => {
                driven
                    .room
                    .operate(driven.now, "ada", action.clone())
                    .expect("legal in every phase met here");
            }
            Op::Tick => {
                driven.tick();
            }
            Op::Crash => {
                driven.room.recover().expect("its own records fit");
                driven.law = Law::default();
            }
        }
        Ok(())
    }

    /// Nobody's position is higher than what they were told before.
    fn look_at_positions(&mut self, driven: &mut Driven) -> Result<(), TestCaseError> {
        let facts = driven.room.expire(driven.now);
        let event = EventId::parse("drop").expect("a valid name");
        let (settings, order) = (driven.room.settings(), CallOrder::default());
        let public = snapshot(&event, settings, &facts, &order, false, Planted::default());
        for (place, _) in &self.places {
            let position =
                status(&public, *place, driven.now, Language::En).expect("this epoch").position.unwrap_or(0);
            let before = *self.positions.get(place).unwrap_or(&u64::MAX);
            prop_assert!(position <= before, "{:?} went from {} to {}", place, before, position);
            self.positions.insert(*place, position);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn capacity_numbers_bits_and_positions_hold(ops in ops(), capacity in 1..6_u32) {
        let mut driven = Driven::new(settings(capacity));
        let mut seen = Seen::default();
        for op in &ops {
            let before = driven.sessions();
            seen.step(&mut driven, op)?;
            let facts = driven.room.expire(driven.now);
            prop_assert!(facts.sessions <= facts.capacity.max(before), "below a lowered capacity sessions only fall");
            seen.look_at_positions(&mut driven)?;
        }
    }

    /// A room rebuilt from its records is the room that wrote them, but for the numbers it burns.
    #[test]
    fn records_carry_the_whole_room(ops in ops()) {
        let mut driven = Driven::new(settings(3));
        let mut seen = Seen::default();
        let mut records = BTreeMap::new();
        for op in &ops {
            seen.step(&mut driven, op)?;
            for (key, value) in driven.room.take_changes().records {
                let key = key.encode().expect("encodes");
                match value {
                    Some(value) => records.insert(key, value.encode().expect("encodes")),
                    None => records.remove(&key),
                };
            }
        }
        let decoded = records.iter().map(|(key, value)| {
            (RecordKey::decode(key).expect("decodes"), RecordValue::decode(value).expect("decodes"))
        });
        let restored = Room::restore(settings(3), decoded).expect("records fit");
        driven.room.recover().expect("records fit");
        prop_assert_eq!(restored, driven.room);
    }
}
