//! One shop, one event, one buyer.

use data_encoding::BASE64URL_NOPAD;
use shared::config::Config;
use shared::gate::{Buyer, EndedPlaces, PassView};
use shared::http::client::{ClientAddress, Ipv6Prefix};
use shared::ids::{Epoch, EventId, LaneId, Place, TicketNumber};
use shared::time::Timestamp;
use shared::token::{DeviceId, EdgeKeys, MasterKeys, PassClaims, PassId, ServerKeys};
use shared::wire::{Phase, Snapshot};

pub(crate) const NOW_S: u64 = 1_764_480_000;

pub(crate) fn config() -> Config {
    let text = r#"
        [site]
        public_url = "http://localhost:1"
        [edge]
        queue_server = "http://127.0.0.1:2"
        [[shop]]
        id = "alpha"
        hosts = ["localhost:1"]
        origin = "http://127.0.0.1:3"
        [[shop.route]]
        methods = ["POST"]
        path = "/cart/items"
        sku = { form = "sku" }
        limits = ["wide", "narrow"]
        [[event]]
        id = "drop"
        shop = "alpha"
        skus = ["A-1"]
        capacity = 1
        admission_rate_per_s = 1
        [[policy]]
        name = "wide"
        key = "ip"
        burst_capacity = 200
        rate = 100
        period_ms = 1000
        [[policy]]
        name = "narrow"
        key = "device"
        burst_capacity = 10
        rate = 5
        period_ms = 1000
    "#;
    Config::parse("fairgate.toml", text).unwrap()
}

pub(crate) fn keys() -> ServerKeys {
    ServerKeys::new(&MasterKeys::first([7; 32]))
}

pub(crate) fn event() -> EventId {
    EventId::parse("drop").unwrap()
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(NOW_S * 1_000)
}

pub(crate) fn place(number: u64) -> Place {
    Place { epoch: Epoch(1), lane: LaneId(0), number: TicketNumber(number) }
}

/// A buyer at one address, on the device whose id is 16 times `device`.
pub(crate) fn buyer(address: &str, device: Option<u8>) -> Buyer<'static> {
    Buyer {
        network: ClientAddress::from_peer(address.parse().unwrap()).network(Ipv6Prefix::default()),
        device: device.map(|byte| DeviceId([byte; 16])),
        cookies: "",
        authorization: None,
        client: None,
        is_bypassed: false,
    }
}

/// A pass cookie for `place(number)` at `shop`, from `life_s.0` to `life_s.1` seconds around now.
pub(crate) fn pass(keys: &EdgeKeys, number: u64, shop: &str, life_s: (i64, i64)) -> String {
    let at = |offset: i64| NOW_S.checked_add_signed(offset).unwrap();
    let claims = PassClaims {
        iss: "fairgate".to_owned(),
        aud: shop.to_owned(),
        event: event(),
        jti: PassId { event: event(), place: place(number) },
        cnf: None,
        iat: at(life_s.0),
        exp: at(life_s.1),
    };
    let payload = BASE64URL_NOPAD.encode(&serde_json::to_vec(&claims).unwrap());
    keys.tag_pass(&format!("e30.{payload}.c2ln"))
}

pub(crate) fn snapshot(phase: Phase, session_free: bool) -> Snapshot {
    Snapshot {
        v: 1,
        event: event(),
        epoch: Epoch(1),
        tick: 1,
        phase,
        server_time_ms: NOW_S * 1_000,
        redeemable_time_s: 0,
        lanes: Vec::new(),
        session_free,
        turn_grace_s: 300,
        poll_budget_per_s: 1_000,
        ended_seq: 0,
        reason: None,
        message: None,
        everyone_in: false,
    }
}

/// What passes are checked against, now.
pub(crate) struct View {
    pub(crate) keys: EdgeKeys,
    pub(crate) event: EventId,
    pub(crate) ended: EndedPlaces,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) server_time: Timestamp,
    pub(crate) is_server_away: bool,
}

impl View {
    pub(crate) fn new(snapshot: Option<Snapshot>) -> Self {
        Self {
            keys: keys().edge().clone(),
            event: event(),
            ended: EndedPlaces::default(),
            snapshot,
            server_time: now(),
            is_server_away: false,
        }
    }

    pub(crate) fn get(&self) -> PassView<'_> {
        PassView {
            keys: &self.keys,
            event: &self.event,
            shop_id: "alpha",
            ended: &self.ended,
            snapshot: self.snapshot.as_ref(),
            now: now(),
            server_time: self.server_time,
            is_server_away: self.is_server_away,
        }
    }
}
