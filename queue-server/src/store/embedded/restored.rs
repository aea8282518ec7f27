//! A copy of the rooms' file on its way back into a data directory: looked at beside the file, and put in its place at once.

use super::{FILE_NAME, disk::Disk};
use crate::{
    data_dir,
    database::{OpenError, opener},
    store::keep::{Keep, Records},
};
use shared::{ids::EventId, time::Timestamp};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// The copy, in the directory where it is wanted. What is there stays as it is until [`take_place`](Self::take_place).
pub(crate) struct Restored {
    disk: Disk,
    draft: Draft,
}

/// Removed with its owner, wherever that ends.
struct Draft(PathBuf);

impl Restored {
    /// Copies the file `from` beside what `data_dir` holds; its owner is the caller. An older format is brought forward.
    pub(crate) fn of(from: &Path, data_dir: &Path) -> Result<Self, OpenError> {
        let unreadable = |error| OpenError::Unwritable { path: from.display().to_string(), error };
        let mut copied = File::open(from).map_err(unreadable)?;
        let draft = Draft(data_dir.join(DRAFT_NAME));
        let _ = fs::remove_file(&draft.0);
        let unwritable = |error| OpenError::Unwritable { path: data_dir.display().to_string(), error };
        let mut file = data_dir::open(&draft.0).map_err(unwritable)?;
        io::copy(&mut copied, &mut file).map_err(unwritable)?;
        drop(file);
        Ok(Self { disk: Disk::open_copy(opener(data_dir, DRAFT_NAME))?, draft })
    }

    /// The events that it holds rooms of.
    pub(crate) fn events(&mut self) -> Result<BTreeSet<String>, OpenError> {
        self.disk.events()
    }

    pub(crate) fn records(&mut self, event: &EventId) -> Result<Records, OpenError> {
        self.disk.read(0, event)
    }

    /// Puts the file in its place, with these rooms in it; where another one is now, if there was one.
    pub(crate) fn take_place(
        mut self,
        rooms: &[(EventId, Records)],
        data_dir: &Path,
        now: Timestamp,
    ) -> Result<Option<PathBuf>, OpenError> {
        self.disk.replace(rooms)?;
        let Self { disk, draft } = self;
        // Its end is written before it is renamed.
        drop(disk);
        let moved = aside(data_dir, now).and_then(|aside| {
            fs::rename(&draft.0, data_dir.join(FILE_NAME))?;
            File::open(data_dir)?.sync_all()?;
            Ok(aside)
        });
        moved.map_err(|error| OpenError::Unwritable { path: data_dir.display().to_string(), error })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already where it has taken its place.
        let _ = fs::remove_file(&self.0);
    }
}

/// Gives the file of the directory a second name, under which it stays.
fn aside(data_dir: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
    let place = data_dir.join(FILE_NAME);
    if !place.exists() {
        return Ok(None);
    }
    let aside = data_dir.join(format!("rooms.replaced-{}.redb", now.as_millis()));
    fs::hard_link(place, &aside)?;
    Ok(Some(aside))
}

const DRAFT_NAME: &str = "rooms.restored.partial";
