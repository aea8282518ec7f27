//! Bearer keys of the service side: who may call what, and for which shops. Without a key nothing is open.

mod command;
mod file;

pub use command::AccessAction;
pub use file::AccessFileError;

use sha2::{Digest, Sha256};
use std::{collections::BTreeSet, fmt};
use subtle::ConstantTimeEq;

/// The keys of one installation. Only their hashes are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessKeys {
    keys: Vec<AccessKey>,
}

/// One key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessKey {
    /// Names the key in logs and in the file; no secret.
    pub id: String,
    /// For people: who uses it.
    pub note: String,
    pub roles: BTreeSet<Role>,
    pub shops: Shops,
    hash: KeyDigest,
}

/// SHA-256 of the whole key. A key has 256 random bits, so no slow hash is needed against guessing.
type KeyDigest = [u8; 32];

/// What the owner of a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Role {
    /// Check, peek, refund and give back.
    #[value(name = "limits:check")]
    LimitsCheck,
    /// Replenish, reset and override policies, and everything that `read` may.
    #[value(name = "limits:admin")]
    LimitsAdmin,
    /// Look at events, policies, coverage and states.
    #[value(name = "read")]
    Read,
    /// Order what an event does, and look at it.
    #[value(name = "operate")]
    Operate,
    /// End and extend sessions, as the shop.
    #[value(name = "sessions")]
    Sessions,
}

/// Which shops a key is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shops {
    All,
    Named(BTreeSet<String>),
}

/// Why a call is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessRefusal {
    #[error("no key was presented")]
    Missing,
    #[error("the key is unknown")]
    Unknown,
    #[error("the key has not the role")]
    Role,
    #[error("the key is not for this shop")]
    Shop,
}

impl AccessKeys {
    /// The key that an `Authorization` value presents.
    pub fn authenticate(&self, authorization: Option<&str>) -> Result<&AccessKey, AccessRefusal> {
        let (scheme, presented) = authorization.and_then(|value| value.split_once(' ')).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("Bearer") {
            return Err(AccessRefusal::Missing);
        }
        let digest = digest_of(presented.trim());
        // Every key is compared, in constant time, so that the time tells neither which ids exist nor how far one matches.
        let mut found = None;
        for key in &self.keys {
            if bool::from(key.hash.ct_eq(&digest)) {
                found = Some(key);
            }
        }
        found.ok_or(AccessRefusal::Unknown)
    }

    pub fn iter(&self) -> impl Iterator<Item = &AccessKey> {
        self.keys.iter()
    }

    /// Adds a key and returns its text, which is shown once and kept nowhere.
    pub fn create(
        &mut self,
        note: String,
        roles: BTreeSet<Role>,
        shops: Shops,
    ) -> Result<String, AccessFileError> {
        if self.keys.len() >= KEYS_MAX {
            return Err(AccessFileError::TooMany);
        }
        let mut bytes = [0; 40];
        getrandom::fill(&mut bytes).map_err(|_| AccessFileError::Random)?;
        let (id, secret) = bytes.split_at(8);
        let id = data_encoding::HEXLOWER.encode(id);
        let text = format!("fgk_{id}_{}", data_encoding::HEXLOWER.encode(secret));
        self.keys.push(AccessKey { id, note, roles, shops, hash: digest_of(&text) });
        Ok(text)
    }

    /// Whether there was a key of this id.
    fn revoke(&mut self, id: &str) -> bool {
        let before = self.keys.len();
        self.keys.retain(|key| key.id != id);
        self.keys.len() < before
    }
}

impl AccessKey {
    pub fn must_have(&self, role: Role) -> Result<(), AccessRefusal> {
        let looks = [Role::LimitsAdmin, Role::Operate];
        let is_covered = role == Role::Read && looks.iter().any(|role| self.roles.contains(role));
        if is_covered || self.roles.contains(&role) { Ok(()) } else { Err(AccessRefusal::Role) }
    }

    pub fn must_cover(&self, shop: &str) -> Result<(), AccessRefusal> {
        if self.shops.covers(shop) { Ok(()) } else { Err(AccessRefusal::Shop) }
    }
}

impl Shops {
    pub fn covers(&self, shop: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(shop),
        }
    }
}

impl Role {
    const ALL: [Self; 5] = [Self::LimitsCheck, Self::LimitsAdmin, Self::Read, Self::Operate, Self::Sessions];

    /// The word for this role in the file and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LimitsCheck => "limits:check",
            Self::LimitsAdmin => "limits:admin",
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Sessions => "sessions",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn digest_of(text: &str) -> KeyDigest {
    Sha256::digest(text.as_bytes()).into()
}

/// Most keys of one installation: each call compares them all.
pub const KEYS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> (AccessKeys, String) {
        let mut keys = AccessKeys::default();
        let shops = Shops::Named(BTreeSet::from(["alpha".to_owned()]));
        let text = keys.create("gateway".to_owned(), BTreeSet::from([Role::LimitsCheck]), shops).unwrap();
        (keys, text)
    }

    #[test]
    fn only_the_whole_key_is_the_key() {
        let (keys, text) = keys();
        let of = |value: &str| keys.authenticate(Some(value)).map(|key| key.note.as_str());
        assert_eq!(of(&format!("Bearer {text}")), Ok("gateway"));
        assert_eq!(of(&format!("bearer {text}")), Ok("gateway"));
        let cut = &text[..text.len() - 1];
        for wrong in [format!("Bearer {cut}"), format!("Bearer {text}0"), "Bearer ".to_owned()] {
            assert_eq!(of(&wrong), Err(AccessRefusal::Unknown), "{wrong}");
        }
        for wrong in [text.as_str(), "", "Basic x", "Bearer"] {
            assert_eq!(of(wrong), Err(AccessRefusal::Missing), "{wrong}");
        }
        assert_eq!(keys.authenticate(None), Err(AccessRefusal::Missing));
    }

    #[test]
    fn roles_and_shops_are_what_was_given() {
        let (keys, _) = keys();
        let key = keys.iter().next().unwrap();
        assert_eq!(key.must_have(Role::LimitsCheck), Ok(()));
        assert_eq!(key.must_have(Role::LimitsAdmin), Err(AccessRefusal::Role));
        assert_eq!(key.must_have(Role::Read), Err(AccessRefusal::Role));
        assert_eq!((key.must_cover("alpha"), key.must_cover("beta")), (Ok(()), Err(AccessRefusal::Shop)));
    }

    #[test]
    fn one_key_too_many_is_refused() {
        let mut keys = AccessKeys::default();
        for _ in 0..KEYS_MAX {
            keys.create(String::new(), BTreeSet::new(), Shops::All).unwrap();
        }
        assert!(matches!(
            keys.create(String::new(), BTreeSet::new(), Shops::All),
            Err(AccessFileError::TooMany)
        ));
    }
}
