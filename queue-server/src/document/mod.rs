//! The configuration as edges fetch it: the text of the file, with the settings that shops were given through the API as if
//! their parts of the file said so.

mod own_settings;

use crate::limits::InForce;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
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
    /// The last one that was told with settings of shops, and the tag of the limits that it tells.
    told: Option<(String, Arc<ConfigDocument>)>,
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

    /// What edges are told while these limits are in force.
    pub fn current(&self, in_force: &InForce) -> Arc<ConfigDocument> {
        let versions = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if in_force.overrides.is_empty() {
            return Arc::clone(&versions.file);
        }
        if let Some((_, told)) = versions.told.as_ref().filter(|(etag, _)| *etag == in_force.etag) {
            return Arc::clone(told);
        }
        let file = Arc::clone(&versions.file);
        drop(versions);
        let text = own_settings::written_into(&file.text, in_force);
        let told = text.map_or_else(|| Arc::clone(&file), |text| Arc::new(ConfigDocument::new(text)));
        let mut versions = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&versions.file, &file) {
            versions.told = Some((in_force.etag.clone(), Arc::clone(&told)));
        }
        told
    }

    /// From now on edges are given this version of the file.
    pub fn replace(&self, file: ConfigDocument) {
        let mut versions = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *versions = Versions { file: Arc::new(file), told: None };
    }
}
