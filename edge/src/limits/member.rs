//! The member who asks, by the shop's assertion. The runtime checks its signature, so that no curve lies in the bundle.

use crate::incoming::Incoming;
use shared::config::{KeyPart, MembersConfig, ShopConfig};
use shared::gate::Plan;
use shared::token::assertion::{Assertion, SigningAlgorithm};
use worker::console_warn;
use worker::js_sys::{Array, JSON, Object, Reflect, global};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{Crypto, CryptoKey};

/// The member whom the request's assertion proves, if some policy of `plan` counts by member. Whoever proves nothing is
/// somebody else to the limits: a device, or an address.
pub(super) async fn proved(incoming: &Incoming, shop: &ShopConfig, plan: &Plan<'_>) -> Option<String> {
    let members = shop.members.as_ref().filter(|_| plan.counts_by(KeyPart::Member))?;
    let text = incoming.header("fairgate-member")?;
    let assertion = Assertion::read(&text)?;
    let member = assertion.member(members, incoming.now).ok()?.to_owned();
    let digest = assertion.digest(members);
    let proofs = &incoming.isolate.memory.proofs;
    if proofs.borrow().has(&digest) {
        return Some(member);
    }
    match is_signed(&assertion, members).await {
        Ok(true) => {
            proofs.borrow_mut().note(digest);
            Some(member)
        }
        Ok(false) => None,
        Err(error) => {
            let error = worker::Error::from(error);
            console_warn!("the runtime cannot use a key of the members of {}: {error}", shop.id);
            None
        }
    }
}

async fn is_signed(assertion: &Assertion<'_>, members: &MembersConfig) -> Result<bool, JsValue> {
    let Some((place, algorithm)) = assertion.key_in(&members.jwks) else { return Ok(false) };
    let keys: Array = Reflect::get(&JSON::parse(&members.jwks)?, &"keys".into())?.dyn_into()?;
    let subtle = Reflect::get(&global(), &"crypto".into())?.unchecked_into::<Crypto>().subtle();
    let algorithm: Object = JSON::parse(in_web_crypto(algorithm))?.unchecked_into();
    let usages = Array::of1(&"verify".into());
    let import =
        subtle.import_key_with_object("jwk", keys.get(place).unchecked_ref(), &algorithm, false, &usages)?;
    let key: CryptoKey = JsFuture::from(import).await?.unchecked_into();
    let verification = subtle.verify_with_object_and_u8_array_and_u8_array(
        &algorithm,
        &key,
        assertion.signature(),
        assertion.signed().as_bytes(),
    )?;
    Ok(JsFuture::from(verification).await?.is_truthy())
}

/// The parameters of an algorithm, for the import of its key and for its signatures.
fn in_web_crypto(algorithm: SigningAlgorithm) -> &'static str {
    match algorithm {
        SigningAlgorithm::Es256 => r#"{"name":"ECDSA","namedCurve":"P-256","hash":"SHA-256"}"#,
        SigningAlgorithm::Rs256 => r#"{"name":"RSASSA-PKCS1-v1_5","hash":"SHA-256"}"#,
        SigningAlgorithm::EdDsa => r#"{"name":"Ed25519"}"#,
    }
}
