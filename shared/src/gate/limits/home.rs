//! Where the states of keys live, and the calls that a stage makes.

use super::Limit;
use crate::config::{KeyPart, PolicyMode};
use crate::flat::{self, LiteMap};
use crate::limiter::check::{CheckError, CheckRequest};
use core::fmt;

/// The owner of some keys. All policies on one device, or on one address, have the same, so that a request makes at most
/// one call for its device and one for its address; all keys of a shop that belong to no single caller have the shop's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Home<'a> {
    /// One of 256 owners of keys of one kind of caller.
    Caller(KeyPart, u8),
    /// The owner of a shop's shared keys, and of all that count by SKU.
    Shop(&'a str),
    /// The owner of the whole site's shared keys.
    Site,
    /// The isolate that answers, for polls.
    Isolate,
}

impl<'a> Home<'a> {
    /// The owner of that name, as far as it holds keys of this shop. An isolate is nobody that could be asked.
    pub fn named(name: &str, shop_id: &'a str) -> Option<Self> {
        if name == "site" {
            return Some(Self::Site);
        }
        let (kind, which) = name.split_once('-')?;
        if kind == "shop" {
            return (which == shop_id).then_some(Self::Shop(shop_id));
        }
        let part = KeyPart::ALL.into_iter().find(|part| part.is_personal() && part.name() == kind)?;
        let home = Self::Caller(part, u8::from_str_radix(which, 16).ok()?);
        // One spelling for each.
        (home.to_string() == name).then_some(home)
    }
}

impl fmt::Display for Home<'_> {
    /// The name of the owner: `device-3f`, `shop-alpha`, `site`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(part, shard) => write!(f, "{}-{shard:02x}", part.name()),
            Self::Shop(id) => write!(f, "shop-{id}"),
            Self::Site => f.write_str("site"),
            Self::Isolate => f.write_str("isolate"),
        }
    }
}

/// One call of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeCall<'a> {
    /// Who is asked.
    pub home: Home<'a>,
    /// What to check there: all enforced limits as one, then each shadow by itself, so that it refuses nothing. When the
    /// enforced one is refused, the shadows are not asked.
    pub checks: Vec<HomeCheck>,
}

/// Limits that are taken together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeCheck {
    /// Shadow or enforced.
    pub mode: PolicyMode,
    /// Their indices in the stage's list.
    pub indices: Vec<usize>,
}

/// The calls that these limits need, one for each home.
pub fn by_home<'a>(limits: &[Limit<'a>]) -> Vec<HomeCall<'a>> {
    let mut calls = LiteMap::<Home<'a>, Vec<HomeCheck>>::new();
    for (index, limit) in limits.iter().enumerate() {
        let checks = flat::entry(&mut calls, &limit.home);
        let is_enforced = limit.mode == PolicyMode::Enforced;
        match checks.first_mut().filter(|first| first.mode == PolicyMode::Enforced) {
            Some(enforced) if is_enforced => enforced.indices.push(index),
            None if is_enforced => checks.insert(0, HomeCheck { mode: limit.mode, indices: vec![index] }),
            _ => checks.push(HomeCheck { mode: limit.mode, indices: vec![index] }),
        }
    }
    calls.into_iter().map(|(home, checks)| HomeCall { home, checks }).collect()
}

impl HomeCheck {
    /// Whether a refusal counts.
    pub fn is_enforced(&self) -> bool {
        self.mode == PolicyMode::Enforced
    }

    /// The check as it travels.
    ///
    /// # Errors
    /// [`CheckError`]: none for limits of one [`Plan`](super::Plan).
    pub fn request(&self, limits: &[Limit<'_>]) -> Result<CheckRequest, CheckError> {
        CheckRequest::new(self.indices.iter().filter_map(|index| Some(limits.get(*index)?.charge)).collect())
    }
}
