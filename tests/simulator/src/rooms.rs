//! Several rooms on one server: whether they share what it bears by their weights, and never take more.

use crate::{figures::Figure, run::World, scenario::Scenario, server::Server, watch::Violation};

/// What the rooms of a server had together.
#[derive(Default)]
pub(crate) struct Rooms {
    /// Sums over the seconds in which people wait in any room: sessions, and what the server allows.
    used: (f64, f64),
    /// Sums over the seconds in which people wait in all rooms: sessions of each.
    parts: Vec<f64>,
    /// Most sessions of all rooms until the next second: what the server allowed at the last one.
    most: Option<u32>,
    /// There are more, because it allowed more before: so many they were when that began, and more they may not become.
    above: Option<u32>,
    /// Seconds of the run, so that the first fill is not judged.
    at_s: u32,
}

impl Rooms {
    /// A second is over for every room.
    pub(crate) fn second(&mut self, worlds: &mut [World<'_>], server: &Server, rooms: &[&Scenario]) {
        self.at_s += 1;
        let sessions: Vec<u32> = worlds.iter().map(|world| world.ledger.inside()).collect();
        let (all, capacity) = (sessions.iter().sum::<u32>(), server.capacity());
        self.above = (all > capacity).then(|| self.above.unwrap_or(all));
        let most = self.above.unwrap_or(capacity);
        // What came in since the last tick came in under what was allowed then, or in this very millisecond under what is allowed now.
        if let Some(most) = self.most.replace(most).map(|most| most.max(capacity))
            && all > most
        {
            let now_ms = worlds[0].now_ms;
            worlds[0].watch.report(now_ms, Violation::OverServer { sessions: all, capacity: most });
        }
        if self.at_s < FILLED_AFTER_S {
            return;
        }
        if worlds.iter().any(|world| world.sample.present > 0) {
            self.used = (self.used.0 + f64::from(all), self.used.1 + f64::from(capacity));
        }
        if worlds.iter().all(|world| world.sample.present > 0) {
            self.parts.resize(rooms.len(), 0.0);
            for (part, own) in self.parts.iter_mut().zip(&sessions) {
                *part += f64::from(*own);
            }
        }
    }

    /// The figures of a finished run.
    pub(crate) fn figures(&self, server: &Server, rooms: &[&Scenario]) -> Vec<(Figure, f64)> {
        let mut figures = vec![
            (Figure::UseOfSafe, server.use_of_safe()),
            (Figure::SlowPercent, server.slow_percent()),
            (Figure::SharedUse, self.used.0 / self.used.1),
        ];
        figures.extend(server.restored_after_s().map(|seconds| (Figure::RestoredAfter, seconds)));
        let (all, weights) =
            (self.parts.iter().sum::<f64>(), rooms.iter().map(|room| room.weight).sum::<u32>());
        let kept =
            |(part, room): (&f64, &&Scenario)| part * f64::from(weights) / (all * f64::from(room.weight));
        let least = self.parts.iter().zip(rooms).map(kept).reduce(f64::min);
        figures.extend(least.filter(|_| rooms.len() > 1).map(|least| (Figure::SharesKept, least)));
        figures
    }
}

/// Rooms fill in this time.
const FILLED_AFTER_S: u32 = 60;
