//! The edge's signed device id.
//!
//! 34 bytes, as 46 characters of base64url: version 1, key id 1, device id 16, tag 16 over the 18 bytes before it.

use super::keyring::KeyId;
use super::keys::EdgeKeys;
use super::mac::leading;
use crate::ids::DeviceHash;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use sha2::{Digest, Sha256};

/// 16 random bytes that name one browser; made by the host (a version 4 UUID).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub [u8; 16]);

/// Why a device cookie was not accepted: the buyer gets a new device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceCookieError {
    /// Not 46 characters of canonical base64url, or of another version.
    #[error("device cookie is not 46 characters of base64url, version 1")]
    Malformed,
    /// Signed under a key that was retired, or never existed.
    #[error("device cookie was signed under an unknown key")]
    UnknownKey,
    /// The tag does not match.
    #[error("device cookie tag does not match")]
    Forged,
}

impl DeviceId {
    /// The name of this device in tickets and in the room's memory: the first 8 bytes of SHA-256 of the id.
    pub fn hash(&self) -> DeviceHash {
        DeviceHash(leading(Sha256::digest(self.0).into()))
    }
}

impl EdgeKeys {
    /// The value of the device cookie for a device, signed with the current key.
    pub fn seal_device(&self, device: &DeviceId) -> String {
        let (id, key) = self.current();
        let head = [VERSION, id.0];
        let tag: [u8; TAG_BYTES] = key.device.tag(&[&head, &device.0]);
        Base64UrlUnpadded::encode_string(&[&head[..], &device.0, &tag].concat())
    }

    /// The device that a cookie names.
    ///
    /// # Errors
    /// See [`DeviceCookieError`].
    pub fn open_device(&self, cookie: &str) -> Result<DeviceId, DeviceCookieError> {
        if cookie.len() != DEVICE_COOKIE_CHARS {
            return Err(DeviceCookieError::Malformed);
        }
        let bytes = Base64UrlUnpadded::decode_vec(cookie).map_err(|_| DeviceCookieError::Malformed)?;
        let [VERSION, id, rest @ ..] = bytes.as_slice() else { return Err(DeviceCookieError::Malformed) };
        let (device, tag) = rest.split_first_chunk().ok_or(DeviceCookieError::Malformed)?;
        let key = self.get(KeyId(*id)).ok_or(DeviceCookieError::UnknownKey)?;
        if key.device.verifies(&[&[VERSION, *id], device], tag) {
            Ok(DeviceId(*device))
        } else {
            Err(DeviceCookieError::Forged)
        }
    }
}

/// Characters of a device cookie.
pub const DEVICE_COOKIE_CHARS: usize = 46;

const VERSION: u8 = 1;
const TAG_BYTES: usize = 16;
