//! Generated histories: one list of operations for every store.

use proptest::prelude::*;
use queue_server::store::{Called, RoomStore, Stored};
use shared::{
    ids::{DeviceHash, Epoch, LaneId, Place, TicketNumber},
    room::{
        Action, ActionRefusal, CallOrder, EnterRefusal, Extender, Facts, JoinRefusal, JoinRequest, Joined,
        Law, LogEntry, Session, SessionRefusal,
    },
    wire::EndedPage,
};
use std::time::Duration;

/// One step. A `usize` picks one of the places that were given so far.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Wait(Duration),
    Join { device: u8, lane: u8, presented: Option<usize>, may_enter: bool },
    Abandon(usize),
    Redeem(usize),
    Renew(usize),
    Finish(usize),
    Extend(usize),
    Operate(Action),
    Log,
    Tick,
    EndedAfter(u64),
    Restart,
    Crash,
}

/// What a store said.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Joined(Stored<Result<Joined, JoinRefusal>>),
    Entered(Stored<Result<Session, EnterRefusal>>),
    Abandoned(Stored<Result<(), EnterRefusal>>),
    Renewed(Stored<Result<Session, SessionRefusal>>),
    Finished(Stored<Result<(), SessionRefusal>>),
    Operated(Stored<Result<Facts, ActionRefusal>>),
    Logged(Stored<Vec<LogEntry>>),
    Ticked(Box<Facts>, Called),
    Ended(Stored<EndedPage>),
    Nothing,
}

/// What a history carries along: places that were given, and the calling law.
#[derive(Default)]
pub(crate) struct Course {
    pub(crate) places: Vec<Place>,
    law: Law,
}

/// Every order.
pub(crate) fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => Just(Action::Open),
        2 => Just(Action::Pause),
        1 => Just(Action::SellOut),
        2 => Just(Action::Restock),
        2 => Just(Action::PassThrough),
        1 => Just(Action::LetEveryoneIn),
        2 => (0_u32..20).prop_map(|capacity| Action::Capacity(Some(capacity))),
        1 => Just(Action::Message(None)),
        1 => Just(Action::VoidTickets),
    ]
}

pub(crate) fn steps(action: impl Strategy<Value = Action> + 'static) -> impl Strategy<Value = Vec<Step>> {
    let pick = 0_usize..1_000;
    let join = (any::<u8>(), 0_u8..3, proptest::option::weighted(0.2, pick.clone()), any::<bool>());
    let step = prop_oneof![
        4 => (0_u64..4_000).prop_map(|ms| Step::Wait(Duration::from_millis(ms))),
        8 => join.prop_map(|(device, lane, presented, may_enter)| Step::Join {
            device: device % 40, lane, presented, may_enter
        }),
        1 => pick.clone().prop_map(Step::Abandon),
        8 => pick.clone().prop_map(Step::Redeem),
        2 => pick.clone().prop_map(Step::Renew),
        1 => pick.clone().prop_map(Step::Extend),
        3 => pick.prop_map(Step::Finish),
        2 => action.prop_map(Step::Operate),
        1 => Just(Step::Log),
        8 => Just(Step::Tick),
        1 => (0_u64..20).prop_map(Step::EndedAfter),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
    ];
    proptest::collection::vec(step, 1..150)
}

impl Course {
    /// Takes one step against one store. The law is not changed: all stores of a course see the same order.
    pub(crate) async fn take(&self, store: &dyn RoomStore, step: &Step) -> Answer {
        match *step {
            Step::Join { device, lane, presented, may_enter } => {
                let presented = presented.map(|pick| self.place(pick));
                let request =
                    JoinRequest { presented, may_enter, ..JoinRequest::new(LaneId(lane), hash(device)) };
                Answer::Joined(store.join(request).await)
            }
            Step::Abandon(pick) => {
                Answer::Abandoned(store.abandon(self.place(pick), device_of(self.place(pick))).await)
            }
            Step::Redeem(pick) => {
                Answer::Entered(store.redeem(self.place(pick), device_of(self.place(pick))).await)
            }
            Step::Renew(pick) => Answer::Renewed(store.renew(self.place(pick)).await),
            Step::Extend(pick) => Answer::Renewed(store.extend(self.place(pick), Extender::Buyer).await),
            Step::Operate(ref action) => {
                Answer::Operated(store.operate("ada".to_owned(), action.clone()).await)
            }
            Step::Log => Answer::Logged(store.log().await),
            Step::Finish(pick) => Answer::Finished(store.finish(self.place(pick)).await),
            Step::Tick => {
                let facts = store.expire().await.unwrap();
                let order = self.order(&facts);
                Answer::Ticked(Box::new(facts), store.call(order).await.unwrap())
            }
            Step::EndedAfter(seq) => Answer::Ended(store.ended_after(seq).await),
            Step::Wait(_) | Step::Restart | Step::Crash => Answer::Nothing,
        }
    }

    /// Learns from an answer on which the stores agree.
    pub(crate) fn note(&mut self, answer: &Answer) {
        match answer {
            Answer::Joined(Ok(Ok(joined))) if !self.places.contains(&joined.place) => {
                self.places.push(joined.place);
            }
            Answer::Ticked(facts, _) => drop(self.law.decide(&crate::settings(), facts)),
            _ => {}
        }
    }

    fn order(&self, facts: &Facts) -> CallOrder {
        self.law.clone().decide(&crate::settings(), facts)
    }

    /// A place that was given, now and then one that never was.
    pub(crate) fn place(&self, pick: usize) -> Place {
        let foreign = match pick % 50 {
            0 => Some((2, 0, 1)),
            1 => Some((1, 7, 1)),
            2 => Some((1, 0, 0)),
            _ => None,
        };
        let known = self.places.get(pick.checked_rem(self.places.len()).unwrap_or(0)).copied();
        let place = |(epoch, lane, number)| Place {
            epoch: Epoch(epoch),
            lane: LaneId(lane),
            number: TicketNumber(number),
        };
        foreign.map(place).or(known).unwrap_or_else(|| place((1, 0, 1)))
    }
}

pub(crate) fn hash(device: u8) -> DeviceHash {
    DeviceHash([device; 8])
}

fn device_of(place: Place) -> DeviceHash {
    hash(u8::try_from(place.number.0 % 40).unwrap())
}
