//! Who is a member of a shop, by an assertion that the shop signed: a JWT with `sub`, `aud`, `iat` and `exp`.

use jsonwebtoken::{
    Algorithm, DecodingKey, Validation,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet},
};
use sha2::{Digest, Sha256};
use shared::{
    config::{Config, MembersConfig},
    ids::MemberHash,
    time::Timestamp,
    token::assertion::{MemberClaims, Unproved},
};
use std::collections::BTreeMap;

/// The shops that have members.
#[derive(Default)]
pub struct Members(BTreeMap<String, ShopMembers>);

struct ShopMembers {
    config: MembersConfig,
    keys: Vec<ShopKey>,
}

/// The algorithm belongs to the key: what the header of an assertion says of it does not count.
struct ShopKey {
    kid: Option<String>,
    algorithm: Algorithm,
    decoding: DecodingKey,
}

/// A member who was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The member as rooms know them.
    pub hash: MemberHash,
    /// Name of the lane of members.
    pub lane: &'a str,
}

/// Why the configuration of a shop's members cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MembersError {
    #[error("shop {shop}: members.jwks is no JWK set: {error}")]
    NoKeySet { shop: String, error: serde_json::Error },
    #[error(
        "shop {0}: members.jwks needs at least one key, and only P-256, RSA and Ed25519 keys: secrets do not belong there"
    )]
    KeyUnfit(String),
}

impl Members {
    /// Reads the keys of every shop.
    pub fn new(config: &Config) -> Result<Self, MembersError> {
        let mut shops = BTreeMap::new();
        for shop in &config.shops {
            if let Some(members) = &shop.members {
                shops.insert(shop.id.clone(), ShopMembers::new(&shop.id, members)?);
            }
        }
        Ok(Self(shops))
    }

    /// The member whom `assertion` proves at `now`.
    pub fn prove(&self, shop_id: &str, assertion: &str, now: Timestamp) -> Result<Member<'_>, Unproved> {
        let shop = self.0.get(shop_id).ok_or(Unproved::NoMembers)?;
        let claims = shop.open(assertion).ok_or(Unproved::Invalid)?;
        let member = claims.member(shop.config.age_max, now)?;
        Ok(Member { hash: hash(shop_id, member), lane: &shop.config.lane })
    }
}

impl ShopMembers {
    fn new(shop_id: &str, config: &MembersConfig) -> Result<Self, MembersError> {
        let set: JwkSet = serde_json::from_str(&config.jwks)
            .map_err(|error| MembersError::NoKeySet { shop: shop_id.to_owned(), error })?;
        let keys: Option<Vec<ShopKey>> = set.keys.iter().map(ShopKey::new).collect();
        let keys = keys.filter(|keys| !keys.is_empty());
        let keys = keys.ok_or_else(|| MembersError::KeyUnfit(shop_id.to_owned()))?;
        Ok(Self { config: config.clone(), keys })
    }

    fn open(&self, assertion: &str) -> Option<MemberClaims> {
        let kid = jsonwebtoken::decode_header(assertion).ok()?.kid;
        let key = match &kid {
            Some(_) => self.keys.iter().find(|key| key.kid == kid)?,
            None if self.keys.len() == 1 => self.keys.first()?,
            None => return None,
        };
        let mut validation = Validation::new(key.algorithm);
        // Judged by the server's own clock, which is the room's.
        validation.validate_exp = false;
        validation.set_audience(&[&self.config.audience]);
        validation.set_required_spec_claims(&["exp", "aud", "sub"]);
        Some(jsonwebtoken::decode::<MemberClaims>(assertion, &key.decoding, &validation).ok()?.claims)
    }
}

impl ShopKey {
    fn new(jwk: &Jwk) -> Option<Self> {
        let algorithm = match &jwk.algorithm {
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
            AlgorithmParameters::RSA(_) => Algorithm::RS256,
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
            _ => return None,
        };
        Some(Self { kid: jwk.common.key_id.clone(), algorithm, decoding: DecodingKey::from_jwk(jwk).ok()? })
    }
}

fn hash(shop_id: &str, member: &str) -> MemberHash {
    let mut hash = Sha256::new_with_prefix("fairgate member\0");
    hash.update(shop_id);
    hash.update([0]);
    hash.update(member);
    let mut named = [0; 8];
    named.copy_from_slice(&hash.finalize()[..8]);
    MemberHash(named)
}
