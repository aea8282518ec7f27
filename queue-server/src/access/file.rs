//! `access.toml` in the data directory: the hashes of the bearer keys.

use super::{AccessKey, AccessKeys, KEYS_MAX, Role, Shops};
use crate::data_dir;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Why the keys cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AccessFileError {
    #[error("cannot {action} {path}: {error}", path = path.display())]
    Io { action: &'static str, path: PathBuf, error: io::Error },
    #[error("{path} is not a file of access keys: {reason}", path = path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("there are {KEYS_MAX} keys already: revoke one first")]
    TooMany,
    #[error("the random source of the system failed")]
    Random,
}

impl AccessKeys {
    /// The keys of `data_dir`; none where it has no file.
    pub fn read(data_dir: &Path) -> Result<Self, AccessFileError> {
        let path = Self::path_in(data_dir);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text).map_err(|reason| AccessFileError::Unreadable { path, reason }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(AccessFileError::Io { action: "read", path, error }),
        }
    }

    /// Where the keys of `data_dir` lie.
    pub fn path_in(data_dir: &Path) -> PathBuf {
        data_dir.join(FILE)
    }

    /// Writes the file anew, whole or not at all.
    pub fn save(&self, data_dir: &Path) -> Result<(), AccessFileError> {
        let written = data_dir::write_whole(data_dir, FILE, &self.to_text());
        written.map_err(|error| AccessFileError::Io { action: "write", path: Self::path_in(data_dir), error })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let layout: Layout = toml::from_str(text).map_err(|error| error.to_string())?;
        if layout.key.len() > KEYS_MAX {
            return Err(format!("at most {KEYS_MAX} keys, not {}", layout.key.len()));
        }
        let keys: Result<Vec<AccessKey>, String> = layout.key.into_iter().map(AccessKey::try_from).collect();
        Ok(Self { keys: keys? })
    }

    fn to_text(&self) -> String {
        let entry = |key: &AccessKey| {
            let names =
                |names: Vec<&str>| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
            let roles = names(key.roles.iter().map(|role| role.name()).collect());
            let shops = match &key.shops {
                Shops::All => quoted(EVERY_SHOP),
                Shops::Named(shops) => names(shops.iter().map(String::as_str).collect()),
            };
            let hash = data_encoding::HEXLOWER.encode(&key.hash);
            format!(
                "\n[[key]]\nid = {}\nnote = {}\nroles = [{roles}]\nshops = [{shops}]\nsha256 = \"{hash}\"\n",
                quoted(&key.id),
                quoted(&key.note)
            )
        };
        std::iter::once(HEAD.to_owned()).chain(self.keys.iter().map(entry)).collect()
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Layout {
    #[serde(default)]
    key: Vec<KeyLayout>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KeyLayout {
    id: String,
    #[serde(default)]
    note: String,
    roles: Vec<String>,
    shops: Vec<String>,
    sha256: String,
}

impl TryFrom<KeyLayout> for AccessKey {
    type Error = String;

    fn try_from(layout: KeyLayout) -> Result<Self, String> {
        let KeyLayout { id, note, roles, shops, sha256 } = layout;
        let role =
            |name: &String| Role::parse(name).ok_or_else(|| format!("key {id}: no role is named {name:?}"));
        let roles = roles.iter().map(role).collect::<Result<_, _>>()?;
        let shops =
            if shops == [EVERY_SHOP] { Shops::All } else { Shops::Named(shops.into_iter().collect()) };
        let hash = data_encoding::HEXLOWER.decode(sha256.as_bytes()).ok();
        let hash = hash.and_then(|hash| hash.try_into().ok());
        let hash = hash.ok_or_else(|| format!("key {id}: sha256 is 64 digits 0-9 and a-f"))?;
        Ok(Self { id, note, roles, shops, hash })
    }
}

/// A basic string of TOML; what is quoted here has no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

const FILE: &str = "access.toml";

const EVERY_SHOP: &str = "*";

const HEAD: &str =
    "# Who may call the service side of this Fairgate. Only hashes are kept: a lost key is made anew.\n";
