//! Counts for the progress line, shared by all shoppers.

use super::history::{Call, Fact};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Running counts of a rush.
#[derive(Debug, Default)]
pub struct Tally {
    requests: AtomicU64,
    polls: AtomicU64,
    joined: AtomicU64,
    entered: AtomicU64,
    bought: AtomicU64,
    refused: AtomicU64,
}

impl Tally {
    pub fn asked(&self, call: Call) {
        add(&self.requests);
        if call == Call::Poll {
            add(&self.polls);
        }
    }

    pub fn saw(&self, fact: &Fact) {
        match fact {
            Fact::Holds(_) => add(&self.joined),
            Fact::Entered(_) => add(&self.entered),
            Fact::Bought => add(&self.bought),
            Fact::Refused { .. } => add(&self.refused),
            _ => {}
        }
    }

    pub fn requests(&self) -> u64 {
        read(&self.requests)
    }

    pub fn polls(&self) -> u64 {
        read(&self.polls)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [joined, entered, bought] = [&self.joined, &self.entered, &self.bought].map(read);
        let [polls, refused] = [&self.polls, &self.refused].map(read);
        write!(f, "joined {joined}  entered {entered}  bought {bought}  polls {polls}  refused {refused}")
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}
