//! Faults under a living crowd, and a checker of everything that the crowd was told.

mod check;
mod crowd;
mod ground;
mod plants;
mod run;
mod scenario;

pub use check::violations;
pub use crowd::{Buyer, Crowd, JOIN, REDEEM, join, setup};
pub use run::{Options, Summary, run};
pub use scenario::Scenario;
