//! A disk that can be full.

use queue_server::store::Opener;
use redb::{Database, StorageBackend, backends::FileBackend};
use std::{
    fs::OpenOptions,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A file on a disk that can be full.
#[derive(Debug)]
struct FullDisk {
    file: FileBackend,
    is_full: Arc<AtomicBool>,
}

impl FullDisk {
    fn check(&self) -> io::Result<()> {
        let is_full = self.is_full.load(Ordering::SeqCst);
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl StorageBackend for FullDisk {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.file.write(offset, data)
    }
}

/// Opens a database on such a disk.
pub(crate) fn opener(path: &Path, is_full: &Arc<AtomicBool>) -> Opener {
    let (path, is_full) = (path.to_owned(), Arc::clone(is_full));
    Box::new(move || {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let disk = FullDisk { file: FileBackend::new(file).unwrap(), is_full: Arc::clone(&is_full) };
        Ok(Database::builder().create_with_backend(disk).map_err(redb::Error::from)?)
    })
}
