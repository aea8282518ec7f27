//! `[shop.members]`: how a shop proves who its members are.

use super::name::parse_name;
use super::section::Section;
use core::time::Duration;

/// What the assertion of a member has to be, a JWT that the shop signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembersConfig {
    /// The shop's public keys as a JWK set, in JSON; the queue server reads them.
    pub jwks: String,
    /// The audience that the assertion must name.
    pub audience: String,
    /// Longest life of an assertion, from `iat` to `exp`: 10 s to 1 day, 300 s by default.
    pub age_max: Duration,
    /// The lane of members in events that have one of this name: `member` by default.
    pub lane: String,
}

impl MembersConfig {
    pub(super) fn read(shop: &mut Section<'_>) -> Option<Self> {
        let mut section = shop.optional("members")?.table()?;
        let jwks = section.required("jwks", "'{\"keys\":[…]}'").and_then(|value| value.parsed(text));
        let audience = section.required("audience", "\"<name>\"").and_then(|value| value.parsed(text));
        let age_max = section.seconds_or("age_max_s", 10..=86_400, 300);
        let lane = section.optional("lane").and_then(|value| value.parsed(parse_name));
        section.finish();
        let lane = lane.unwrap_or_else(|| "member".to_owned());
        Some(Self { jwks: jwks?, audience: audience?, age_max, lane })
    }
}

fn text(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("write a text that is not empty") } else { Ok(text.to_owned()) }
}
