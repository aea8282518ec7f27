//! Where an event's records lie in Redis.

use shared::ids::EventId;

/// `PREFIX1:{event}:name`. The braces make a cluster keep all of one event on one node; the number is the version of what is
/// stored.
#[derive(Clone, Debug)]
pub(crate) struct EventKeys {
    /// Whose they are, and how many commits there were.
    pub(crate) head: String,
    pub(crate) records: String,
    /// Records that shall take the place of all others.
    pub(crate) staged: String,
    /// What the leader published last.
    pub(crate) snapshot: String,
}

impl EventKeys {
    pub(crate) fn new(prefix: &str, event: &EventId) -> Self {
        let key = |name: &str| format!("{prefix}1:{{{event}}}:{name}");
        Self { head: key("head"), records: key("records"), staged: key("staged"), snapshot: key("snapshot") }
    }
}
