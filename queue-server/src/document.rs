//! The configuration as edges fetch it: the text of the file with everything that overrides it.

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
pub struct LiveDocument(RwLock<Arc<ConfigDocument>>);

impl ConfigDocument {
    /// A version with this text, which was checked before.
    pub fn new(text: String) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let etag = format!("\"{}\"", HEXLOWER.encode(digest.get(..16).unwrap_or_default()));
        Self { text, etag }
    }
}

impl LiveDocument {
    pub fn new(document: ConfigDocument) -> Self {
        Self(RwLock::new(Arc::new(document)))
    }

    pub fn current(&self) -> Arc<ConfigDocument> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on edges are given this version.
    pub fn replace(&self, document: ConfigDocument) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(document);
    }
}
