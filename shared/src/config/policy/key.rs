//! What a policy counts by.

use crate::config::section::Value;
use crate::config::unique::Unique;
use core::fmt;

/// One part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyPart {
    /// Everybody on the whole site together; beside another part: that part over all shops.
    Site,
    /// Everybody in one shop together.
    Shop,
    /// The API client, by the key it presents.
    Client,
    /// The member, as the shop asserts. Who is not known counts by device, without a device by address.
    Member,
    /// The signed `device_cookie`. A request without one is passed over.
    Device,
    /// The client address: IPv4, or the /64 of an IPv6 address.
    Ip,
    /// The SKU that a request is about.
    Sku,
    /// The route by its pattern, never by the raw path.
    Route,
}

impl KeyPart {
    /// Every part, in the order in which keys hold them.
    pub const ALL: [Self; 8] =
        [Self::Site, Self::Shop, Self::Client, Self::Member, Self::Device, Self::Ip, Self::Sku, Self::Route];

    /// The word for this part in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::Shop => "shop",
            Self::Client => "client",
            Self::Member => "member",
            Self::Device => "device",
            Self::Ip => "ip",
            Self::Sku => "sku",
            Self::Route => "route",
        }
    }

    /// Whether the part is about one caller, so that its keys are many and lie apart.
    pub const fn is_personal(self) -> bool {
        matches!(self, Self::Client | Self::Member | Self::Device | Self::Ip)
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let part = Self::ALL.into_iter().find(|part| part.name() == text);
        part.ok_or("a key is ip, device, member, client, shop, sku, route or site, or a list of them")
    }
}

/// What a policy counts by: one part, or several together, each part once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyKey {
    /// In the order of [`KeyPart::ALL`]; never empty.
    parts: Vec<KeyPart>,
}

impl PolicyKey {
    /// A key of one part.
    pub fn of(part: KeyPart) -> Self {
        Self { parts: vec![part] }
    }

    /// The parts, in the order of [`KeyPart::ALL`] whatever the order in the file.
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Whether the key has this part.
    pub fn has(&self, part: KeyPart) -> bool {
        self.parts.contains(&part)
    }

    /// Whether a key belongs to one caller.
    pub fn is_personal(&self) -> bool {
        self.parts.iter().any(|part| part.is_personal())
    }

    pub(super) fn read(value: &Value<'_>) -> Option<Self> {
        if !value.is_list() {
            return value.parsed(KeyPart::parse).map(Self::of);
        }
        let mut names = Unique::new();
        let mut named = Vec::new();
        for item in value.list(KeyPart::ALL.len()) {
            let Some(part) = item.parsed(KeyPart::parse) else { continue };
            names.claim(&part.name(), &item);
            named.push(part);
        }
        let key = Self { parts: KeyPart::ALL.into_iter().filter(|part| named.contains(part)).collect() };
        match key.contradiction() {
            Some(message) => value.error(message),
            None => return Some(key),
        }
        None
    }

    fn contradiction(&self) -> Option<&'static str> {
        if self.parts.is_empty() {
            return Some("name at least one of ip, device, member, client, shop, sku, route and site");
        }
        let is_sites = self.has(KeyPart::Site);
        if is_sites && [KeyPart::Shop, KeyPart::Sku, KeyPart::Route].into_iter().any(|part| self.has(part)) {
            return Some(
                "shops, SKUs and routes are of one shop, and site counts over all shops; remove site",
            );
        }
        None
    }
}

impl fmt::Display for PolicyKey {
    /// The parts with plus signs between: `ip + route`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { " + " })?;
            f.write_str(part.name())?;
        }
        Ok(())
    }
}
