//! The sales that are simulated.

use crate::{
    figures::{Figure, Mark},
    scenario::{
        Arrivals, Crowd, Habit, Loss, Scenario, ServerModel, Spread, Stay, Trouble, TroubleKind, room,
    },
};
use shared::{
    ids::LaneId,
    origin::OriginSettings,
    room::{LaneSettings, RoomSettings},
};
use std::time::Duration;

/// All scenarios, in the order of the table.
pub fn all() -> Vec<Scenario> {
    [openings(), crowds(), edges(), troubles(), servers(), sizes()].into_iter().flatten().collect()
}

/// What takes minutes and gigabytes, and is run by its name alone.
pub fn huge() -> Vec<Scenario> {
    vec![Scenario {
        room: room(200_000, 20_000),
        marks: marks(&[at_most(Figure::InversionsPercent, 0.2), at_least(Figure::CountedUse, 0.97)]),
        ..opening("ten_million", "10,000,000 buyers, 60 % leave; by name only", 10_000_000, 0.6)
    }]
}

/// The plain sale: everybody comes at the opening.
fn openings() -> Vec<Scenario> {
    vec![
        Scenario {
            marks: marks(&[at_least(Figure::CountedUse, 0.97)]),
            ..opening("no_shows_20", "20 % leave after joining", 20_000, 0.2)
        },
        Scenario {
            marks: marks(&[at_least(Figure::CountedUse, 0.97), at_least(Figure::TrueUse, 0.72)]),
            with_peers: true,
            ..opening("no_shows_60", "60 % leave; 60 % of the sessions end with a word", 40_000, 0.6)
        },
        Scenario {
            marks: marks(&[at_least(Figure::CountedUse, 0.95)]),
            ..opening("no_shows_90", "90 % leave", 120_000, 0.9)
        },
        Scenario {
            room: room(500, 50),
            marks: marks(&[at_least(Figure::CountedUse, 0.97)]),
            ..opening("capacity_500", "a small shop, 60 % leave", 10_000, 0.6)
        },
        Scenario {
            stay: Stay { explicit_ends: 0.95, ..STAY },
            marks: marks(&[at_least(Figure::CountedUse, 0.97), at_least(Figure::TrueUse, 0.90)]),
            with_peers: true,
            ..opening("explicit_95", "95 % of the sessions end with a word", 40_000, 0.6)
        },
        Scenario {
            stay: Stay { spread: Spread::Narrow, ..STAY },
            marks: marks(&[at_least(Figure::CountedUse, 0.97), at_least(Figure::EtaKept, 80.0)]),
            ..opening("like_stays", "all stay about as long: ends come in waves", 20_000, 0.2)
        },
    ]
}

/// Other ways to come.
fn crowds() -> Vec<Scenario> {
    let lobby = Arrivals::RampAndDecay { ramp_s: 300.0, decay_s: 300.0 };
    let bots =
        Crowd { buyers: 4_000, habit: Habit::Bot, arrivals: Arrivals::Batch { at_s: 0.0 }, ..crowd(0, 0.0) };
    vec![
        Scenario {
            crowds: vec![Crowd { arrivals: lobby, ..crowd(20_000, 0.6) }],
            marks: marks(&[]),
            ..opening("ramp", "people come over ten minutes, with a peak", 0, 0.0)
        },
        Scenario {
            crowds: vec![Crowd {
                arrivals: Arrivals::Steady { from_s: 0.0, over_s: 1_500.0 },
                ..crowd(30_000, 0.2)
            }],
            marks: marks(&[]),
            ..opening("steady", "a little more than the shop can take, evenly", 0, 0.0)
        },
        Scenario {
            crowds: vec![crowd(20_000, 0.6), bots],
            marks: marks(&[]),
            ..opening("bots", "4,000 bots among them ask every second", 0, 0.0)
        },
        Scenario {
            crowds: vec![crowd(12_000, 0.4), Crowd { habit: Habit::Sleeps, ..crowd(8_000, 0.2) }],
            marks: marks(&[]),
            ..opening("phones_asleep", "40 % sleep for 1 to 10 minutes once", 0, 0.0)
        },
        Scenario {
            duplicates: 0.3,
            marks: marks(&[]),
            ..opening("sent_twice", "30 % of the calls arrive twice", 20_000, 0.6)
        },
        ghosts(),
        two_lanes(),
        bounded_lanes(),
        unlike_lanes("lanes_1_1", "two lanes of equal weight, 10 % and 80 % leave", &[(1, 0.1), (1, 0.8)]),
        unlike_lanes("lanes_1_9", "lanes of weight 1 and 9, 10 % and 80 % leave", &[(1, 0.1), (9, 0.8)]),
        unlike_lanes(
            "lanes_1_2_3",
            "lanes of weight 1, 2 and 3; 10, 80 and 50 % leave",
            &[(1, 0.1), (2, 0.8), (3, 0.5)],
        ),
    ]
}

/// Members would have nineteen of twenty by weight, and guests hardly anything; whoever has a code comes in large numbers.
fn bounded_lanes() -> Scenario {
    let lane = |name: &str, weight, floor_pct, ceiling_pct| LaneSettings {
        floor_pct,
        ceiling_pct,
        ..LaneSettings::weighing(name, weight)
    };
    let of = |index: u8, buyers, no_shows| Crowd { lane: LaneId(index), ..crowd(buyers, no_shows) };
    Scenario {
        room: RoomSettings {
            lanes: vec![lane("guest", 1, 30, 100), lane("member", 19, 0, 100), lane("code", 20, 0, 20)],
            ..room(2_000, 200)
        },
        crowds: vec![of(0, 30_000, 0.6), of(1, 20_000, 0.2), of(2, 10_000, 0.4)],
        shares: Some(vec![30, 50, 20]),
        marks: marks(&[
            at_least(Figure::JainAfterFill, 0.99),
            at_least(Figure::BoundsKept, 0.98),
            at_most(Figure::BoundsLag, 10.0),
            at_least(Figure::CountedUse, 0.97),
        ]),
        ..opening(
            "lane_bounds",
            "three lanes: a floor of 30 %, a ceiling of 20 %, 60, 20 and 40 % leave",
            0,
            0.0,
        )
    }
}

/// Lanes by weight and share of no-shows, of which one shows up far less than another: each has as many who stay as its weight asks for.
fn unlike_lanes(name: &'static str, about: &'static str, lanes: &[(u32, f64)]) -> Scenario {
    let weights: u32 = lanes.iter().map(|(weight, _)| weight).sum();
    let crowds = lanes.iter().enumerate().map(|(index, &(weight, no_shows))| {
        let buyers = f64::from(STAY_IN_LANES * weight / weights) / (1.0 - no_shows);
        Crowd { lane: LaneId::at(index), ..crowd(buyers as u32, no_shows) }
    });
    let settings = lanes.iter().zip(["member", "guest", "code"]);
    Scenario {
        crowds: crowds.collect(),
        room: RoomSettings {
            lanes: settings.map(|((weight, _), name)| LaneSettings::weighing(name, *weight)).collect(),
            ..room(2_000, 200)
        },
        marks: marks(&[at_least(Figure::JainP5, 0.99), at_least(Figure::CountedUse, 0.97)]),
        ..opening(name, about, 0, 0.0)
    }
}

/// Everybody who opened the sale has left, the shop is empty, and now and then somebody comes.
fn ghosts() -> Scenario {
    let few = Arrivals::Steady { from_s: 300.0, over_s: 1_200.0 };
    Scenario {
        crowds: vec![crowd(5_000, 1.0), Crowd { arrivals: few, ..crowd(40, 0.0) }],
        room: room(200, 20),
        marks: marks(&[at_most(Figure::WaitMost, 20.0)]),
        ..opening("ghosts", "5,000 have left without a word, 40 come later", 0, 0.0)
    }
}

/// Members have three times the weight and show up more often; the third lane stays empty.
fn two_lanes() -> Scenario {
    let lane = |name: &str, weight| LaneSettings::weighing(name, weight);
    let members = Crowd { lane: LaneId(1), ..crowd(40_000, 0.2) };
    Scenario {
        room: RoomSettings {
            lanes: vec![lane("guest", 1), lane("member", 3), lane("press", 1)],
            ..room(2_000, 200)
        },
        crowds: vec![crowd(40_000, 0.6), members],
        marks: marks(&[at_least(Figure::JainP5, 0.99), at_least(Figure::CountedUse, 0.97)]),
        ..opening("lanes", "two lanes of weight 1 and 3, 60 % and 20 % leave, and an empty one", 0, 0.0)
    }
}

/// The ends of every range.
fn edges() -> Vec<Scenario> {
    vec![
        Scenario {
            room: RoomSettings { turn_grace: Duration::from_secs(30), ..room(2_000, 200) },
            stay: Stay { spread: Spread::Narrow, ..STAY },
            marks: marks(&[at_least(Figure::CountedUse, 0.97)]),
            ..opening("short_turns", "turns of 30 s, and a door that is full for longer", 20_000, 0.2)
        },
        Scenario {
            room: room(1, 1),
            stay: Stay { mean_s: 10.0, explicit_ends: 1.0, ..STAY },
            marks: marks(&[]),
            ..opening("capacity_1", "one at a time", 50, 0.2)
        },
        Scenario {
            room: room(100_000, 5_000),
            marks: marks(&[]),
            ..opening("capacity_100000", "a very large shop", 250_000, 0.2)
        },
        Scenario {
            room: room(1, 1),
            crowds: vec![Crowd { arrivals: Arrivals::Steady { from_s: 0.0, over_s: 60.0 }, ..crowd(2, 0.0) }],
            marks: marks(&[]),
            ..opening("one_waits", "one inside, one waits", 0, 0.0)
        },
        Scenario {
            room: room(2_000, 5),
            marks: marks(&[]),
            ..opening("rate_5", "the admission rate binds, not the capacity", 6_000, 0.6)
        },
        Scenario {
            room: room(2_000, 0),
            seconds_max: 300,
            marks: vec![at_most(Figure::ServedAll, 0.0), at_most(Figure::LostTurns, 0.0)],
            ..opening("rate_0", "the operator lets nobody in", 1_000, 0.2)
        },
    ]
}

/// What goes wrong in mid-sale.
fn troubles() -> Vec<Scenario> {
    let at_400 = |kind, for_s| vec![Trouble { kind, from_s: 400, for_s }];
    vec![
        Scenario {
            troubles: at_400(TroubleKind::ServerAway, 60),
            marks: marks(&[]),
            ..opening("server_away", "the queue server stands still for 60 s", 20_000, 0.6)
        },
        Scenario {
            troubles: at_400(TroubleKind::NetworkAway, 120),
            marks: marks(&[at_most(Figure::CallingStopsAfter, 15.0)]),
            ..opening("network_away", "no buyer reaches anything for 120 s", 20_000, 0.6)
        },
        Scenario {
            troubles: at_400(TroubleKind::Paused, 180),
            marks: marks(&[]),
            ..opening("paused", "the operator holds the line for 180 s", 20_000, 0.6)
        },
    ]
}

/// The shop's server: watched, and shared by several rooms.
fn servers() -> Vec<Scenario> {
    let settings =
        OriginSettings { target_latency: Duration::from_millis(400), capacity_min: 50, capacity_max: 2_000 };
    let server = ServerModel { settings, safe_sessions: 1_000, loss: None, requests_per_session_s: 0.1 };
    let strong = ServerModel { safe_sessions: 3_000, ..server };
    let neighbour = Scenario { crowds: vec![crowd(8_000, 0.2)], ..opening("neighbour", "", 0, 0.0) };
    vec![
        Scenario {
            server: Some(ServerModel { loss: Some(Loss { from_s: 2_000, until_s: 4_000 }), ..server }),
            seconds_max: 6_000,
            marks: vec![
                at_most(Figure::RestoredAfter, 1.5 * STAY.mean_s),
                at_least(Figure::UseOfSafe, 0.95),
                at_most(Figure::LostTurns, 0.0),
                at_most(Figure::DoorWaitMost, STAY.mean_s),
                at_most(Figure::OvertakesMost, 10.0),
            ],
            ..opening("server_halves", "the shop's server loses half from 2,000 to 4,000 s", 60_000, 0.2)
        },
        Scenario {
            server: Some(strong),
            weight: 3,
            neighbours: vec![neighbour],
            marks: marks(&[at_least(Figure::SharedUse, 0.97), at_least(Figure::SharesKept, 0.97)]),
            ..opening(
                "two_rooms",
                "rooms of weight 3 and 1 on one server; the second runs empty",
                30_000,
                0.6,
            )
        },
    ]
}

/// Long lines.
fn sizes() -> Vec<Scenario> {
    vec![
        Scenario {
            room: room(2_000, 200),
            marks: marks(&[at_most(Figure::InversionsPercent, 0.2), at_least(Figure::CountedUse, 0.97)]),
            ..opening("long_line", "200,000 buyers, 60 % leave", 200_000, 0.6)
        },
        Scenario {
            room: room(20_000, 2_000),
            marks: marks(&[at_most(Figure::InversionsPercent, 0.2), at_least(Figure::CountedUse, 0.97)]),
            ..opening("million", "1,000,000 buyers, 60 % leave", 1_000_000, 0.6)
        },
    ]
}

fn opening(name: &'static str, about: &'static str, buyers: u32, no_shows: f64) -> Scenario {
    Scenario {
        name,
        about,
        room: room(2_000, 200),
        crowds: vec![crowd(buyers, no_shows)],
        stay: STAY,
        snapshot_age_ms: (1_000, 5_000),
        duplicates: 0.02,
        troubles: Vec::new(),
        seconds_max: 20_000,
        marks: Vec::new(),
        shares: None,
        with_peers: false,
        server: None,
        weight: 1,
        neighbours: Vec::new(),
    }
}

fn crowd(buyers: u32, no_shows: f64) -> Crowd {
    Crowd { lane: LaneId(0), buyers, arrivals: Arrivals::Batch { at_s: 0.0 }, no_shows, habit: Habit::AsTold }
}

/// People who stay in all lanes of a sale that compares lanes: 45 windows of 1,000.
const STAY_IN_LANES: u32 = 45_000;
const STAY: Stay = Stay { mean_s: 150.0, spread: Spread::Wide, explicit_ends: 0.6 };

/// What must hold in every sale, and what this one is there for.
fn marks(own: &[Mark]) -> Vec<Mark> {
    let always = [
        at_most(Figure::LostTurns, 0.0),
        at_most(Figure::NeverServed, 0.0),
        at_most(Figure::DoorWaitP95, 10.0),
        at_most(Figure::DoorWaitMost, STAY.mean_s),
        at_most(Figure::OvertakesMost, 10.0),
    ];
    own.iter().copied().chain(always).collect()
}

fn at_least(figure: Figure, bound: f64) -> Mark {
    Mark::at_least(figure, bound)
}

fn at_most(figure: Figure, bound: f64) -> Mark {
    Mark::at_most(figure, bound)
}
