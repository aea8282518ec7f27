#![doc = include_str!("../README.md")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures are read by people; times and numbers of a run fit 32 bits"
)]

mod change;
mod chart;
mod crowd;
mod figures;
mod ledger;
mod measure;
mod order;
mod peers;
mod report;
mod rooms;
mod run;
mod scenario;
mod scenarios;
mod series;
mod server;
mod visit;
mod watch;
mod wheel;

pub use change::Change;
pub use chart::svg;
pub use figures::{Bound, Figure, Figures, Mark};
pub use measure::Measured;
pub use peers::{Peer, PeerFigures};
pub use report::{Broken, PeerRow, Report, Row};
pub use run::{Outcome, Pulse, run};
pub use scenario::{Arrivals, Crowd, Habit, Loss, Scenario, ServerModel, Spread, Stay, Trouble, TroubleKind};
pub use scenarios::{all, huge};
pub use series::Sample;
pub use watch::Violation;
