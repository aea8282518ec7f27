//! Who and what a request is, as far as keys ask.

use super::Home;
use crate::config::{KeyPart, PolicyKey};
use crate::http::client::Network;
use crate::http::sku::Sku;
use crate::limiter::key::{Key, KeyHash};
use crate::token::DeviceId;

/// What keys are made of. Everything in it was verified by somebody: nothing is what a client merely says. By default nothing
/// is known of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The shop.
    pub shop_id: &'a str,
    /// Where the request comes from, where anybody said so.
    pub network: Option<Network>,
    /// The device, by its cookie.
    pub device: Option<DeviceId>,
    /// The member, as the shop asserts: at most [`MEMBER_BYTES_MAX`] bytes; a longer one is unknown.
    pub member: Option<String>,
    /// Id of the API client whose key was presented.
    pub client: Option<&'a str>,
    /// Id of the route: methods and pattern; empty where no route matches.
    pub route: &'a str,
    /// The SKU, once it is known.
    pub sku: Option<Sku>,
}

/// Longest name of a member, in bytes.
pub const MEMBER_BYTES_MAX: usize = 64;

/// A key and its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundKey<'a> {
    pub(super) hash: KeyHash,
    pub(super) home: Home<'a>,
}

impl<'a> Subject<'a> {
    /// Whether every part of the key is known, without a fallback.
    pub fn knows(&self, key: &PolicyKey) -> bool {
        key.parts().iter().all(|part| self.part(*part).is_some())
    }

    /// The key under which this request is counted by the policy `name`; `None`: the policy passes it over.
    pub(super) fn key(&self, name: &str, key: &PolicyKey) -> Option<FoundKey<'a>> {
        let mut identity = Vec::new();
        let mut caller = None;
        for part in key.parts() {
            let (used, bytes) = self.part_or_fallback(*part)?;
            if used.is_personal() && caller.is_none() {
                caller = Some((used, bytes.clone()));
            }
            push_part(&mut identity, used, &bytes)?;
        }
        let service = if key.has(KeyPart::Site) { "" } else { self.shop_id };
        let hash = Key { service, action: name, identity: &identity }.hash().ok()?;
        let home = match caller {
            _ if key.has(KeyPart::Sku) => Home::Shop(self.shop_id),
            Some((used, bytes)) => Home::Caller(used, shard(used, &bytes)?),
            None if key.has(KeyPart::Site) => Home::Site,
            None => Home::Shop(self.shop_id),
        };
        Some(FoundKey { hash, home })
    }

    /// A member who is not known is counted by device, and without a device by address.
    fn part_or_fallback(&self, part: KeyPart) -> Option<(KeyPart, Vec<u8>)> {
        let fallbacks: &[KeyPart] = match part {
            KeyPart::Member => &[KeyPart::Member, KeyPart::Device, KeyPart::Ip],
            _ => &[part],
        };
        fallbacks.iter().find_map(|part| Some((*part, self.part(*part)?)))
    }

    fn part(&self, part: KeyPart) -> Option<Vec<u8>> {
        match part {
            // The service of the key says which.
            KeyPart::Site | KeyPart::Shop => Some(Vec::new()),
            KeyPart::Client => self.client.map(|id| id.as_bytes().to_vec()),
            KeyPart::Member => {
                let member = self.member.as_ref().filter(|id| (1..=MEMBER_BYTES_MAX).contains(&id.len()));
                member.map(|id| id.as_bytes().to_vec())
            }
            KeyPart::Device => self.device.map(|device| device.0.to_vec()),
            KeyPart::Ip => self.network.map(|network| network.0.to_vec()),
            KeyPart::Sku => self.sku.as_ref().map(|sku| sku.as_str().as_bytes().to_vec()),
            // A pattern may be long, and is ours: its hash stands for it.
            KeyPart::Route => short(self.route),
        }
    }
}

/// Each part with its kind and its length in front, so that no two keys read alike.
fn push_part(identity: &mut Vec<u8>, part: KeyPart, bytes: &[u8]) -> Option<()> {
    identity.push(u8::try_from(KeyPart::ALL.iter().position(|other| *other == part)?).ok()?);
    identity.push(u8::try_from(bytes.len()).ok()?);
    identity.extend_from_slice(bytes);
    Some(())
}

/// Which of a kind's owners holds this caller.
fn shard(part: KeyPart, bytes: &[u8]) -> Option<u8> {
    let [shard, ..] = Key { service: "", action: part.name(), identity: bytes }.hash().ok()?.0;
    Some(shard)
}

/// 16 bytes for a text of any length.
fn short(text: &str) -> Option<Vec<u8>> {
    let mut digest = KeyHash([0; 16]);
    for chunk in text.as_bytes().chunks(CHUNK_BYTES) {
        let identity = [&digest.0, chunk].concat();
        digest = Key { service: "", action: "", identity: &identity }.hash().ok()?;
    }
    Some(digest.0.to_vec())
}

const CHUNK_BYTES: usize = 128;
