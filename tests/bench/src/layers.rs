//! What a second key costs: a person and the shop, both or neither.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use bench::{KEYS, names};
use shared::limiter::Policy;
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::gcra::GcraPolicy;
use shared::limiter::key::{LocalKeys, TableSeed};
use shared::limiter::table::ShardedTable;
use shared::time::Timestamp;

use crate::figure::{Figure, cpu_ns_each, median};

pub(crate) fn figure(rounds: usize) -> Result<Figure> {
    let seed = TableSeed([7; 16]);
    let table = ShardedTable::new(1 << 20, seed);
    let policy = Policy::Gcra(GcraPolicy::new(1_000_000, 1_000_000, Duration::from_secs(1))?);
    let members = LocalKeys::new(seed, "shop", "member")?;
    let shop = Charge::new(policy, LocalKeys::new(seed, "shop", "all")?.hash(b"shop")?, 1);
    let names = names(KEYS);
    let now = Timestamp::from_millis(1_764_480_000_000);
    let run = |with_shop: bool| {
        let mut passed = 0;
        let ns = cpu_ns_each(CALLS, || {
            for name in names.iter().cycle().take(CALLS) {
                let Ok(key) = members.hash(name.as_bytes()) else { continue };
                let mut charges = vec![Charge::new(policy, key, 1)];
                charges.extend(with_shop.then_some(shop));
                let Ok(request) = CheckRequest::new(charges) else { continue };
                passed += usize::from(table.check(&request, now).refusal().is_none());
            }
        });
        black_box(passed);
        ns
    };
    let pairs: Vec<(f64, f64)> = (0..rounds).map(|_| (run(false), run(true))).collect();
    let (one, two): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    Ok(Figure {
        name: "two keys against one, in process".to_owned(),
        unit: "ratio",
        at_most: None,
        samples: pairs.iter().map(|(one, two)| two / one).collect(),
        note: format!("{:.0} ns against {:.0} ns, as requests", median(&two), median(&one)),
    })
}

const CALLS: usize = 20_000;
