//! The data directory: its owner alone reads it, and one server at a time works in it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
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

/// Writes a file of the directory anew, for its owner alone: whole or not at all, whatever happens meanwhile.
pub(crate) fn write_whole(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    let draft = write_draft(dir, name, text)?;
    fs::rename(&draft, dir.join(name)).inspect_err(|_| drop(fs::remove_file(&draft)))
}

/// Writes a file beside the one that it will become.
pub(crate) fn write_draft(dir: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    make(dir)?;
    let draft = dir.join(format!("{name}.{}.draft", uuid::Uuid::new_v4().simple()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.inspect_err(|_| drop(fs::remove_file(&draft)))?;
    Ok(draft)
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
