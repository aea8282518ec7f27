//! Whether a key may spend a cost now.
//!
//! Every limiter is one transition, `(policy, state, now, cost) -> (decision, next state, expiry)`, in integers. The host
//! brings `now` from the machine that holds the state, applies the transition atomically, and stores nothing else.
//! An algorithm is one file with a policy and a state of its own, and the bound that it keeps; [`Policy`] and [`State`] are
//! the closed list of them.
//!
//! - A refused request takes nothing, and `remaining` is true on a refusal too.
//! - Cost 0 is a peek: it passes always and takes nothing.
//! - A state that nobody has stored is [`Policy::new_state`], so that a state equal to it may be forgotten.

pub mod calendar;
pub mod check;
pub mod compact;
pub mod compact_list;
pub mod concurrency;
mod decision;
pub mod deny_cache;
mod error;
pub mod fixed_window;
pub mod gcra;
pub mod home;
mod inherit;
pub mod interval_bucket;
pub mod key;
pub mod leaky_queue;
pub mod lease;
pub mod lockout;
pub mod long_quota;
mod policy;
mod record;
mod settings;
pub mod sizing;
pub mod sliding_log;
pub mod sub_windows;
pub mod table;
pub mod two_counters;
pub mod zone;

pub use decision::{Decision, Transition};
pub use error::PolicyError;
pub use inherit::Inheritance;
pub use policy::{Policy, State};
pub use record::{InvalidRecord, Record};
pub use settings::PolicySettings;

/// Quota units that one request takes; whole units only, 0 is a peek.
pub type Cost = u64;
