//! The data directory: its owner alone reads it, and one server at a time works in it.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A data directory that no other server uses while this lives.
#[derive(Debug)]
pub struct DataDir {
    _lock: File,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("{path} is in use by another fairgate: stop it, or name another directory with --data-dir", path = path.display())]
    InUse { path: PathBuf },
    #[error("cannot write in {path}: {error}; name a directory of yours with --data-dir", path = path.display())]
    Unwritable { path: PathBuf, error: io::Error },
}

impl DataDir {
    /// Takes the directory, which is made where it is missing. Two servers with the same keys would give the same numbers twice,
    /// even where one of them keeps its rooms in memory.
    pub fn take(path: &Path) -> Result<Self, DataDirError> {
        let unwritable = |error| DataDirError::Unwritable { path: path.to_owned(), error };
        make(path).map_err(unwritable)?;
        let lock = open(&path.join("lock")).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(unwritable(error)),
        }
    }
}

/// Makes the directory where it is missing, for its owner alone, whatever the umask.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file for its owner alone, or makes it empty where it is missing.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_at_a_time_works_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::take(dir.path()).unwrap();
        let second = DataDir::take(dir.path()).unwrap_err();
        assert!(second.to_string().contains("is in use by another fairgate"), "{second}");
        drop(first);
        assert!(DataDir::take(dir.path()).is_ok());
    }
}
