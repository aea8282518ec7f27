//! What a crash at any moment must not break, even where it forgets what no answer waited for.

use crate::{
    advance, block_on,
    history::{Answer, Course, Step, hash, steps},
    manual_clock, open, settings,
};
use proptest::prelude::*;
use queue_server::store::RoomStore;
use shared::{
    ids::{LaneId, Place},
    room::{Action, EnterRefusal, JoinRequest, Joined, Session},
    time::Timestamp,
};
use std::collections::{BTreeMap, BTreeSet};

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_breaks_no_promise(steps in steps(mild_action())) {
        block_on(keeps_promises(&steps))?;
    }
}

/// Orders under which joining stays possible, and capacity and numbers are promises.
fn mild_action() -> impl Strategy<Value = Action> {
    prop_oneof![3 => Just(Action::Open), 1 => Just(Action::Pause), 1 => Just(Action::PassThrough)]
}

/// What the store has acknowledged.
#[derive(Default)]
struct Acknowledged {
    given: BTreeSet<Place>,
    /// Redeemed: a ticket enters once.
    spent: BTreeSet<Place>,
    sessions: BTreeMap<Place, Session>,
}

async fn keeps_promises(steps: &[Step]) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let (clock, hand) = manual_clock();
    let (mut store, mut room) = open(dir.path(), &clock);
    let mut course = Course::default();
    let mut acknowledged = Acknowledged::default();
    for step in steps.iter().chain([&Step::Crash]) {
        match step {
            Step::Wait(span) => advance(&hand, *span),
            Step::Restart => {
                store.close().await;
                (store, room) = open(dir.path(), &clock);
            }
            Step::Crash => {
                store.crash().await;
                (store, room) = open(dir.path(), &clock);
                acknowledged.check(&*room, clock.now()).await?;
            }
            step => {
                let answer = course.take(&*room, step).await;
                acknowledged.note(&course, step, &answer)?;
                course.note(&answer);
            }
        }
    }
    Ok(())
}

impl Acknowledged {
    fn note(&mut self, course: &Course, step: &Step, answer: &Answer) -> Result<(), TestCaseError> {
        match answer {
            Answer::Joined(Ok(Ok(Joined { place, existed, session, .. }))) => {
                prop_assert!(*existed || self.given.insert(*place), "{place:?} was given twice");
                if let (false, Some(session)) = (existed, session) {
                    self.enter(*place, *session)?;
                }
            }
            Answer::Entered(Ok(Ok(session))) => {
                if let Step::Redeem(pick) = step {
                    self.enter(course.place(*pick), *session)?;
                }
            }
            Answer::Renewed(Ok(Ok(session))) => {
                if let Step::Renew(pick) | Step::Extend(pick) = step {
                    self.sessions.insert(course.place(*pick), *session);
                }
            }
            Answer::Finished(Ok(Ok(()))) => {
                if let Step::Finish(pick) = step {
                    self.sessions.remove(&course.place(*pick));
                }
            }
            Answer::Abandoned(Ok(Ok(()))) => {
                if let Step::Abandon(pick) = step {
                    let place = course.place(*pick);
                    self.spent.insert(place);
                    self.sessions.remove(&place);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The same session again, or a first one.
    fn enter(&mut self, place: Place, session: Session) -> Result<(), TestCaseError> {
        let before = self.sessions.insert(place, session);
        let is_first = self.spent.insert(place);
        prop_assert!(is_first || before.is_some(), "{place:?} entered twice");
        Ok(())
    }

    async fn check(&mut self, room: &dyn RoomStore, now: Timestamp) -> Result<(), TestCaseError> {
        let mut inside = 0;
        for &place in &self.spent {
            let told = self.sessions.get(&place).copied();
            match room.redeem(place, hash(0)).await.unwrap() {
                // The room's time stood still while it was down, so a session may last longer than was told.
                Ok(session) => {
                    let is_known = told.is_some_and(|told| session.expires_at >= told.expires_at);
                    prop_assert!(is_known, "{place:?} entered twice, or lost some of its time");
                    self.sessions.insert(place, session);
                    inside += 1;
                }
                Err(refusal) => {
                    prop_assert_eq!(refusal, EnterRefusal::Spent, "a spent bit was lost");
                    prop_assert!(told.is_none_or(|told| told.expires_at <= now), "a session was lost");
                }
            }
        }
        prop_assert!(inside <= settings().capacity);
        let request = JoinRequest::new(LaneId(0), hash(200));
        let joined = room.join(request).await.unwrap().unwrap();
        prop_assert!(joined.existed || self.given.insert(joined.place), "{:?} was reissued", joined.place);
        Ok(())
    }
}
