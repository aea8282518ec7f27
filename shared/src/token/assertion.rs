//! A shop's word on who its member is: a JWT with `sub`, `aud`, `iat` and `exp`, signed by a key of `[shop.members]`.
//!
//! What it says is judged here, for the queue server and for the edge alike. Whether its signature is the shop's is for the
//! host to find out: the edge asks the runtime's own cryptography, which costs no place in its bundle.

use crate::config::MembersConfig;
use crate::gate::MEMBER_BYTES_MAX;
use crate::time::Timestamp;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use core::time::Duration;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Longest assertion that is read, in characters.
pub const ASSERTION_CHARS_MAX: usize = 4096;

/// An assertion that can be read; nothing says yet that the shop signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion<'t> {
    /// The key that it names.
    kid: Option<String>,
    claims: MemberClaims,
    audiences: Vec<String>,
    text: &'t str,
    signed: &'t str,
    signature: Vec<u8>,
}

/// What an assertion says of a member (RFC 7519 names).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct MemberClaims {
    /// The member, as the shop names them.
    pub sub: String,
    /// When it was signed, in seconds since 1970.
    pub iat: u64,
    /// When it runs out, in seconds since 1970.
    pub exp: u64,
}

/// Why an assertion proves nothing; its bearer is a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproved {
    /// The shop has no `[shop.members]`.
    NoMembers,
    /// It is over, or lives longer than the shop's assertions may.
    Expired,
    /// Not signed by a key of the shop, for another audience, or no assertion at all.
    Invalid,
}

/// How a shop's key signs. The algorithm belongs to the key: what an assertion's header says of it does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningAlgorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// RSA, PKCS #1 v1.5, with SHA-256.
    Rs256,
    /// Ed25519.
    EdDsa,
}

impl Unproved {
    /// The code that travels in the reply to a join.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoMembers => "MEMBERS_UNKNOWN",
            Self::Expired => "ASSERTION_EXPIRED",
            Self::Invalid => "ASSERTION_INVALID",
        }
    }
}

impl MemberClaims {
    /// The member whom these claims name at `now`, as long as `age_max` lets an assertion live.
    ///
    /// # Errors
    /// [`Unproved`] for a name of 0 or more than [`MEMBER_BYTES_MAX`] bytes, and outside its life.
    pub fn member(&self, age_max: Duration, now: Timestamp) -> Result<&str, Unproved> {
        if !(1..=MEMBER_BYTES_MAX).contains(&self.sub.len()) {
            return Err(Unproved::Invalid);
        }
        let lives_on = self.exp.saturating_add(LEEWAY.as_secs()) > now.as_secs();
        if !lives_on || self.exp.saturating_sub(self.iat) > age_max.as_secs() {
            return Err(Unproved::Expired);
        }
        if self.iat > now.as_secs().saturating_add(LEEWAY.as_secs()) {
            return Err(Unproved::Invalid);
        }
        Ok(&self.sub)
    }
}

impl<'t> Assertion<'t> {
    /// Reads a JWT in the compact form; `None` for anything else, and beyond [`ASSERTION_CHARS_MAX`].
    pub fn read(text: &'t str) -> Option<Self> {
        if text.len() > ASSERTION_CHARS_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
        let payload = decoded(payload)?;
        let Audience { aud } = serde_json::from_slice(&payload).ok()?;
        let audiences = match aud {
            OneOrMany::One(audience) => vec![audience],
            OneOrMany::Many(audiences) => audiences,
        };
        let claims = serde_json::from_slice(&payload).ok()?;
        Some(Self { kid: header.kid, claims, audiences, text, signed, signature: decoded(signature)? })
    }

    /// The member whom it names to this shop at `now`, provided that its signature is the shop's.
    ///
    /// # Errors
    /// [`Unproved`], also for another audience.
    pub fn member(&self, members: &MembersConfig, now: Timestamp) -> Result<&str, Unproved> {
        if !self.audiences.contains(&members.audience) {
            return Err(Unproved::Invalid);
        }
        self.claims.member(members.age_max, now)
    }

    /// Which key of a JWK set has to have signed it, by its place there, and how: the one that it names, or the only one.
    pub fn key_in(&self, jwks: &str) -> Option<(u32, SigningAlgorithm)> {
        let KeySet { keys } = serde_json::from_str(jwks).ok()?;
        let place = match (&self.kid, keys.as_slice()) {
            (Some(_), keys) => keys.iter().position(|key| key.kid == self.kid)?,
            (None, [_]) => 0,
            (None, _) => return None,
        };
        Some((u32::try_from(place).ok()?, keys.get(place)?.algorithm()?))
    }

    /// What was signed.
    pub fn signed(&self) -> &'t str {
        self.signed
    }

    /// The signature, as RFC 7518 writes it.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Stands for this assertion under these keys of its shop: whoever found the signature right once need not look again,
    /// until the keys change.
    pub fn digest(&self, members: &MembersConfig) -> [u8; 32] {
        Sha256::new_with_prefix(&members.jwks).chain_update([0]).chain_update(self.text).finalize().into()
    }
}

#[derive(Deserialize)]
struct Header {
    kid: Option<String>,
}

#[derive(Deserialize)]
struct Audience {
    aud: OneOrMany,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<ShopKey>,
}

/// As far as it says how a key signs.
#[derive(Deserialize)]
struct ShopKey {
    kty: String,
    crv: Option<String>,
    kid: Option<String>,
}

impl ShopKey {
    fn algorithm(&self) -> Option<SigningAlgorithm> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => Some(SigningAlgorithm::Es256),
            ("RSA", _) => Some(SigningAlgorithm::Rs256),
            ("OKP", Some("Ed25519")) => Some(SigningAlgorithm::EdDsa),
            _ => None,
        }
    }
}

fn decoded(part: &str) -> Option<Vec<u8>> {
    Base64UrlUnpadded::decode_vec(part).ok()
}

/// Clocks of shop and server lie apart by no more.
const LEEWAY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_796_000_000_000);

    fn jwt(header: &str, payload: &str) -> String {
        let [header, payload] =
            [header, payload].map(|part| Base64UrlUnpadded::encode_string(part.as_bytes()));
        format!("{header}.{payload}.{}", Base64UrlUnpadded::encode_string(&[7; 64]))
    }

    fn members(audience: &str) -> MembersConfig {
        MembersConfig {
            jwks: String::new(),
            audience: audience.to_owned(),
            age_max: Duration::from_secs(300),
            lane: "member".to_owned(),
        }
    }

    #[track_caller]
    fn check(payload: &str, expected: Result<&str, Unproved>) {
        let text = jwt(r#"{"alg":"ES256"}"#, payload);
        let assertion = Assertion::read(&text).unwrap();
        assert_eq!(assertion.member(&members("fairgate"), NOW), expected, "{payload}");
    }

    #[test]
    fn a_member_is_named_to_this_shop_and_for_a_while() {
        let ada =
            |aud: &str, iat: u64, exp: u64| format!(r#"{{"sub":"ada","aud":{aud},"iat":{iat},"exp":{exp}}}"#);
        let now = NOW.as_secs();
        check(&ada(r#""fairgate""#, now, now + 300), Ok("ada"));
        check(&ada(r#"["other","fairgate"]"#, now, now + 300), Ok("ada"));
        check(&ada(r#""other""#, now, now + 300), Err(Unproved::Invalid));
        check(&ada(r#""fairgate""#, now, now + 301), Err(Unproved::Expired));
        check(&ada(r#""fairgate""#, now - 200, now - 59), Ok("ada"));
        check(&ada(r#""fairgate""#, now - 200, now - 60), Err(Unproved::Expired));
        check(&ada(r#""fairgate""#, now + 60, now + 200), Ok("ada"));
        check(&ada(r#""fairgate""#, now + 61, now + 200), Err(Unproved::Invalid));
        let named = |name: &str| format!(r#"{{"sub":"{name}","aud":"fairgate","iat":{now},"exp":{now}}}"#);
        check(&named(""), Err(Unproved::Invalid));
        check(&named(&"m".repeat(64)), Ok(&"m".repeat(64)));
        check(&named(&"m".repeat(65)), Err(Unproved::Invalid));
    }

    #[test]
    fn what_is_no_assertion_is_not_read() {
        let claims = r#"{"sub":"ada","aud":"fairgate","iat":1,"exp":2}"#;
        assert!(Assertion::read(&jwt("{}", claims)).is_some());
        for (header, payload) in
            [("{", claims), ("[]", claims), ("{}", "{}"), ("{}", r#"{"sub":"a","aud":"f","iat":1}"#)]
        {
            assert_eq!(Assertion::read(&jwt(header, payload)), None, "{header} {payload}");
        }
        for text in ["", "a", "a.b", "..", "e30.e30.!", &jwt("{}", claims).replace('.', ":")] {
            assert_eq!(Assertion::read(text), None, "{text}");
        }
        let long = jwt(
            "{}",
            &format!(r#"{{"sub":"{}","aud":"f","iat":1,"exp":2}}"#, "a".repeat(ASSERTION_CHARS_MAX)),
        );
        assert_eq!(Assertion::read(&long), None);
    }

    #[test]
    fn the_key_that_it_names_signs_or_the_only_one() {
        let key =
            |kid: &str, kty: &str, crv: &str| format!(r#"{{"kid":"{kid}","kty":"{kty}","crv":"{crv}"}}"#);
        let (ec, ed, odd) = (key("a", "EC", "P-256"), key("b", "OKP", "Ed25519"), key("c", "EC", "P-384"));
        let rsa = r#"{"kid":"d","kty":"RSA"}"#;
        let all = format!(r#"{{"keys":[{ec},{ed},{odd},{rsa}]}}"#);
        let one = format!(r#"{{"keys":[{ec}]}}"#);
        let claims = r#"{"sub":"ada","aud":"fairgate","iat":1,"exp":2}"#;
        for (header, jwks, expected) in [
            (r#"{"kid":"a"}"#, &all, Some((0, SigningAlgorithm::Es256))),
            (r#"{"kid":"b","alg":"none"}"#, &all, Some((1, SigningAlgorithm::EdDsa))),
            (r#"{"kid":"c"}"#, &all, None),
            (r#"{"kid":"d"}"#, &all, Some((3, SigningAlgorithm::Rs256))),
            (r#"{"kid":"e"}"#, &all, None),
            ("{}", &all, None),
            ("{}", &one, Some((0, SigningAlgorithm::Es256))),
            (r#"{"kid":"b"}"#, &one, None),
        ] {
            let text = jwt(header, claims);
            assert_eq!(Assertion::read(&text).unwrap().key_in(jwks), expected, "{header}");
        }
    }

    #[test]
    fn a_proof_is_one_of_its_text_and_of_the_shops_keys() {
        let claims = |sub: &str| jwt("{}", &format!(r#"{{"sub":"{sub}","aud":"f","iat":1,"exp":2}}"#));
        let digest = |text: &str, jwks: &str| {
            let members = MembersConfig { jwks: jwks.to_owned(), ..members("f") };
            Assertion::read(text).unwrap().digest(&members)
        };
        let known = digest(&claims("ada"), "k");
        assert_eq!(digest(&claims("ada"), "k"), known);
        assert_ne!(digest(&claims("bob"), "k"), known);
        assert_ne!(digest(&claims("ada"), "l"), known);
    }
}
