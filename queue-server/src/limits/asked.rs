//! A check as a caller wrote it, made into limits of the configuration. What cannot be counted is refused, never guessed.

use super::live::InForce;
use shared::{
    config::{KeyPart, LimitChoice, PolicyMode, RouteConfig, RouteKind, ShopConfig},
    gate::{Limit, MEMBER_BYTES_MAX, Plan, Stage, Subject},
    http::{
        client::{ClientAddress, Ipv6Prefix, Network},
        ratelimit::LimitFields,
        reason::Reason,
        sku::Sku,
    },
    limiter::{Cost, Policy, check::CHARGES_MAX, concurrency::Holder, key::Key},
    token::DeviceId,
    wire::limits::{KeyParts, LimitCheck, PART_BYTES_MAX, PermitWait, WAIT_MS_MAX},
};

/// A request of a caller that is sound.
pub(crate) struct Asked<'f> {
    pub(super) shop: &'f ShopConfig,
    pub(super) limit_fields: LimitFields,
    /// What policies by route count by.
    route: Option<&'f RouteConfig>,
    choices: Vec<LimitChoice>,
    parts: Parts,
    pub(super) cost: Cost,
    pub(super) holder: Option<Holder>,
    pub(super) wait: Option<PermitWait>,
}

/// What is wrong with a request, for the engineer who sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskError {
    pub reason: Reason,
    pub detail: String,
}

/// Parts of keys as they are counted.
#[derive(Clone, Debug, Default)]
struct Parts {
    network: Option<Network>,
    device: Option<DeviceId>,
    member: Option<String>,
    client: Option<String>,
    sku: Option<Sku>,
}

impl<'f> Asked<'f> {
    /// Reads a check.
    pub(crate) fn check(in_force: &'f InForce, check: &LimitCheck) -> Result<Self, AskError> {
        let shop = shop(in_force, &check.shop)?;
        let mut choices = Vec::new();
        if let Some(id) = &check.route {
            let route = route(shop, id)?;
            if route.kind != RouteKind::Bypass {
                choices.extend(route.limits.iter().cloned());
            }
        }
        let counted_route = match (&check.route, &check.keys.route) {
            (Some(named), Some(counted)) if named != counted => {
                return Err(error(Reason::BodyAmbiguous, "route and keys.route are two routes"));
            }
            (named, counted) => named.as_ref().or(counted.as_ref()),
        };
        if check.route.is_none() && check.policies.is_empty() {
            return Err(error(Reason::BodyInvalid, "name policies or a route"));
        }
        let asked = Self {
            shop,
            limit_fields: in_force.config.site.limit_fields,
            route: counted_route.map(|id| route(shop, id)).transpose()?,
            choices,
            parts: Parts::read(&check.keys, in_force.config.site.ipv6_prefix)?,
            cost: check.cost,
            holder: check.holder.as_deref().map(|holder| read_holder(shop, holder)).transpose()?,
            wait: check.wait.map(read_wait).transpose()?,
        };
        asked.with_policies(&check.policies)
    }

    /// One key of one policy.
    pub(crate) fn key(
        in_force: &'f InForce,
        shop_id: &str,
        policy: &str,
        keys: &KeyParts,
        cost: Cost,
    ) -> Result<Self, AskError> {
        let check = LimitCheck {
            shop: shop_id.to_owned(),
            policies: vec![policy.to_owned()],
            keys: keys.clone(),
            cost,
            ..LimitCheck::default()
        };
        Self::check(in_force, &check)
    }

    /// The limits that apply, personal ones first, and the names of those that pass the request over.
    pub(crate) fn limits(&self) -> (Vec<Limit<'_>>, Vec<String>) {
        let (plan, subject) = (Plan::of(&self.choices), self.subject());
        let limits: Vec<Limit<'_>> = Stage::ALL
            .into_iter()
            .flat_map(|stage| plan.limits(stage, &subject))
            .map(|mut limit| {
                limit.charge.cost = self.cost;
                limit
            })
            .collect();
        let is_on =
            |choice: &&LimitChoice| choice.policies.iter().any(|policy| policy.mode != PolicyMode::Off);
        let applies = |choice: &LimitChoice| {
            choice.policies.iter().any(|policy| limits.iter().any(|limit| limit.name == policy.name))
        };
        let passed_over = self.choices.iter().filter(is_on).filter(|choice| !applies(choice));
        let names =
            passed_over.flat_map(|choice| &choice.policies).map(|policy| policy.name.clone()).collect();
        (limits, names)
    }

    /// Whether the policy of this name counts over all shops.
    pub(super) fn is_of_site(&self, policy: &str) -> bool {
        self.shop.policy(policy).is_some_and(|policy| policy.key.has(KeyPart::Site))
    }

    fn with_policies(mut self, names: &[String]) -> Result<Self, AskError> {
        for name in names {
            let policy = self.shop.policy(name).ok_or_else(|| {
                let names: Vec<&str> = self.shop.policies.iter().map(|policy| policy.name.as_str()).collect();
                error(
                    Reason::PolicyUnknown,
                    format!("no policy {}; known are {}", shown(name), names.join(", ")),
                )
            })?;
            let mut known = self.choices.iter().flat_map(|choice| &choice.policies);
            if known.any(|other| other.name == policy.name) {
                return Err(error(Reason::BodyAmbiguous, format!("{name} is named twice")));
            }
            let is_route_known = self.route.is_some() || !policy.key.has(KeyPart::Route);
            if !(is_route_known && self.subject().knows(&policy.key)) {
                return Err(error(Reason::KeyPartMissing, format!("{name} counts by {}", policy.key)));
            }
            self.choices.push(LimitChoice::of(policy.clone()));
        }
        if self.choices.len() > CHARGES_MAX {
            return Err(error(Reason::BatchTooLarge, format!("a check has at most {CHARGES_MAX} policies")));
        }
        Ok(self)
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            shop_id: &self.shop.id,
            network: self.parts.network,
            device: self.parts.device,
            member: self.parts.member.clone(),
            client: self.parts.client.as_deref(),
            route: self.route.map_or("", |route| &route.id),
            sku: self.parts.sku.clone(),
        }
    }
}

impl Parts {
    fn read(keys: &KeyParts, ipv6_prefix: Ipv6Prefix) -> Result<Self, AskError> {
        let KeyParts { ip, device, member, client, sku, route: _ } = keys;
        let ip = part("ip", ip.as_ref(), PART_BYTES_MAX)?;
        let address = ip.map(|text| text.parse().map_err(|_| invalid("ip", "is an address")));
        let device = part("device", device.as_ref(), PART_BYTES_MAX)?;
        let sku = sku.as_ref().map(|text| Sku::parse(text).map_err(|_| invalid("sku", "is a SKU")));
        Ok(Self {
            network: address.transpose()?.map(|ip| ClientAddress::from_peer(ip).network(ipv6_prefix)),
            device: device.map(|text| hashed("device", text)).transpose()?.map(DeviceId),
            member: part("member", member.as_ref(), MEMBER_BYTES_MAX)?.map(str::to_owned),
            client: part("client", client.as_ref(), CLIENT_BYTES_MAX)?.map(str::to_owned),
            sku: sku.transpose()?,
        })
    }
}

/// A text of 1 to `bytes_max` bytes.
fn part<'t>(
    name: &'static str,
    text: Option<&'t String>,
    bytes_max: usize,
) -> Result<Option<&'t str>, AskError> {
    match text {
        None => Ok(None),
        Some(text) if (1..=bytes_max).contains(&text.len()) => Ok(Some(text)),
        Some(_) => Err(invalid(name, &format!("has 1 to {bytes_max} bytes"))),
    }
}

fn read_holder(shop: &ShopConfig, text: &str) -> Result<Holder, AskError> {
    let text = text.to_owned();
    let text = part("holder", Some(&text), PART_BYTES_MAX)?.unwrap_or_default();
    // Holders of two shops never meet, whatever they call themselves.
    let key = Key { service: &shop.id, action: "holder", identity: text.as_bytes() };
    key.hash().map(|hash| Holder(hash.0)).map_err(|_| invalid("holder", "is shorter"))
}

fn read_wait(wait: PermitWait) -> Result<PermitWait, AskError> {
    if wait.ms > WAIT_MS_MAX {
        return Err(error(Reason::BodyInvalid, format!("wait.ms is at most {WAIT_MS_MAX}")));
    }
    Ok(wait)
}

/// 16 bytes that stand for a text.
fn hashed(name: &'static str, text: &str) -> Result<[u8; 16], AskError> {
    let key = Key { service: "", action: name, identity: text.as_bytes() };
    key.hash().map(|hash| hash.0).map_err(|_| invalid(name, "is shorter"))
}

fn shop<'f>(in_force: &'f InForce, id: &str) -> Result<&'f ShopConfig, AskError> {
    in_force.config.shop(id).ok_or_else(|| error(Reason::ShopUnknown, format!("no shop {}", shown(id))))
}

fn route<'f>(shop: &'f ShopConfig, id: &str) -> Result<&'f RouteConfig, AskError> {
    shop.route(id).ok_or_else(|| {
        let ids: Vec<&str> = shop.routes.iter().map(|route| route.id.as_str()).collect();
        error(Reason::PolicyUnknown, format!("no route {}; known are {}", shown(id), ids.join(", ")))
    })
}

fn invalid(name: &str, what: &str) -> AskError {
    error(Reason::KeyPartInvalid, format!("{name} {what}"))
}

fn error(reason: Reason, detail: impl Into<String>) -> AskError {
    AskError { reason, detail: detail.into() }
}

/// As much of a wrong name as its error repeats.
fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

/// Longest id of an API client: with it a key of every part fits.
const CLIENT_BYTES_MAX: usize = 64;

/// The shop's own limits, then those of the whole site, whose keys lie elsewhere.
pub(super) fn by_shop<'a>(asked: &'a Asked<'_>, limits: &[Limit<'a>]) -> Vec<(&'a str, Vec<Limit<'a>>)> {
    let (of_site, of_shop): (Vec<Limit<'a>>, Vec<Limit<'a>>) =
        limits.iter().copied().partition(|limit| asked.is_of_site(limit.name));
    let groups = [(asked.shop.id.as_str(), of_shop), (SITE, of_site)];
    groups.into_iter().filter(|(_, limits)| !limits.is_empty()).collect()
}

pub(super) fn is_permit(limit: &Limit<'_>) -> bool {
    matches!(limit.charge.policy, Policy::Concurrency(_))
}

/// Where keys of the whole site lie; no shop has this name.
pub(super) const SITE: &str = "*";
