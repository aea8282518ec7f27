//! A copy of the rooms in the place of those of a data directory.
//!
//! A copy is older than what buyers were told since it was made, so its rooms do not simply go on: a number that was given meanwhile would be
//! given to a second buyer.

use crate::store::{HostedRoom, Records, Restored};
use anyhow::{Context, Result, bail};
use shared::{
    room::{Room, SinceCopy},
    time::Timestamp,
};
use std::path::Path;

/// What to put where.
pub(crate) struct Restoring<'a> {
    pub(crate) from: &'a Path,
    /// The caller owns it.
    pub(crate) data_dir: &'a Path,
    pub(crate) since: SinceCopy,
    /// Rooms that are there are set aside.
    pub(crate) force: bool,
    pub(crate) now: Timestamp,
}

impl Restoring<'_> {
    /// Puts these rooms back, and says what became of each.
    pub(crate) fn run(&self, hosted: &[HostedRoom]) -> Result<String> {
        if self.data_dir.join("rooms.redb").exists() && !self.force {
            bail!("{} holds rooms: with --force they are set aside", self.data_dir.display());
        }
        let unusable = || format!("{} is no copy of rooms that can be used", self.from.display());
        let mut copy = Restored::of(self.from, self.data_dir).with_context(unusable)?;
        let events = copy.events().with_context(unusable)?;
        let (mut rooms, mut told) = (Vec::new(), Vec::new());
        for hosted in hosted.iter().filter(|hosted| events.contains(hosted.event.as_str())) {
            let (room, line) = self.resumed(hosted, copy.records(&hosted.event).with_context(unusable)?)?;
            rooms.push((hosted.event.clone(), room.records()));
            told.push(line);
        }
        let is_hosted = |event: &&String| hosted.iter().all(|hosted| hosted.event.as_str() != event.as_str());
        for event in events.iter().filter(is_hosted) {
            told.push(format!("{event}: left out, the configuration does not name it.\n"));
        }
        if let Some(aside) = copy.take_place(&rooms, self.data_dir, self.now)? {
            told.push(format!("What was there is kept as {}.\n", aside.display()));
        }
        Ok(told.concat())
    }

    /// A room as it goes on, and what to say of it.
    fn resumed(&self, hosted: &HostedRoom, records: Records) -> Result<(Room, String)> {
        let event = &hosted.event;
        let mut room = Room::restore(hosted.settings.clone(), records)
            .with_context(|| format!("the room of {event} cannot be read"))?;
        let facts = room.resume_from_copy(self.now, "fairgate store restore", self.since);
        let facts = facts.with_context(|| format!("the room of {event} cannot go on"))?;
        let inside = facts.sessions;
        let line = match self.since {
            SinceCopy::Unknown => {
                // The store that is lost may have been in a later one already.
                room.begin_in(facts.epoch.max(hosted.first_epoch));
                format!(
                    "{event}: {inside} inside. Every ticket is void: nobody said how many joined since (--joined).\n"
                )
            }
            SinceCopy::JoinedAtMost(_) => {
                let waiting = facts.lanes.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.waiting));
                format!("{event}: {inside} inside, {waiting} wait; who joined since keeps the place, too.\n")
            }
        };
        Ok((room, line))
    }
}
