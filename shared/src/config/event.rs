//! `[[event]]`: one protected sale and the numbers of its room.

use super::ShopConfig;
use super::name::parse_name;
use super::section::Section;
use super::unique::Unique;
use crate::http::sku::Sku;
use crate::ids::EventId;
use crate::time::Timestamp;
use core::time::Duration;

/// One protected sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventConfig {
    /// Name of the event, unique in the file.
    pub id: EventId,
    /// What buyers read that they wait for: 1 to 80 characters, the id by default.
    pub title: String,
    /// Shop that sells here.
    pub shop_id: String,
    /// What may be added to a cart only with a pass of this event; at least one, at most 10,000.
    pub skus: Vec<Sku>,
    /// Most sessions at once: 1 to 1,000,000.
    pub capacity: u32,
    /// Part of the capacity of its shop's server beside other events there, see [`OriginConfig`](super::OriginConfig): 1 to
    /// 1,000, 1 by default.
    pub weight: u32,
    /// Most redemptions a second: 1 to 100,000.
    pub admission_rate_per_s: u32,
    /// How long a called ticket has full right to redeem: 10 s to 1 h, 300 s by default.
    pub turn_grace: Duration,
    /// Life of a pass, and so the idle time-out of a session: 10 s to 1 h, 120 s by default.
    pub pass_life: Duration,
    /// Longest session however often its pass is renewed: `pass_life` to one day; 900 s, or `pass_life` if that is longer,
    /// by default.
    pub session_max: Duration,
    /// How often a buyer may extend a session by another `session_max`: 0 to 100, 10 by default (WCAG 2.2.1).
    pub session_extensions_max: u8,
    /// Sessions that one buyer may have in the event, one after another: 1 to 1,000; any number by default.
    pub sessions_per_buyer: Option<u32>,
    /// A device without its ticket is told the place that it has, `true` by default; see
    /// [`RoomSettings::remembers_devices`](crate::room::RoomSettings).
    pub remembers_devices: bool,
    /// Opens without a line, which forms by itself when nine tenths of the capacity are inside.
    pub starts_in_passthrough: bool,
    /// When joining begins; from the start by default.
    pub opens_at: Option<Timestamp>,
    /// When the event ends, after `opens_at`; by the operator's word alone by default.
    pub closes_at: Option<Timestamp>,
    /// Polls a second that all waiting browsers together may make: 1 to 1,000,000, 1,000 by default.
    pub poll_budget_per_s: u32,
    /// Lanes in the order of their ids; 1 to 16, by default one named `guest`.
    pub lanes: Vec<LaneConfig>,
}

/// An ordered, weighted class inside a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneConfig {
    /// Name, `[a-z0-9-]{1,32}`, unique in its event.
    pub name: String,
    /// Share of admissions relative to the other lanes: 1 to 1,000.
    pub weight: u32,
    /// At least so many percent of the admissions while people wait in it: 0 to 100, 0 by default; at most 100 in all lanes together.
    pub floor_pct: u32,
    /// At most so many percent while people wait in other lanes: from the floor to 100, the default.
    pub ceiling_pct: u32,
    /// Most uses of invitation codes that may be issued for it: 0 to 1,000,000, 0 by default.
    pub codes_max: u32,
}

impl EventConfig {
    /// Reads all events and enters their SKUs at their shops.
    pub(super) fn read_all(root: &mut Section<'_>, shops: &mut [ShopConfig]) -> Vec<Self> {
        let mut names = Names { events: Unique::new(), skus: Unique::new() };
        let mut events = Vec::new();
        for mut section in root.tables("event", EVENTS_MAX) {
            events.extend(Self::read(&mut section, shops, &mut names));
            section.finish();
        }
        events
    }

    fn read(section: &mut Section<'_>, shops: &mut [ShopConfig], names: &mut Names) -> Option<Self> {
        let id = section.required("id", "\"<name>\"");
        let event_id = id.as_ref().and_then(|value| value.parsed(EventId::parse));
        let shop_index = section.required("shop", "\"<id of a [[shop]]>\"").and_then(|value| {
            let find = |id: &str| shops.iter().position(|shop| shop.id == id);
            value.parsed(|id| find(id).ok_or("no [[shop]] has this id"))
        });
        let title = section.optional("title").and_then(|value| value.parsed(parse_title));
        let skus = read_skus(section, shop_index, &mut names.skus);
        let capacity = section.number("capacity", 1..=1_000_000);
        let weight = section.number_or("weight", 1..=1000, 1);
        let admission_rate_per_s = section.number("admission_rate_per_s", 1..=100_000);
        let turn_grace = section.seconds_or("turn_grace_s", LIVES_S, 300);
        let pass_life_s = section.number_or("pass_life_s", LIVES_S, 120);
        let session_max = section.seconds_or("session_max_s", pass_life_s..=86_400, pass_life_s.max(900));
        let session_extensions_max = section.number_or("session_extensions_max", 0..=100, 10);
        let sessions_per_buyer = section.optional("sessions_per_buyer");
        let sessions_per_buyer = sessions_per_buyer.and_then(|value| value.number(1..=1000));
        let remembers_devices = section.optional("remember_devices").and_then(|value| value.boolean());
        let starts_in_passthrough = section.optional("passthrough").and_then(|value| value.boolean());
        let opens_at = section.optional("opens_at").and_then(|value| value.moment());
        let closes_at = section.optional("closes_at").and_then(|value| {
            let moment = value.moment()?;
            if opens_at.is_some_and(|opens_at| moment <= opens_at) {
                value.error("an event closes after opens_at");
            }
            Some(moment)
        });
        let poll_budget_per_s = section.number_or("poll_budget_per_s", 1..=1_000_000, 1000);
        let lanes = read_lanes(section);

        let event_id = event_id?;
        names.events.claim(&event_id, &id?);
        let shop = shops.get_mut(shop_index?)?;
        shop.events_by_sku.extend(skus.iter().map(|sku| (sku.clone(), event_id.clone())));
        Some(Self {
            title: title.unwrap_or_else(|| event_id.to_string()),
            id: event_id,
            shop_id: shop.id.clone(),
            skus,
            capacity,
            weight,
            admission_rate_per_s,
            turn_grace,
            pass_life: Duration::from_secs(pass_life_s.into()),
            session_max,
            session_extensions_max: u8::try_from(session_extensions_max).unwrap_or(u8::MAX),
            sessions_per_buyer,
            remembers_devices: remembers_devices.unwrap_or(true),
            starts_in_passthrough: starts_in_passthrough.unwrap_or(false),
            opens_at,
            closes_at,
            poll_budget_per_s,
            lanes,
        })
    }
}

/// What events must not name twice: an id in the file, a SKU in a shop.
struct Names {
    events: Unique,
    skus: Unique,
}

fn read_skus(section: &mut Section<'_>, shop_index: Option<usize>, names: &mut Unique) -> Vec<Sku> {
    let Some(value) = section.required("skus", "[\"<SKU>\"]") else { return Vec::new() };
    let items = value.list(SKUS_MAX);
    if items.is_empty() {
        value.error("name at least one SKU, which this event then gates");
    }
    let parse = |text: &str| {
        Sku::parse(text).map_err(|_| "a SKU is 1 to 64 letters, digits and . _ - : / # ~, without spaces")
    };
    let mut skus = Vec::new();
    for item in items {
        let Some(sku) = item.parsed(parse) else { continue };
        if names.claim_shown(format!("{shop_index:?} {sku}"), &sku, &item) {
            skus.push(sku);
        }
    }
    skus
}

fn read_lanes(section: &mut Section<'_>) -> Vec<LaneConfig> {
    let mut names = Unique::new();
    let mut lanes = Vec::new();
    let mut floors_pct = 0_u32;
    for mut lane in section.tables("lane", LANES_MAX) {
        let value = lane.required("name", "\"<name>\"");
        let weight = lane.number_or("weight", 1..=1000, 1);
        let floor_pct = lane.number_or("floor_pct", 0..=100, 0);
        let ceiling_pct = lane.number_or("ceiling_pct", floor_pct.max(1)..=100, 100);
        let codes_max = lane.number_or("codes_max", 0..=1_000_000, 0);
        floors_pct = floors_pct.saturating_add(floor_pct);
        if floors_pct > 100 {
            lane.error("the floors of all lanes together are at most 100 percent");
        }
        let name = value.as_ref().and_then(|value| value.parsed(parse_name));
        if let (Some(value), Some(name)) = (value, name) {
            names.claim(&name, &value);
            lanes.push(LaneConfig { name, weight, floor_pct, ceiling_pct, codes_max });
        }
        lane.finish();
    }
    if lanes.is_empty() {
        lanes.push(LaneConfig {
            name: "guest".to_owned(),
            weight: 1,
            floor_pct: 0,
            ceiling_pct: 100,
            codes_max: 0,
        });
    }
    lanes
}

fn parse_title(text: &str) -> Result<String, &'static str> {
    let is_fit = (1..=TITLE_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if is_fit { Ok(text.to_owned()) } else { Err("write 1 to 80 characters, on one line") }
}

const TITLE_CHARS_MAX: usize = 80;
const LIVES_S: core::ops::RangeInclusive<u32> = 10..=3600;
const EVENTS_MAX: usize = 256;
const SKUS_MAX: usize = 10_000;
const LANES_MAX: usize = 16;
