//! Calls from one server to another.

use super::{Leader, Leadership};
use std::{sync::Arc, time::Duration};

/// The other servers that could run the same rooms.
pub struct Peers {
    leadership: Arc<Leadership>,
    client: reqwest::Client,
}

impl Peers {
    pub fn new(leadership: Arc<Leadership>) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .timeout(ANSWER_MAX)
            .connect_timeout(CONNECT_MAX)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self { leadership, client })
    }

    pub fn leader(&self) -> Leader {
        self.leadership.leader()
    }

    /// The term that this server has rooms of, 0: none.
    pub fn held_term(&self) -> u64 {
        self.leadership.held_term()
    }

    /// Sends a request as it is to the leader; `None` where nobody leads, where the leader does not answer in time, or where
    /// another one follows it meanwhile.
    pub async fn forward(&self, leader: &str, request: reqwest::Request) -> Option<reqwest::Response> {
        let mut changes = self.leadership.subscribe();
        if self.leader() != Leader::Other(leader.to_owned()) {
            return None;
        }
        tokio::select! {
            sent = self.client.execute(request) => sent.ok(),
            _ = changes.changed() => None,
        }
    }
}

const CONNECT_MAX: Duration = Duration::from_millis(500);
/// Less than a request's time budget, so that its end is told by this server.
const ANSWER_MAX: Duration = Duration::from_secs(3);
