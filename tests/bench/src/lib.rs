//! The loop that is timed natively and as WebAssembly: the same keys, the same checks, a clock that moves by hand.

use shared::limiter::Policy;
use shared::limiter::check::Charge;
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{LocalKeys, TableSeed};
use shared::limiter::table::LimiterTable;
use shared::time::Timestamp;
use std::time::Duration;

#[cfg(target_family = "wasm")]
use wasm_bindgen::prelude::wasm_bindgen;

/// A table that has seen every key of a loop.
#[cfg_attr(target_family = "wasm", wasm_bindgen)]
pub struct GcraLoop {
    table: LimiterTable,
    hashes: LocalKeys,
    names: Vec<String>,
    policy: Policy,
    now: Timestamp,
}

#[cfg_attr(target_family = "wasm", wasm_bindgen)]
impl GcraLoop {
    /// A loop over [`KEYS`] keys.
    #[cfg_attr(target_family = "wasm", wasm_bindgen(constructor))]
    #[expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "the numbers are ours")]
    pub fn new() -> Self {
        let seed = TableSeed([7; 16]);
        let mut made = Self {
            table: LimiterTable::new(KEYS, seed),
            hashes: LocalKeys::new(seed, "shop", "cart").unwrap(),
            names: names(KEYS),
            policy: Policy::Gcra(GcraPolicy::new(1_000, 1_000, Duration::from_secs(1)).unwrap()),
            now: Timestamp::from_millis(1_764_480_000_000),
        };
        made.run(1);
        made
    }

    /// Checks every key `rounds` times, each from its name on; how many passed.
    pub fn run(&mut self, rounds: u32) -> u32 {
        let mut passed = 0;
        for _ in 0..rounds {
            for name in &self.names {
                self.now = self.now.saturating_add(Duration::from_micros(1));
                let Ok(key) = self.hashes.hash(name.as_bytes()) else { continue };
                let charge = Charge::new(self.policy, key, 1);
                passed += u32::from(self.table.check_one(&charge, self.now).is_allowed());
            }
        }
        passed
    }
}

impl Default for GcraLoop {
    fn default() -> Self {
        Self::new()
    }
}

/// `count` keys as text.
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("member-{number:06}")).collect()
}

/// Keys of a keyed figure.
pub const KEYS: usize = 1_000;
