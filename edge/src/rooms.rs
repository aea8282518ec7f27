//! An isolate's copy of each room: the last snapshot, and the sessions that ended early. Renewed at most once a second,
//! beside the answers that use it.

use crate::clock;
use crate::incoming::Incoming;
use crate::isolate::Isolate;
use crate::memory::RoomMemory;
use crate::refusal::{Refusal, ServerUnreachable};
use crate::server::ServerCall;
use shared::gate::{Look, PASS_GRACE};
use shared::ids::{EventId, Place};
use shared::time::Timestamp;
use shared::wire::{EndedPage, Snapshot};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use worker::{Delay, console_warn};

/// The snapshot of an event: the one in memory, renewed beside this request when it is a second old; where there is none,
/// one that is fetched now. `None` if that fails.
pub(crate) async fn snapshot(incoming: &Incoming, event: &EventId) -> Result<Option<Arc<Snapshot>>, Refusal> {
    let room = incoming.room(event)?;
    let mut now = incoming.now;
    for _ in 0..LOOKS_MAX {
        let look = room.slot.borrow_mut().look(now);
        match look {
            Look::Use | Look::Missing => break,
            Look::UseAndRenew => {
                let (isolate, event) = (Rc::clone(&incoming.isolate), event.clone());
                incoming.beside(async move { renew(&isolate, &event, now).await });
                break;
            }
            Look::Fetch => {
                renew(&incoming.isolate, event, now).await;
                break;
            }
            Look::LookAgain => {
                // A timer of this request's own: waiting for another request's fetch would tie the two together.
                Delay::from(LOOK_AGAIN_AFTER).await;
                now = clock::now();
            }
        }
    }
    Ok(room.slot.borrow().snapshot())
}

/// Remembers that the session of a place ended just now: this isolate knows it at once, the others learn it from the feed.
pub(crate) fn note_ended(incoming: &Incoming, event: &EventId, place: Place) -> Result<(), Refusal> {
    let kept_for = ended_kept_for(&incoming.isolate, event);
    incoming.room(event)?.ended.borrow_mut().insert(place, clock::now(), kept_for);
    Ok(())
}

/// As long as a pass of the event may open the gate.
fn ended_kept_for(isolate: &Isolate, event: &EventId) -> Duration {
    isolate.config.event(event).map_or(PASS_GRACE, |event| event.pass_life + PASS_GRACE)
}

/// Fetches the snapshot, and what its feed of ended sessions has that this isolate has not.
async fn renew(isolate: &Isolate, event: &EventId, began: Timestamp) {
    let Some(room) = isolate.rooms.get(event) else { return };
    // What failed is logged where it failed, and the old snapshot stays.
    let _ = renew_parts(isolate, event, room).await;
    room.slot.borrow_mut().renewal_ended(began, clock::now());
}

async fn renew_parts(isolate: &Isolate, event: &EventId, room: &RoomMemory) -> Result<(), ServerUnreachable> {
    let path = format!("{}/events/{event}", isolate.config.site.prefix);
    let json = ServerCall::get(path, BUDGET_MS).text(isolate).await?;
    let snapshot: Snapshot = read(&json)?;
    let ended_seq = snapshot.ended_seq;
    room.slot.borrow_mut().take(snapshot, &json, clock::now());
    let kept_for = ended_kept_for(isolate, event);
    for _ in 0..ENDED_PAGES_MAX {
        let seq = room.ended.borrow().seq();
        if seq == ended_seq {
            break;
        }
        let path = format!("/v1/edge/events/{event}/ended?after={seq}");
        let page: EndedPage = read(&ServerCall::get(path, BUDGET_MS).text(isolate).await?)?;
        let is_newest = page.seq >= ended_seq || page.seq == seq;
        room.ended.borrow_mut().take(&page, clock::now(), kept_for);
        if is_newest {
            break;
        }
    }
    Ok(())
}

fn read<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, ServerUnreachable> {
    serde_json::from_str(json).map_err(|error| {
        console_warn!("the queue server's answer cannot be read: {error}");
        ServerUnreachable
    })
}

/// A request waits at most two seconds for the first snapshot.
const LOOKS_MAX: usize = 40;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);
const BUDGET_MS: u32 = 2_000;

/// Pages of ended sessions in one renewal; the rest comes with the next.
const ENDED_PAGES_MAX: usize = 4;
