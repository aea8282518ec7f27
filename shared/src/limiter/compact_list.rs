//! Many compact lockouts in one line, `Action.Identity=setting;…`, as a shop keeps them for one of its services.

use super::compact::{CompactError, CompactLockout};
use core::str::FromStr;

/// Most settings of one list.
pub const ENTRIES_MAX: usize = 256;

/// The settings of a list, in its order; no action has two of one identity.
///
/// ```
/// use shared::limiter::compact_list::CompactList;
/// let list: CompactList = "CartsCreate.MemberId=true|3|1|30;CartsCreate.ShopId=true|200|1|0".parse().unwrap();
/// assert_eq!(list.entries[1].identity, "ShopId");
/// let error = "CartsCreate.MemberId=true|3|1|30;CartsCreate=true|3|1|30".parse::<CompactList>().unwrap_err();
/// assert_eq!(error.to_string(), "setting 2 (CartsCreate): name it Action.Identity, such as CartsCreate.MemberId");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactList {
    /// At most [`ENTRIES_MAX`].
    pub entries: Vec<CompactEntry>,
}

/// One setting of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactEntry {
    /// What is done, such as `CartsCreate`.
    pub action: String,
    /// What it is counted by, such as `MemberId`.
    pub identity: String,
    /// How often, and whether at all.
    pub setting: CompactLockout,
}

/// Where a list is malformed, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("setting {number} ({name}): {fault}")]
pub struct CompactListError {
    /// Which setting, from 1.
    pub number: usize,
    /// Its name as it is written, at most 80 characters of it.
    pub name: String,
    /// What is wrong with it.
    pub fault: CompactListFault,
}

/// What is wrong with one setting of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactListFault {
    /// No equals sign.
    #[error("write Action.Identity=enabled|max|window_s|lock_s")]
    NoSetting,
    /// The name has not two parts, or a part is no name.
    #[error("name it Action.Identity, such as CartsCreate.MemberId")]
    NotAName,
    /// The action has a setting of this identity already.
    #[error("it is set before; set it once")]
    Repeated,
    /// Too many.
    #[error("a list has at most {ENTRIES_MAX} settings")]
    TooMany,
    /// The setting itself.
    #[error(transparent)]
    Setting(#[from] CompactError),
}

impl FromStr for CompactList {
    type Err = CompactListError;

    /// Reads a list; a semicolon behind the last setting and spaces around each are passed over.
    fn from_str(text: &str) -> Result<Self, CompactListError> {
        let mut list = Self::default();
        let settings = text.split(';').map(str::trim).filter(|setting| !setting.is_empty());
        for (index, setting) in settings.enumerate() {
            let (name, value) =
                setting.split_once('=').map_or((setting, None), |(name, value)| (name, Some(value)));
            let entry = list.read(name.trim(), value.map(str::trim));
            let number = index.saturating_add(1);
            let entry = entry.map_err(|fault| CompactListError { number, name: shortened(name), fault })?;
            list.entries.push(entry);
        }
        Ok(list)
    }
}

impl CompactList {
    fn read(&self, name: &str, value: Option<&str>) -> Result<CompactEntry, CompactListFault> {
        if self.entries.len() >= ENTRIES_MAX {
            return Err(CompactListFault::TooMany);
        }
        let value = value.ok_or(CompactListFault::NoSetting)?;
        let (action, identity) = name.split_once('.').ok_or(CompactListFault::NotAName)?;
        if !is_action_name(action) || !is_action_name(identity) {
            return Err(CompactListFault::NotAName);
        }
        let is_same = |entry: &CompactEntry| entry.action == action && entry.identity == identity;
        if self.entries.iter().any(is_same) {
            return Err(CompactListFault::Repeated);
        }
        let setting = value.parse()?;
        Ok(CompactEntry { action: action.to_owned(), identity: identity.to_owned(), setting })
    }
}

/// Whether this names a service, an action or an identity: 1 to 40 letters and digits, a letter first.
pub fn is_action_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn shortened(name: &str) -> String {
    name.trim().chars().take(80).collect()
}
