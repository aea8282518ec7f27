//! Who asks: what a request presents of address, device, tickets and passes.

use super::Subject;
use crate::config::{ClientConfig, Config, Credentials, RouteConfig, ShopConfig};
use crate::http::client::{ClientAddress, Network};
use crate::http::cookie::{Cookie, presented_tickets, values};
use crate::http::reason::Reason;
use crate::ids::EventId;
use crate::token::{DeviceId, EdgeKeys, Ticket};

/// Longest `Cookie` field that is read, in bytes: what browsers send to one host at most.
pub const COOKIE_BYTES_MAX: usize = 16 * 1024;

/// A request's sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buyer<'r> {
    /// Where the request comes from.
    pub network: Network,
    /// The first device cookie that verifies.
    pub device: Option<DeviceId>,
    /// The `Cookie` field; empty where there is none.
    pub cookies: &'r str,
    /// The `Authorization` field.
    pub authorization: Option<&'r str>,
    /// The API client whose key is presented.
    pub client: Option<&'r ClientConfig>,
    /// Whether the request passes by all limits; no gate opens by it.
    pub is_bypassed: bool,
}

/// A ticket that the edge may show a place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketFound<'r> {
    /// What it says.
    pub ticket: Ticket,
    /// Its 84 characters.
    pub text: &'r str,
}

impl<'r> Buyer<'r> {
    /// Reads the sender. Cookies that do not verify are passed over.
    ///
    /// # Errors
    /// [`Reason::HeadersTooLarge`] where the cookies are longer than [`COOKIE_BYTES_MAX`].
    pub fn read(
        config: &'r Config,
        keys: &EdgeKeys,
        address: ClientAddress,
        cookies: Option<&'r str>,
        credentials: &Credentials<'r>,
    ) -> Result<Self, Reason> {
        let cookies = cookies.unwrap_or_default();
        if cookies.len() > COOKIE_BYTES_MAX {
            return Err(Reason::HeadersTooLarge);
        }
        let name = config.site.cookie_mode.name(Cookie::Device);
        let device = values([cookies.as_bytes()], &name).find_map(|cookie| keys.open_device(cookie).ok());
        Ok(Self {
            network: address.network(config.site.ipv6_prefix),
            device,
            cookies,
            authorization: credentials.authorization,
            client: config.callers.client(credentials),
            is_bypassed: config.callers.is_bypassed(credentials, address),
        })
    }

    /// Who and what this request is, as far as limits count, before its SKU is known.
    pub fn subject<'a>(&self, shop: &'a ShopConfig, route: Option<&'a RouteConfig>) -> Subject<'a>
    where
        'r: 'a,
    {
        Subject {
            shop_id: &shop.id,
            network: Some(self.network),
            device: self.device,
            member: None,
            client: self.client_of(shop).map(|client| client.id.as_str()),
            route: route.map_or("", |route| &route.id),
            sku: None,
        }
    }

    /// The API client, where it may call this shop.
    pub fn client_of(&self, shop: &ShopConfig) -> Option<&'r ClientConfig> {
        let is_ours = |client: &&ClientConfig| client.shop_id.as_ref().is_none_or(|id| *id == shop.id);
        self.client.filter(is_ours)
    }

    /// The first ticket of `event` that carries the edge's tag.
    ///
    /// # Errors
    /// [`Reason::NoTicket`] where none is presented, [`Reason::TicketInvalid`] where none verifies.
    pub fn ticket(
        &self,
        config: &Config,
        keys: &EdgeKeys,
        event: &EventId,
    ) -> Result<TicketFound<'r>, Reason> {
        let name = config.site.cookie_mode.name(Cookie::Ticket(event));
        let authorization = self.authorization.map(str::as_bytes);
        let mut refusal = Reason::NoTicket;
        for text in presented_tickets(authorization, [self.cookies.as_bytes()], &name) {
            match keys.open_ticket(text, event) {
                Ok(ticket) => return Ok(TicketFound { ticket, text }),
                Err(_) => refusal = Reason::TicketInvalid,
            }
        }
        Err(refusal)
    }

    /// The pass cookies of `event`, unverified, in the order in which they came.
    pub fn passes(&self, config: &Config, event: &EventId) -> Vec<&'r str> {
        let name = config.site.cookie_mode.name(Cookie::Pass(event));
        values([self.cookies.as_bytes()], &name).collect()
    }
}
