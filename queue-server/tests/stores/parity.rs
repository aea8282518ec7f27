//! Both stores give the same answer to every operation of a history, through restarts and crashes, without tolerance.

use crate::{
    advance, block_on,
    history::{Course, Step, any_action, steps},
    manual_clock, open, settings,
};
use proptest::prelude::*;
use queue_server::store::MemoryStore;
use shared::room::Room;

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_embedded_store_equals_its_twin(steps in steps(any_action())) {
        block_on(compare(&steps))?;
    }
}

async fn compare(steps: &[Step]) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let (clock, hand) = manual_clock();
    let twin = MemoryStore::new(Room::new(settings()), clock.clone());
    let (mut store, mut room) = open(dir.path(), &clock);
    let mut course = Course::default();
    // At last both are brought back once more and compared whole.
    for step in steps.iter().chain([&Step::Crash]) {
        match step {
            Step::Wait(span) => advance(&hand, *span),
            Step::Restart => {
                store.close().await;
                (store, room) = open(dir.path(), &clock);
                twin.apply(|room, _| room.recover()).unwrap();
            }
            Step::Crash => {
                // After a tick everything is durable, so a crash forgets nothing that the twin knows.
                let ticked = course.take(&twin, &Step::Tick).await;
                prop_assert_eq!(&course.take(&*room, &Step::Tick).await, &ticked);
                course.note(&ticked);
                store.crash().await;
                (store, room) = open(dir.path(), &clock);
                twin.apply(|room, _| room.recover()).unwrap();
            }
            step => {
                let expected = course.take(&twin, step).await;
                let answer = course.take(&*room, step).await;
                prop_assert_eq!(&answer, &expected, "{:?}", step);
                course.note(&answer);
            }
        }
    }
    let stored = room.apply(|room, _| room.clone()).await.unwrap();
    prop_assert_eq!(stored, twin.apply(|room, _| room.clone()));
    Ok(())
}
