//! Passes: ES256 JWTs that any shop verifies with its JWT library.

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation,
    jwk::{Jwk, JwkSet, PublicKeyUse, ThumbprintHash},
};
use p256::pkcs8::{EncodePrivateKey, LineEnding};
use shared::{
    ids::{EventId, Place},
    room::Session,
    token::{PassClaims, PassId, pass::ISSUER},
};
use std::time::Duration;

/// One P-256 key: PKCS#8 PEM. Its kid is the JWK thumbprint (RFC 7638), so it names the key and nothing else.
#[derive(Clone)]
pub struct PassKey {
    kid: String,
    pem: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
    jwk: Jwk,
}

/// Signs passes with the newest key and verifies those of every live one.
pub struct PassSigner {
    current: PassKey,
    older: Vec<PassKey>,
    jwks: String,
}

/// Why a key or a pass could not be made. Tells nothing of a secret.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PassKeyError {
    #[error("the random source of the system failed")]
    Random,
    #[error("the pass key is not a P-256 private key in PKCS#8 PEM")]
    Unreadable,
    #[error("no pass key")]
    Missing,
    #[error("a pass could not be signed")]
    Unsigned,
}

impl PassKey {
    /// A new key from the system's random source.
    pub fn generate() -> Result<Self, PassKeyError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| PassKeyError::Random)?;
        // Random bytes are no valid scalar with a chance of 2^-32.
        let secret = p256::SecretKey::from_slice(&bytes).map_err(|_| PassKeyError::Random)?;
        let pem = secret.to_pkcs8_pem(LineEnding::LF).map_err(|_| PassKeyError::Unreadable)?;
        Self::from_pem(&pem)
    }

    pub fn from_pem(pem: &str) -> Result<Self, PassKeyError> {
        let encoding = EncodingKey::from_ec_pem(pem.as_bytes()).map_err(|_| PassKeyError::Unreadable)?;
        let unreadable = |_| PassKeyError::Unreadable;
        let mut jwk = Jwk::from_encoding_key(&encoding, Algorithm::ES256).map_err(unreadable)?;
        let kid = jwk.thumbprint(ThumbprintHash::SHA256).map_err(unreadable)?;
        jwk.common.key_id = Some(kid.clone());
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        let decoding = DecodingKey::from_jwk(&jwk).map_err(unreadable)?;
        Ok(Self { kid, pem: pem.to_owned(), encoding, decoding, jwk })
    }

    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The secret itself: only for the key file.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }
}

impl PassSigner {
    /// `keys` are in the order of the key file: the newest, which signs, first.
    pub fn new(keys: &[PassKey]) -> Result<Self, PassKeyError> {
        let (current, older) = keys.split_first().ok_or(PassKeyError::Missing)?;
        let set = JwkSet { keys: keys.iter().map(|key| key.jwk.clone()).collect() };
        let jwks = serde_json::to_string(&set).map_err(|_| PassKeyError::Unreadable)?;
        Ok(Self { current: current.clone(), older: older.to_vec(), jwks })
    }

    /// The pass of a session. The same session and end give the same bytes: `iat` is told from the end, and ES256 signs
    /// deterministically (RFC 6979).
    pub fn sign(&self, shop_id: &str, pass: &Pass<'_>) -> Result<String, PassKeyError> {
        let exp = pass.session.expires_at.as_secs();
        let claims = PassClaims {
            iss: ISSUER.to_owned(),
            aud: shop_id.to_owned(),
            event: pass.event.clone(),
            jti: PassId { event: pass.event.clone(), place: pass.place },
            cnf: None,
            iat: exp.saturating_sub(pass.life.as_secs()),
            exp,
        };
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.current.kid.clone());
        jsonwebtoken::encode(&header, &claims, &self.current.encoding).map_err(|_| PassKeyError::Unsigned)
    }

    /// The claims of a JWT that one of the live keys signed, whether it is over or not: the room knows whether the session lives.
    pub fn open(&self, jwt: &str) -> Option<PassClaims> {
        let kid = jsonwebtoken::decode_header(jwt).ok()?.kid?;
        let key = std::iter::once(&self.current).chain(&self.older).find(|key| key.kid == kid)?;
        let mut validation = Validation::new(Algorithm::ES256);
        validation.validate_aud = false;
        validation.validate_exp = false;
        validation.set_issuer(&[ISSUER]);
        Some(jsonwebtoken::decode::<PassClaims>(jwt, &key.decoding, &validation).ok()?.claims)
    }

    /// The public keys as a JWK set.
    pub fn jwks(&self) -> &str {
        &self.jwks
    }
}

/// What a pass is signed for.
pub struct Pass<'a> {
    pub event: &'a EventId,
    pub place: Place,
    pub session: Session,
    pub life: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::{
        ids::{DeviceHash, Epoch, LaneId, TicketNumber},
        time::Timestamp,
    };

    fn pass(event: &EventId) -> Pass<'_> {
        let at = |s: u64| Timestamp::from_millis(s * 1000);
        Pass {
            event,
            place: Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(7) },
            session: Session {
                extensions: 0,
                told_until: Timestamp::default(),
                started_at: at(900),
                expires_at: at(1_020),
                ends_at: at(1_800),
                device: DeviceHash([1; 8]),
            },
            life: Duration::from_mins(2),
        }
    }

    #[test]
    fn the_same_session_gives_the_same_pass() {
        let signer = PassSigner::new(&[PassKey::generate().unwrap()]).unwrap();
        let event = EventId::parse("drop").unwrap();
        let jwt = signer.sign("alpha", &pass(&event)).unwrap();
        assert_eq!(signer.sign("alpha", &pass(&event)).unwrap(), jwt);
        let claims = signer.open(&jwt).unwrap();
        assert_eq!((claims.iat, claims.exp, claims.aud.as_str()), (900, 1_020, "alpha"));
        assert_eq!(claims.jti.to_string(), "drop:1:0:7");
    }

    #[test]
    fn an_older_key_verifies_and_a_foreign_one_does_not() {
        let (old, new) = (PassKey::generate().unwrap(), PassKey::generate().unwrap());
        let event = EventId::parse("drop").unwrap();
        let jwt = PassSigner::new(std::slice::from_ref(&old)).unwrap().sign("alpha", &pass(&event)).unwrap();
        assert!(PassSigner::new(&[new.clone(), old]).unwrap().open(&jwt).is_some());
        assert!(PassSigner::new(&[new]).unwrap().open(&jwt).is_none());
    }

    #[test]
    fn a_key_survives_its_text_form() {
        let key = PassKey::generate().unwrap();
        assert_eq!(PassKey::from_pem(key.pem()).unwrap().kid(), key.kid());
        assert!(PassKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").is_err());
    }
}
