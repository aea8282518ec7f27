//! The rush: simulated buyers over real HTTP through the edge, and the checks of what they were promised.

pub mod check;
pub mod crowd;
pub mod history;
pub mod options;
pub mod order;
pub mod places;
pub mod report;
pub mod run;
pub mod sessions;
pub mod shopper;
pub mod summary;
pub mod tally;
pub mod violation;
pub mod visit;

pub use options::{Options, Plant};
pub use run::run;
pub use summary::Summary;
