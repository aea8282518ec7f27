//! The signed proof of a session.
//!
//! The pass itself is an ES256 JWT, signed by the queue server, which any shop verifies with its JWT library. The cookie puts a
//! tag before it, `<22 characters>.<JWT>`, which the edge checks at a thousandth of the cost of a P-256 signature.

use super::keys::EdgeKeys;
use crate::ids::{Epoch, EventId, LaneId, Place, TicketNumber};
use crate::time::Timestamp;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use core::fmt;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// What a pass says to the shop (RFC 7519 names).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassClaims {
    /// Always [`ISSUER`].
    pub iss: String,
    /// The shop's id.
    pub aud: String,
    /// The event that the session belongs to.
    pub event: EventId,
    /// The session's own name.
    pub jti: PassId,
    /// The device key that renewals must prove, if one was shown.
    pub cnf: Option<Confirmation>,
    /// When this pass was signed, in seconds since 1970.
    pub iat: u64,
    /// When it runs out, in seconds since 1970; in that second it is over.
    pub exp: u64,
}

/// RFC 7800: the key that belongs to a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// JWK SHA-256 thumbprint (RFC 7638), base64url.
    pub jkt: String,
}

/// Names one session for ever: `event:epoch:lane:number`.
///
/// ```
/// use shared::token::PassId;
/// assert_eq!(PassId::parse("drop:1:0:352")?.place.number.0, 352);
/// assert!(PassId::parse("drop:1:0:0352").is_err());
/// # Ok::<(), shared::token::pass::InvalidPassId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PassId {
    /// The event.
    pub event: EventId,
    /// The place that was redeemed.
    pub place: Place,
}

/// A text that is not `event:epoch:lane:number` in canonical decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pass id is event:epoch:lane:number")]
pub struct InvalidPassId;

/// Why a pass cookie was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// Not a tag and a JWT of at most [`PASS_CHARS_MAX`] characters with the claims of a pass.
    #[error("pass is not a tag and a JWT with the claims of a pass")]
    Malformed,
    /// No live key made this tag.
    #[error("pass tag does not match")]
    Forged,
    /// A pass of another event.
    #[error("pass belongs to another event")]
    OtherEvent,
    /// Ours, but over. The claims are kept, because a pass is honoured a little longer while the queue server is gone.
    #[error("pass has expired")]
    Expired(Box<PassClaims>),
}

impl PassId {
    /// Reads the one text form.
    ///
    /// # Errors
    /// [`InvalidPassId`] unless the text is what `Display` prints, with a number from 1 to [`TicketNumber::MAX`].
    pub fn parse(text: &str) -> Result<Self, InvalidPassId> {
        let mut parts = text.split(':');
        let event = parts.next().and_then(|part| EventId::parse(part).ok()).ok_or(InvalidPassId)?;
        let epoch = Epoch(decimal(parts.next())?);
        let lane = LaneId(decimal(parts.next())?);
        let number = TicketNumber(decimal(parts.next())?);
        let in_range = (1..=TicketNumber::MAX.0).contains(&number.0);
        if in_range && parts.next().is_none() {
            Ok(Self { event, place: Place { epoch, lane, number } })
        } else {
            Err(InvalidPassId)
        }
    }
}

/// A number without sign and leading zeros, so that a session has one name only.
fn decimal<N: core::str::FromStr>(part: Option<&str>) -> Result<N, InvalidPassId> {
    let part = part.ok_or(InvalidPassId)?;
    let canonical = part == "0" || part.starts_with(|first: char| ('1'..='9').contains(&first));
    if canonical { part.parse().map_err(|_| InvalidPassId) } else { Err(InvalidPassId) }
}

impl fmt::Display for PassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { epoch, lane, number } = self.place;
        write!(f, "{}:{}:{}:{}", self.event, epoch.0, lane.0, number.0)
    }
}

impl TryFrom<String> for PassId {
    type Error = InvalidPassId;
    fn try_from(text: String) -> Result<Self, InvalidPassId> {
        Self::parse(&text)
    }
}

impl From<PassId> for String {
    fn from(id: PassId) -> Self {
        id.to_string()
    }
}

impl EdgeKeys {
    /// The value of the pass cookie for a JWT, under the current key.
    ///
    /// The tag only saves the edge a signature check. Whoever steals the edge's keys can pass the edge with it, but the shop
    /// still verifies the JWT.
    pub fn tag_pass(&self, jwt: &str) -> String {
        let (_, key) = self.current();
        let tag: [u8; TAG_BYTES] = key.pass.tag(&[jwt.as_bytes()]);
        format!("{}.{jwt}", Base64UrlUnpadded::encode_string(&tag))
    }

    /// The JWT and the claims of a pass cookie that is ours, belongs to `event` and is not over at `now`.
    ///
    /// The JWT's header is not read: the tag proves that the queue server made the whole of it.
    ///
    /// # Errors
    /// See [`PassError`].
    pub fn open_pass(&self, cookie: &str, event: &EventId, now: Timestamp) -> Result<PassClaims, PassError> {
        if cookie.len() > PASS_CHARS_MAX {
            return Err(PassError::Malformed);
        }
        let (tag, jwt) = cookie.split_once('.').ok_or(PassError::Malformed)?;
        let tag = Base64UrlUnpadded::decode_vec(tag).map_err(|_| PassError::Malformed)?;
        let tag: [u8; TAG_BYTES] = tag.try_into().map_err(|_| PassError::Malformed)?;
        // The cookie names no key: each live one is tried, at most four.
        if !self.all().any(|key| key.pass.verifies(&[jwt.as_bytes()], &tag)) {
            return Err(PassError::Forged);
        }
        let claims = claims(jwt).ok_or(PassError::Malformed)?;
        if claims.event != *event || claims.jti.event != *event {
            Err(PassError::OtherEvent)
        } else if now.as_secs() >= claims.exp {
            Err(PassError::Expired(Box::new(claims)))
        } else {
            Ok(claims)
        }
    }
}

/// The JWT inside a pass cookie, as the shop gets it. Says nothing of whether it is ours: see [`EdgeKeys::open_pass`].
pub fn jwt_of(cookie: &str) -> Option<&str> {
    cookie.split_once('.').map(|(_, jwt)| jwt)
}

fn claims(jwt: &str) -> Option<PassClaims> {
    let mut parts = jwt.split('.');
    let (_header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    let json = Base64UrlUnpadded::decode_vec(payload).ok()?;
    let claims: PassClaims = serde_json::from_slice(&json).ok()?;
    (parts.next().is_none() && claims.iss == ISSUER).then_some(claims)
}

/// Who signs passes, as the claim `iss` says it.
pub const ISSUER: &str = "fairgate";

/// How long anybody may keep the published keys: a key is published before it signs.
pub const JWKS_MAX_AGE: Duration = Duration::from_secs(60);

/// The longest pass cookie that is looked at, in characters; a browser keeps no cookie above 4,096.
pub const PASS_CHARS_MAX: usize = 2048;

const TAG_BYTES: usize = 16;
