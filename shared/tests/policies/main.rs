//! What limits a request, as the configuration says it: every form of a policy, keys, lists, actions, callers, changes.

#![expect(clippy::unwrap_used, reason = "tests")]

mod actions;
mod callers;
mod changes;
mod coverage;
mod fixtures;
mod forms;
mod lists;
mod samples;
mod shops;
mod wording;
