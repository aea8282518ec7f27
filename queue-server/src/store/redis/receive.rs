//! Takes over the records of rooms that were kept elsewhere.

use super::{
    EventKeys, KeepError, RedisSettings, Wire,
    event::{Author, KeptEvent},
    life,
};
use crate::{
    leader::{Lease, LeaseKeys, LeaseTaken},
    redis::{Address, AddressError, Link},
    store::{HostedRoom, keep::Records},
};
use shared::{ids::EventId, time::Timestamp};
use std::time::Duration;
use tokio::runtime::Runtime;
use uuid::Uuid;

/// Why records were not taken over; nothing of the event that it names was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("Redis does not answer")]
    Silent,
    #[error("a server leads at {0}: stop it first")]
    Led(String),
    #[error("Redis has a room of {0} already: choose another [store] prefix, or remove its keys")]
    Occupied(EventId),
    #[error("the room of {event}: {why}")]
    Room { event: EventId, why: String },
}

/// Writes the records of each room, while no server leads. Each room is there whole or not at all.
pub(crate) fn receive(
    runtime: &Runtime,
    settings: &RedisSettings,
    rooms: &[(HostedRoom, Records)],
    now: Timestamp,
) -> Result<(), ReceiveError> {
    let _entered = runtime.enter();
    let link = Link::open(Address::parse(&settings.url, settings.budget)?, settings.budget);
    let wire = Wire::new(runtime.handle().clone(), link.clone());
    wire.connect(CONNECT_MAX).map_err(|_| ReceiveError::Silent)?;
    let id = Uuid::new_v4().simple().to_string();
    let lease = Lease::new(link, LeaseKeys::new(&settings.prefix));
    let term = match runtime.block_on(lease.take(&id, &settings.advertise)) {
        Ok(LeaseTaken::Taken { term }) => term,
        Ok(LeaseTaken::Held { address }) => return Err(ReceiveError::Led(address)),
        Err(_) => return Err(ReceiveError::Silent),
    };
    let author = Author { term, id: &id };
    let received = rooms.iter().try_for_each(|(room, records)| {
        let event = &room.event;
        let failed = |error: KeepError| ReceiveError::Room { event: event.clone(), why: error.to_string() };
        let keys = EventKeys::new(&settings.prefix, event);
        if wire.has(&keys.records).map_err(failed)? {
            return Err(ReceiveError::Occupied(event.clone()));
        }
        let mut kept = KeptEvent::new(keys, life(&room.settings, now));
        kept.claim(&wire, author).map_err(failed)?;
        // A room that nobody ever asked has no records, and begins anew.
        if records.is_empty() { Ok(()) } else { kept.replace(&wire, author, records).map_err(failed) }
    });
    runtime.block_on(lease.resign(&id));
    received
}

const CONNECT_MAX: Duration = Duration::from_secs(5);
