//! `keys.toml` in the data directory: made on the first run, readable by its owner only.

use super::{PassKey, PassKeyError};
use crate::{clock::Clock, data_dir};
use serde::Deserialize;
use shared::{
    time::Timestamp,
    token::{KeyId, MasterKeys, ServerKeys, keyring::KeyringError},
};
use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The secrets of one installation.
pub struct KeyFile {
    master: MasterKeys,
    /// The newest, which signs, first.
    pass_keys: Vec<PassKey>,
    made_at: Timestamp,
}

/// Why the secrets cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("cannot {action} {path}: {error}", path = path.display())]
    Io { action: &'static str, path: PathBuf, error: io::Error },
    #[error("{path} is not a key file of Fairgate; restore it from a backup, or remove it to void all tickets", path = path.display())]
    Unreadable { path: PathBuf },
    #[error("{dir} holds no keys.toml; name the data directory with --data-dir", dir = dir.display())]
    Missing { dir: PathBuf },
    #[error("other users of this machine may read {path}: run `chmod 600 {path}`, and `fairgate keys rotate` where one of them may have", path = path.display())]
    OpenToOthers { path: PathBuf },
    #[error("{0}")]
    Keyring(#[from] KeyringError),
    #[error("{0}")]
    PassKey(#[from] PassKeyError),
    #[error("the random source of the system failed")]
    Random,
    #[error("every key id from 1 to 255 has been used")]
    IdsExhausted,
}

/// Which key a rotation brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedKey {
    pub id: KeyId,
    /// It signs from now on; otherwise it only verifies.
    pub signs: bool,
}

impl KeyFile {
    /// Reads the keys of `data_dir`, or makes them on the first run.
    pub fn open(data_dir: &Path) -> Result<Self, KeyFileError> {
        let path = path_in(data_dir);
        match fs::read_to_string(&path) {
            Ok(_) if is_open_to_others(&path) => Err(KeyFileError::OpenToOthers { path }),
            Ok(text) => Self::parse(&text).ok_or(KeyFileError::Unreadable { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(data_dir),
            Err(error) => Err(KeyFileError::Io { action: "read", path, error }),
        }
    }

    /// Reads the keys of `data_dir`, for what would void lost ones if it made new ones.
    pub fn existing(data_dir: &Path) -> Result<Self, KeyFileError> {
        if !path_in(data_dir).exists() {
            return Err(KeyFileError::Missing { dir: data_dir.to_owned() });
        }
        Self::open(data_dir)
    }

    /// Everything symmetric.
    pub fn server_keys(&self) -> ServerKeys {
        ServerKeys::new(&self.master)
    }

    /// When the first of them was made.
    pub fn made_at(&self) -> Timestamp {
        self.made_at
    }

    pub fn pass_keys(&self) -> &[PassKey] {
        &self.pass_keys
    }

    /// The next step of a rotation: a key that was prepared begins to sign, otherwise a new one is prepared; `at_once` it signs
    /// too. A pass key is made with each new master key, and signs from the same moment: the shops see it in the JWK set
    /// before.
    pub fn rotate(&mut self, at_once: bool) -> Result<PreparedKey, KeyFileError> {
        if let Some(id) = self.prepared() {
            self.master = self.master.clone().with_current(id)?;
            self.pass_keys.swap(0, 1);
            return Ok(PreparedKey { id, signs: true });
        }
        let next = self.ids().into_iter().max().unwrap_or_default().checked_add(1);
        let id = KeyId(next.ok_or(KeyFileError::IdsExhausted)?);
        let mut master = self.master.clone().with_key(id, random()?)?;
        if at_once {
            master = master.with_current(id)?;
        }
        // The first of them signs.
        self.pass_keys.insert(usize::from(!at_once), PassKey::generate()?);
        self.pass_keys.truncate(PASS_KEYS_MAX);
        self.master = master;
        Ok(PreparedKey { id, signs: at_once })
    }

    /// Drops a key: every ticket sealed under it is void.
    pub fn retire(&mut self, id: KeyId) -> Result<(), KeyFileError> {
        self.master = self.master.clone().without(id)?;
        Ok(())
    }

    /// Writes the file anew, whole or not at all.
    pub fn save(&self, data_dir: &Path) -> Result<(), KeyFileError> {
        let written = data_dir::write_whole(data_dir, FILE, &self.to_text());
        written.map_err(|error| KeyFileError::Io { action: "write", path: path_in(data_dir), error })
    }

    fn create(data_dir: &Path) -> Result<Self, KeyFileError> {
        let keys = Self {
            master: MasterKeys::first(random()?),
            pass_keys: vec![PassKey::generate()?],
            made_at: Clock::start().now(),
        };
        let draft = data_dir::write_draft(data_dir, FILE, &keys.to_text());
        let draft = draft.map_err(|error| KeyFileError::Io {
            action: "write in",
            path: data_dir.to_owned(),
            error,
        })?;
        let path = path_in(data_dir);
        // A link fails where a file is: of two first runs at once, both use the keys of the faster one.
        let linked = fs::hard_link(&draft, &path);
        let _ = fs::remove_file(&draft);
        match linked {
            Ok(()) => Ok(keys),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::open(data_dir),
            Err(error) => Err(KeyFileError::Io { action: "write", path, error }),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let layout: Layout = toml::from_str(text).ok()?;
        let pass_keys: Result<Vec<_>, _> =
            layout.pass_key.iter().map(|key| PassKey::from_pem(&key.pem)).collect();
        let pass_keys = pass_keys.ok().filter(|keys| !keys.is_empty())?;
        let made_at = Timestamp::from_millis(layout.made_at_s.saturating_mul(1000));
        Some(Self { master: MasterKeys::parse(&layout.master).ok()?, pass_keys, made_at })
    }

    fn to_text(&self) -> String {
        let (made_at_s, master) = (self.made_at.as_secs(), self.master.to_text());
        let head = format!("{HEAD}made_at_s = {made_at_s}\nmaster = \"{master}\"\n");
        let pass_key = |key: &PassKey| {
            format!("\n[[pass_key]]\nkid = \"{}\"\npem = \"\"\"\n{}\"\"\"\n", key.kid(), key.pem())
        };
        std::iter::once(head).chain(self.pass_keys.iter().map(pass_key)).collect()
    }

    /// A key newer than the one that signs.
    fn prepared(&self) -> Option<KeyId> {
        let current = self.master.current();
        self.ids().into_iter().max().map(KeyId).filter(|newest| *newest > current)
    }

    fn ids(&self) -> Vec<u8> {
        self.master.ids().map(|id| id.0).collect()
    }
}

fn path_in(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o007 != 0)
}

fn random() -> Result<[u8; 32], KeyFileError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| KeyFileError::Random)?;
    Ok(bytes)
}

#[derive(Deserialize)]
struct Layout {
    made_at_s: u64,
    master: String,
    #[serde(default)]
    pass_key: Vec<PassKeyLayout>,
}

#[derive(Deserialize)]
struct PassKeyLayout {
    pem: String,
}

/// Passes live at most an hour, so older keys have nothing left to verify.
const PASS_KEYS_MAX: usize = 3;

const FILE: &str = "keys.toml";

const HEAD: &str =
    "# The secrets of this Fairgate installation. Whoever reads this file can mint places and passes.\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        KeyFile::open(dir.path()).unwrap();
        let path = path_in(dir.path());
        set_mode(&path, 0o644);
        let error = KeyFile::open(dir.path()).err().unwrap().to_string();
        assert!(error.contains(&format!("`chmod 600 {}`", path.display())), "{error}");
        // A group is somebody's choice.
        set_mode(&path, 0o640);
        assert!(KeyFile::open(dir.path()).is_ok());
    }

    #[test]
    fn keys_are_made_once_and_only_the_owner_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let nested = dir.path().join("data");
        let first = KeyFile::open(&nested).unwrap();
        let again = KeyFile::open(&nested).unwrap();
        assert_eq!(first.to_text(), again.to_text());
        let mode = fs::metadata(path_in(&nested)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mode = fs::metadata(&nested).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "whatever the umask");
        assert_eq!(fs::read_dir(&nested).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_rotation_keeps_the_old_key() {
        let dir = tempfile::tempdir().unwrap();
        let mut keys = KeyFile::open(dir.path()).unwrap();
        let old = keys.server_keys().edge().to_text();
        assert_eq!(keys.rotate(true).unwrap(), PreparedKey { id: KeyId(2), signs: true });
        keys.save(dir.path()).unwrap();
        let reopened = KeyFile::open(dir.path()).unwrap();
        let new = reopened.server_keys().edge().to_text();
        let (_, old_secrets) = old.split_once("1=").unwrap();
        assert!(new.starts_with("edge;current=2;1="));
        assert!(new.contains(old_secrets));
        assert_eq!(reopened.pass_keys().len(), 2);
    }

    #[test]
    fn a_prepared_key_signs_at_the_next_rotation() {
        let dir = tempfile::tempdir().unwrap();
        let mut keys = KeyFile::open(dir.path()).unwrap();
        let signing = keys.pass_keys()[0].kid().to_owned();
        assert_eq!(keys.rotate(false).unwrap(), PreparedKey { id: KeyId(2), signs: false });
        let prepared = keys.pass_keys()[1].kid().to_owned();
        assert_eq!(keys.pass_keys()[0].kid(), signing, "passes are signed as before");
        assert_eq!(keys.rotate(false).unwrap(), PreparedKey { id: KeyId(2), signs: true });
        assert_eq!(keys.pass_keys()[0].kid(), prepared);
        keys.retire(KeyId(1)).unwrap();
        assert!(keys.retire(KeyId(2)).is_err(), "the key that signs stays");
    }

    #[test]
    fn a_fifth_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut keys = KeyFile::open(dir.path()).unwrap();
        for _ in 0..3 {
            keys.rotate(true).unwrap();
        }
        assert!(matches!(keys.rotate(true), Err(KeyFileError::Keyring(KeyringError::TooManyKeys))));
    }

    #[test]
    fn a_broken_file_is_named_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(path_in(dir.path()), "master = 1").unwrap();
        set_mode(&path_in(dir.path()), 0o600);
        assert!(matches!(KeyFile::open(dir.path()), Err(KeyFileError::Unreadable { .. })));
        assert_eq!(fs::read_to_string(path_in(dir.path())).unwrap(), "master = 1");
    }
}
