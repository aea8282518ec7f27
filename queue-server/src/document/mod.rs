//! The configuration as edges fetch it: the text of the file, with the settings that shops were given through the API as if
//! their parts of the file said so, and with the clocks of its time zones, whose rules no edge has.

mod own_settings;
mod zones;

use crate::limits::InForce;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use shared::time::Timestamp;
use std::sync::{Arc, PoisonError, RwLock};

/// One version of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigDocument {
    pub text: String,
    /// Quoted, as it stands in the field. The same text has the same tag, on every server.
    pub etag: String,
}

/// The version in force.
#[derive(Debug)]
pub struct LiveDocument(RwLock<Versions>);

#[derive(Debug)]
struct Versions {
    file: Arc<ConfigDocument>,
    /// The last one that tells more than the file.
    told: Option<Told>,
}

#[derive(Debug)]
struct Told {
    /// The tag of the limits that it tells.
    limits: String,
    /// The day of UTC, counted from 1970, on which its clocks were told.
    day: u64,
    document: Arc<ConfigDocument>,
}

impl ConfigDocument {
    /// A version with this text, which was checked before.
    pub fn new(text: String) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let etag = format!("\"{}\"", HEXLOWER.encode(digest.get(..16).unwrap_or_default()));
        Self { text, etag }
    }
}

impl LiveDocument {
    pub fn new(file: ConfigDocument) -> Self {
        Self(RwLock::new(Versions { file: Arc::new(file), told: None }))
    }

    /// What edges are told at `now`, while these limits are in force.
    pub fn current(&self, in_force: &InForce, now: Timestamp) -> Arc<ConfigDocument> {
        let versions = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if in_force.overrides.is_empty() && !zones::are_named(&in_force.config) {
            return Arc::clone(&versions.file);
        }
        let day = now.as_secs() / DAY_S;
        let is_current = |told: &&Told| told.limits == in_force.etag && told.day == day;
        if let Some(told) = versions.told.as_ref().filter(is_current) {
            return Arc::clone(&told.document);
        }
        let file = Arc::clone(&versions.file);
        drop(versions);
        let text =
            own_settings::written_into(&file.text, in_force, Timestamp::from_millis(day * DAY_S * 1000));
        let document = text.map_or_else(|| Arc::clone(&file), |text| Arc::new(ConfigDocument::new(text)));
        let mut versions = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&versions.file, &file) {
            let limits = in_force.etag.clone();
            versions.told = Some(Told { limits, day, document: Arc::clone(&document) });
        }
        document
    }

    /// From now on edges are given this version of the file.
    pub fn replace(&self, file: ConfigDocument) {
        let mut versions = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *versions = Versions { file: Arc::new(file), told: None };
    }
}

const DAY_S: u64 = 86_400;
