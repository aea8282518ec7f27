//! Scheme, host and port of a server, as a browser's `Origin` writes them.

use core::fmt;

/// `http://host[:port]` or `https://host[:port]`, in lower case, without the scheme's own port, path or user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebOrigin {
    text: String,
    secure: bool,
}

/// A text that is not a [`WebOrigin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write http://host[:port] or https://host[:port], without user, path or query")]
pub struct InvalidWebOrigin;

impl WebOrigin {
    /// Reads an origin; one trailing slash is dropped.
    ///
    /// # Errors
    /// [`InvalidWebOrigin`] for anything but scheme, host and port.
    pub fn parse(text: &str) -> Result<Self, InvalidWebOrigin> {
        let _ = text;
        Err(InvalidWebOrigin)
    }

    /// The origin as text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.secure
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
