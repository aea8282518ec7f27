//! What a run leaves behind, and the figures made from it.

use crate::{
    crowd::Buyer,
    figures::{Figure, Figures},
    order::{Entry, Order, Overtaken, overtaken},
    scenario::{Scenario, TroubleKind},
    series::{Sample, mean},
};
use shared::{ids::Place, wire::EtaRange};

/// What a run has measured so far.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Every second.
    pub samples: Vec<Sample>,
    /// Called buyers who were there and became late.
    pub lost_turns: u32,
    /// Present buyers who had not come in at the end.
    pub never_served: u32,
    lanes: Vec<LaneMeasured>,
    /// Waits at the door by tenths of a second.
    door_waits: Vec<u32>,
    waits_most_ms: u32,
    /// Estimates told with the join, and two minutes later.
    first_etas: Estimates,
    etas: Estimates,
    /// Lanes of all entries, in their order.
    entries: Vec<u8>,
    /// So many of them came before a minute after the first fill.
    entries_of_fill: usize,
    filled_ms: Option<u32>,
    last_entry_ms: u32,
    delays_most_ms: u32,
    /// What the server of the room measured.
    pub(crate) of_server: Vec<(Figure, f64)>,
}

#[derive(Clone, Debug)]
struct LaneMeasured {
    /// When each number was called.
    called_ms: Vec<u32>,
    order: Order,
    /// All entries, in their order.
    entries: Vec<Entry>,
}

/// How well estimates were kept.
#[derive(Clone, Copy, Debug, Default)]
struct Estimates {
    told: u32,
    kept: u32,
    /// Sum of the distances from the middle of the range.
    off_s: f64,
}

impl Estimates {
    fn note(&mut self, eta: EtaRange, waited_ms: u32) {
        let waited_s = u64::from(waited_ms).div_ceil(1_000);
        self.told += 1;
        self.kept += u32::from((eta.low_s..=eta.high_s).contains(&waited_s));
        self.off_s += eta.low_s.midpoint(eta.high_s).abs_diff(waited_s) as f64;
    }

    fn kept_percent(&self) -> Option<f64> {
        (self.told > 0).then(|| f64::from(self.kept) * 100.0 / f64::from(self.told))
    }

    fn mean_error_s(&self) -> Option<f64> {
        (self.told > 0).then(|| self.off_s / f64::from(self.told))
    }
}

impl Measured {
    pub(crate) fn new(lanes: usize, buyers: u32) -> Self {
        let lane = LaneMeasured { called_ms: vec![0], order: Order::new(buyers + 1), entries: Vec::new() };
        Self {
            samples: Vec::new(),
            lost_turns: 0,
            never_served: 0,
            lanes: vec![lane; lanes],
            door_waits: Vec::new(),
            waits_most_ms: 0,
            first_etas: Estimates::default(),
            etas: Estimates::default(),
            entries: Vec::new(),
            entries_of_fill: 0,
            filled_ms: None,
            last_entry_ms: 0,
            delays_most_ms: 0,
            of_server: Vec::new(),
        }
    }

    pub(crate) fn called_up_to(&self, lane: usize) -> u64 {
        self.lanes[lane].called_ms.len() as u64 - 1
    }

    /// Notes the call of `number`, and of the numbers before it that nobody had noted.
    pub(crate) fn note_called(&mut self, lane: usize, number: u64, now_ms: u32) {
        let called_ms = &mut self.lanes[lane].called_ms;
        let length = called_ms.len().max(number as usize + 1);
        called_ms.resize(length, now_ms);
    }

    pub(crate) fn called_ms(&self, lane: usize, number: u64) -> u32 {
        self.lanes[lane].called_ms.get(number as usize).copied().unwrap_or(u32::MAX / 2)
    }

    /// Notes that sessions fill the shop.
    pub(crate) fn note_full(&mut self, now_ms: u32) {
        self.filled_ms.get_or_insert(now_ms);
    }

    /// A buyer enters; `was_there`: could come within `turn_grace`.
    pub(crate) fn note_entry(&mut self, now_ms: u32, place: Place, buyer: &Buyer, was_there: bool) {
        self.last_entry_ms = now_ms;
        self.entries.push(place.lane.0);
        if self.filled_ms.is_none_or(|at| now_ms < at + REFILL_S * 1_000) {
            self.entries_of_fill = self.entries.len();
        }
        let called_ms = self.called_ms(usize::from(place.lane.0), place.number.0);
        let lane = &mut self.lanes[usize::from(place.lane.0)];
        let came_ms = if buyer.refused_ms == 0 { now_ms } else { buyer.refused_ms };
        let is_judged = buyer.polls_as_told();
        lane.entries.push(Entry { number: buyer.number, called_ms, came_ms, at_ms: now_ms, is_judged });
        if was_there && !buyer.was_cut_off {
            let waited_ms = if buyer.refused_ms == 0 { 0 } else { now_ms - buyer.refused_ms };
            let tenth = (waited_ms / 100) as usize;
            if self.door_waits.len() <= tenth {
                self.door_waits.resize(tenth + 1, 0);
            }
            self.door_waits[tenth] += 1;
        }
        if buyer.polls_as_told() {
            self.waits_most_ms = self.waits_most_ms.max(now_ms - buyer.joined_ms);
            if let Some(eta) = buyer.first_eta {
                self.first_etas.note(eta, called_ms.saturating_sub(buyer.joined_ms));
            }
            if let Some((at_ms, eta)) = buyer.eta {
                self.etas.note(eta, called_ms.saturating_sub(at_ms));
            }
            self.delays_most_ms = self.delays_most_ms.max(came_ms.saturating_sub(called_ms));
            lane.order.enter(buyer.number);
        }
    }

    /// The figures of a finished run.
    pub fn figures(&self, scenario: &Scenario) -> Figures {
        let capacity = f64::from(scenario.room.capacity);
        let waits = |sample: &Sample| sample.present > 0 && is_calm(scenario, sample.at_s);
        let filled_s = self.filled_ms.map_or(u32::MAX, |at| at / 1_000);
        let use_of = |keep: &dyn Fn(&Sample) -> bool, people: fn(&Sample) -> u32| {
            mean(&self.samples, keep, |sample| f64::from(people(sample)) / capacity)
        };
        let (inverted, pairs) = self.lanes.iter().fold((0, 0), |(inverted, pairs), lane| {
            let (more_inverted, more) = lane.order.pairs();
            (inverted + more_inverted, pairs + more)
        });
        let filled = self.filled_ms.map(|at| f64::from(at) / 1_000.0);
        let overtaken = self.overtaken_most_s();
        let figures = [
            (Figure::CountedUse, use_of(&waits, |sample| sample.sessions)),
            (
                Figure::CountedUseAfterFill,
                use_of(&|sample| waits(sample) && sample.at_s >= filled_s, |sample| sample.sessions),
            ),
            (Figure::TrueUse, use_of(&waits, |sample| sample.inside)),
            (Figure::LostTurns, Some(f64::from(self.lost_turns))),
            (Figure::NeverServed, Some(f64::from(self.never_served))),
            (Figure::DoorWaitP95, Some(self.door_wait_s(0.95))),
            (Figure::DoorWaitMost, Some(self.door_wait_s(1.0))),
            (Figure::WaitMost, Some(f64::from(self.waits_most_ms) / 1_000.0)),
            (Figure::EtaKept, self.etas.kept_percent()),
            (Figure::FirstEtaKept, self.first_etas.kept_percent()),
            (Figure::FirstEtaError, self.first_etas.mean_error_s()),
            (Figure::EtaError, self.etas.mean_error_s()),
            (Figure::InversionsPercent, (pairs > 0).then(|| inverted as f64 * 100.0 / pairs as f64)),
            (Figure::OvertakesMost, Some(overtaken.all)),
            (Figure::OvertakesAtDoor, Some(overtaken.at_door)),
            (Figure::OvertakesOfMean, Some(overtaken.of_mean)),
            (Figure::JainP5, self.jain_p5(scenario, 0)),
            (Figure::JainAfterFill, self.jain_p5(scenario, self.entries_of_fill)),
            (Figure::BoundsKept, self.bounds_kept(scenario).filter(|_| scenario.has_bounds())),
            (Figure::BoundsLag, self.bounds_lag_s(scenario).filter(|_| scenario.has_bounds())),
            (Figure::CallingStopsAfter, self.calling_stops_after_s(scenario)),
            (Figure::DelayMost, Some(f64::from(self.delays_most_ms) / 1_000.0)),
            (Figure::FirstFill, filled),
            (Figure::ServedAll, Some(f64::from(self.last_entry_ms) / 1_000.0)),
            (Figure::PollsMost, self.polls_most()),
        ];
        let measured = figures.into_iter().filter_map(|(figure, value)| Some((figure, value?)));
        Figures(measured.chain(self.of_server.iter().copied()).collect())
    }

    /// The wait that a share of entries did not exceed, in seconds, rounded up to a tenth.
    fn door_wait_s(&self, share: f64) -> f64 {
        let all: u32 = self.door_waits.iter().sum();
        let mut left = (f64::from(all) * share).ceil() as u32;
        for (tenth, &count) in self.door_waits.iter().enumerate() {
            left = left.saturating_sub(count);
            if left == 0 {
                return if tenth == 0 { 0.0 } else { (tenth + 1) as f64 / 10.0 };
            }
        }
        0.0
    }

    /// By so many seconds of its lane's flow one buyer was overtaken at most: all in all, and while they stood at the door. Where the
    /// shop never fills, from the first call on.
    fn overtaken_most_s(&self) -> Overtaken {
        let filled_ms = self.filled_ms.unwrap_or(0);
        let lanes = self.lanes.iter().flat_map(|lane| overtaken(&lane.entries, filled_ms));
        lanes.fold(Overtaken::default(), |most, one| Overtaken {
            all: most.all.max(one.all),
            at_door: most.at_door.max(one.at_door),
            of_mean: most.of_mean.max(one.of_mean),
        })
    }

    /// Lanes in which anybody came in, and how often somebody of each did in windows of entries, from the one after `from` to where the
    /// first lane ran empty.
    fn windows(&self, from: usize) -> (Vec<usize>, Vec<Vec<f64>>) {
        let came: Vec<usize> =
            (0..self.lanes.len()).filter(|&lane| !self.lanes[lane].entries.is_empty()).collect();
        let last_of = |&lane: &usize| self.entries.iter().rposition(|&entered| usize::from(entered) == lane);
        let busy_until = came.iter().filter_map(last_of).min().unwrap_or(0);
        let count = |window: &[u8], lane: usize| {
            window.iter().filter(|&&entered| usize::from(entered) == lane).count() as f64
        };
        let windows = self.entries[from.min(busy_until)..busy_until].chunks_exact(JAIN_WINDOW);
        let counts = windows.map(|window| came.iter().map(|&lane| count(window, lane)).collect()).collect();
        (came, counts)
    }

    fn jain_p5(&self, scenario: &Scenario, from: usize) -> Option<f64> {
        let (came, windows) = self.windows(from);
        let by_weight = || scenario.room.lanes.iter().map(|lane| lane.weight).collect();
        let due: Vec<u32> = scenario.shares.clone().unwrap_or_else(by_weight);
        let due: Vec<f64> = came.iter().map(|&lane| f64::from(due[lane])).collect();
        let mut indices: Vec<f64> = windows
            .iter()
            .map(|counts| {
                let shares: Vec<f64> = counts.iter().zip(&due).map(|(count, due)| count / due).collect();
                let squares: f64 = shares.iter().map(|share| share * share).sum();
                shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * squares)
            })
            .collect();
        indices.sort_by(f64::total_cmp);
        (came.len() > 1).then(|| indices.get(indices.len() / 20).copied()).flatten()
    }

    fn bounds_kept(&self, scenario: &Scenario) -> Option<f64> {
        let (came, windows) = self.windows(self.entries_of_fill);
        let kept = |(&lane, &count): (&usize, &f64)| {
            let settings = &scenario.room.lanes[lane];
            let percent = count * 100.0 / JAIN_WINDOW as f64;
            let above = if settings.floor_pct == 0 { 1.0 } else { percent / f64::from(settings.floor_pct) };
            above.min(f64::from(settings.ceiling_pct) / percent.max(f64::EPSILON))
        };
        let mut least: Vec<f64> =
            windows.iter().filter_map(|counts| came.iter().zip(counts).map(kept).reduce(f64::min)).collect();
        least.sort_by(f64::total_cmp);
        least.get(least.len() / 20).copied()
    }

    /// By how many entries a lane was behind its floor or ahead of its ceiling at most, in seconds of the flow of all lanes.
    fn bounds_lag_s(&self, scenario: &Scenario) -> Option<f64> {
        let (came, windows) = self.windows(0);
        let busy = &self.entries[..windows.len() * JAIN_WINDOW];
        let mut counts = vec![0_u32; scenario.room.lanes.len()];
        let mut most = 0.0_f64;
        for (all, &entered) in (1_u32..).zip(busy) {
            counts[usize::from(entered)] += 1;
            for &lane in &came {
                let settings = &scenario.room.lanes[lane];
                let percent = |percent: u32| f64::from(percent) * f64::from(all) / 100.0;
                let own = f64::from(counts[lane]);
                most = most.max(percent(settings.floor_pct) - own).max(own - percent(settings.ceiling_pct));
            }
        }
        let served_s = f64::from(self.last_entry_ms) / 1_000.0;
        (!busy.is_empty()).then(|| most * served_s / self.entries.len() as f64)
    }

    /// Seconds into the loss of the network until the last call that was no probe.
    fn calling_stops_after_s(&self, scenario: &Scenario) -> Option<f64> {
        let away = scenario.troubles.iter().find(|trouble| trouble.kind == TroubleKind::NetworkAway)?;
        let span = away.from_s..away.from_s + away.for_s;
        let calls = self.samples.iter().filter(|sample| span.contains(&sample.at_s));
        let last =
            calls.filter(|sample| sample.calls > 0 && !sample.standstill).map(|sample| sample.at_s).max();
        Some(last.map_or(0.0, |last| f64::from(last - away.from_s)))
    }

    fn polls_most(&self) -> Option<f64> {
        let sums = self.samples.windows(10).map(|ten| ten.iter().map(|sample| sample.polls).sum::<u32>());
        sums.max().map(|sum| f64::from(sum) / 10.0)
    }
}

/// Use is not judged while the server or the network is away or the operator holds the line, nor while the shop fills again.
fn is_calm(scenario: &Scenario, at_s: u32) -> bool {
    !scenario
        .troubles
        .iter()
        .any(|trouble| (trouble.from_s..trouble.from_s + trouble.for_s + REFILL_S).contains(&at_s))
}

const JAIN_WINDOW: usize = 1_000;
const REFILL_S: u32 = 60;
