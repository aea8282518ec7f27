//! The server's secrets: where they are kept, and the passes they sign. Never printed, except for the edge's own keys on request.

mod file;
mod pass;

pub use file::{KeyFile, KeyFileError, PreparedKey};
pub use pass::{Pass, PassKey, PassKeyError, PassSigner};
