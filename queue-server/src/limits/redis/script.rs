//! The scripts, put together from their files: what a call needs and no more, because Redis runs a script from its first
//! line at every call.

use super::bytes::tag;
use crate::redis::Script;
use shared::limiter::Policy;
use shared::limiter::check::{Charge, CheckRequest};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// What a script does to its keys; each is one file in `lua/call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    /// Checks, one after another, of GCRAs whose numbers are small, and no policy that has changed.
    CheckGcra,
    /// One charge, and no policy that has changed.
    CheckOne,
    Check,
    Peek,
    Refund,
    Replenish,
    Give,
    Reset,
    State,
}

/// Who says what time it is: the prelude of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Prelude {
    Server,
    Told,
}

/// Which algorithms a script knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Known {
    /// A bit for each tag. A key that another policy counted is told by the reply, and nothing happens.
    Only(u16),
    /// All, with refunds and inheritance.
    All,
}

impl Known {
    /// Those by which the request counts.
    pub(super) fn by(request: &CheckRequest) -> Self {
        let bit = |charge: &Charge| match &charge.policy {
            // The leaky queue is counted by GCRA.
            Policy::LeakyQueue(_) => 1 << 3 | 1 << 1,
            policy => 1 << tag(policy),
        };
        Self::Only(request.charges().iter().fold(0, |bits, charge| bits | bit(charge)))
    }

    fn has(self, tag: usize) -> bool {
        match self {
            Self::Only(bits) => bits >> tag & 1 == 1,
            Self::All => true,
        }
    }
}

/// The scripts that were asked for so far: at most one for each set of algorithms that a check names together.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    made: RwLock<HashMap<(Call, Prelude, Known), Arc<Script>>>,
}

impl Scripts {
    pub(super) fn get(&self, call: Call, prelude: Prelude, known: Known) -> Arc<Script> {
        let name = (call, prelude, known);
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = made.get(&name) {
            return Arc::clone(script);
        }
        drop(made);
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(made.entry(name).or_insert_with(|| Arc::new(Script::new(compose(call, prelude, known)))))
    }
}

/// The files in the order in which they build on each other.
fn compose(call: Call, prelude: Prelude, known: Known) -> String {
    let mut parts = vec![match prelude {
        Prelude::Server => include_str!("lua/clock_server.lua"),
        Prelude::Told => include_str!("lua/clock_told.lua"),
    }];
    if !matches!(call, Call::CheckGcra | Call::Reset | Call::State) {
        // By tag, so GCRA stands before the leaky queue, which calls it.
        let chosen = |files: [&'static str; 10]| {
            files.into_iter().zip(1..).filter(|(_, tag)| known.has(*tag)).map(|(file, _)| file)
        };
        parts.push(include_str!("lua/numbers.lua"));
        parts.extend(chosen(CHECKS));
        if known == Known::All {
            parts.push(include_str!("lua/change/numbers.lua"));
            parts.extend(chosen(CHANGES));
            parts.push(include_str!("lua/change/inherit.lua"));
        }
        if !matches!(call, Call::CheckOne | Call::Check) {
            parts.push(include_str!("lua/keys.lua"));
        }
    }
    parts.push(match call {
        Call::CheckGcra => include_str!("lua/call/check_gcra.lua"),
        Call::CheckOne => include_str!("lua/call/check_one.lua"),
        Call::Check => include_str!("lua/call/check.lua"),
        Call::Peek => include_str!("lua/call/peek.lua"),
        Call::Refund => include_str!("lua/call/refund.lua"),
        Call::Replenish => include_str!("lua/call/replenish.lua"),
        Call::Give => include_str!("lua/call/give.lua"),
        Call::Reset => include_str!("lua/call/reset.lua"),
        Call::State => include_str!("lua/call/state.lua"),
    });
    parts.join("\n")
}

/// By tag.
const CHECKS: [&str; 10] = [
    include_str!("lua/check/gcra.lua"),
    include_str!("lua/check/interval_bucket.lua"),
    include_str!("lua/check/leaky_queue.lua"),
    include_str!("lua/check/fixed_window.lua"),
    include_str!("lua/check/sliding_log.lua"),
    include_str!("lua/check/two_counters.lua"),
    include_str!("lua/check/sub_windows.lua"),
    include_str!("lua/check/lockout.lua"),
    include_str!("lua/check/long_quota.lua"),
    include_str!("lua/check/concurrency.lua"),
];

/// By tag.
const CHANGES: [&str; 10] = [
    include_str!("lua/change/gcra.lua"),
    include_str!("lua/change/interval_bucket.lua"),
    include_str!("lua/change/leaky_queue.lua"),
    include_str!("lua/change/fixed_window.lua"),
    include_str!("lua/change/sliding_log.lua"),
    include_str!("lua/change/two_counters.lua"),
    include_str!("lua/change/sub_windows.lua"),
    include_str!("lua/change/lockout.lua"),
    include_str!("lua/change/long_quota.lua"),
    include_str!("lua/change/concurrency.lua"),
];

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: [Call; 9] = [
        Call::CheckGcra,
        Call::CheckOne,
        Call::Check,
        Call::Peek,
        Call::Refund,
        Call::Replenish,
        Call::Give,
        Call::Reset,
        Call::State,
    ];

    #[test]
    fn no_script_makes_up_a_key_or_prints_a_number() {
        for (call, prelude) in CALLS.iter().flat_map(|call| [(call, Prelude::Server), (call, Prelude::Told)])
        {
            for line in compose(*call, prelude, Known::All).lines().filter(|line| !line.starts_with("--")) {
                let names_keys = ["'TIME'", "KEYS", " key, ", " key)"].iter().any(|word| line.contains(word));
                let calls = line.contains("redis.call") || line.contains("redis.pcall");
                assert!(!calls || names_keys, "{call:?}: {line}");
                assert!(!line.contains("tostring"), "{call:?}: 14 digits survive: {line}");
            }
        }
    }

    #[test]
    fn every_file_says_what_it_is() {
        for file in CHECKS.iter().chain(&CHANGES) {
            assert!(file.starts_with("-- "), "{file}");
        }
    }

    #[test]
    fn a_script_holds_what_its_call_needs_and_the_body_is_the_same_by_either_clock() {
        let gcra = Known::Only(1 << 1);
        let [served, told] =
            [Prelude::Server, Prelude::Told].map(|clock| compose(Call::CheckOne, clock, gcra));
        let body = |script: &str, prelude: &str| script.strip_prefix(prelude).map(ToOwned::to_owned);
        let served_body = body(&served, include_str!("lua/clock_server.lua"));
        assert!(served_body.is_some() && served_body == body(&told, include_str!("lua/clock_told.lua")));
        assert!(
            served.contains("gcra_check")
                && !served.contains("sub_windows")
                && !served.contains("inherit = ")
        );
        assert!(compose(Call::Check, Prelude::Server, Known::All).contains("algorithms[9].inherit"));
    }

    #[test]
    fn scripts_are_made_once() {
        let scripts = Scripts::default();
        let first = scripts.get(Call::Check, Prelude::Server, Known::All);
        assert!(Arc::ptr_eq(&first, &scripts.get(Call::Check, Prelude::Server, Known::All)));
        assert_eq!(first.sha1.len(), 40);
    }
}
