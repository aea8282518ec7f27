//! The rush: simulated buyers over real HTTP through the edge, and the checks of what they were promised.

pub mod check;
pub mod history;
pub mod order;
pub mod places;
pub mod sessions;
pub mod violation;
