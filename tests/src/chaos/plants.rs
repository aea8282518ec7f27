//! Faults of the program that the checker has to find, and where each shows.

use super::Scenario;

/// By the name that `FAIRGATE_PLANT` takes. The first ones are the room's, the others those of what keeps it.
pub(super) const PLANTS: [(&str, Scenario); 10] = [
    ("number_reissued", Scenario::KillLeader),
    ("door_off_by_one", Scenario::KillLeader),
    ("position_rising", Scenario::KillLeader),
    ("reservation_unwritten", Scenario::KillLeader),
    ("sessions_unwritten", Scenario::KillLeader),
    ("bits_unwritten", Scenario::KillLeader),
    ("answer_early", Scenario::KillLeader),
    ("clock_forward", Scenario::KillLeader),
    ("fence_ignored", Scenario::StopLeader),
    ("loss_unnoticed", Scenario::LoseRedis),
];

/// The names, and `all` of them.
pub(super) const NAMES: [&str; 11] = {
    let mut names = ["all"; 11];
    let mut nth = 0;
    while nth < PLANTS.len() {
        names[nth] = PLANTS[nth].0;
        nth += 1;
    }
    names
};
