//! governor: a keyed limiter with its own fake clock, which only goes forward.

use conform_peers::{Answer, Limiter, key_of, micros_up, serve, told, version_of};
use governor::clock::{Clock, FakeRelativeClock};
use governor::middleware::{NoOpMiddleware, StateInformationMiddleware};
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::time::Duration;

type Keyed = RateLimiter<String, DefaultKeyedStateStore<String>, FakeRelativeClock, StateInformationMiddleware>;

struct Governor {
    limiter: Keyed,
    clock: FakeRelativeClock,
    now_us: u64,
}

fn main() -> std::io::Result<()> {
    let hello = json!({ "target": "governor", "version": version_of("governor"), "resolution_us": 1 });
    serve(&hello, |name, policy| {
        if !["gcra", "token_bucket", "leaky_meter"].contains(&name) {
            return Err("it is a GCRA limiter and nothing else".to_owned());
        }
        let quota = quota(policy)?;
        let clock = FakeRelativeClock::default();
        let limiter = RateLimiter::<_, _, _, NoOpMiddleware<_>>::new(quota, DefaultKeyedStateStore::default(), clock.clone())
            .with_middleware::<StateInformationMiddleware>();
        Ok(Governor { limiter, clock, now_us: 0 })
    })
}

/// `Quota::per_second(rate)` and its like divide the period by the rate, in whole nanoseconds; so does this.
fn quota(policy: &Value) -> Result<Quota, String> {
    let number = |field: &str| policy[field].as_u64().unwrap_or_default();
    let (rate, period_us) = (number("rate"), number("period_us"));
    let burst = u32::try_from(number("burst_capacity")).map_err(|_| "its burst is a u32".to_owned())?;
    let burst = NonZeroU32::new(burst).ok_or("its burst is at least 1")?;
    let period = Duration::from_micros(period_us);
    let interval_ns = period.as_nanos().checked_div(u128::from(rate)).ok_or("its rate is at least 1")?;
    let interval = Duration::from_nanos(u64::try_from(interval_ns).map_err(|_| "its period is too long".to_owned())?);
    let quota = Quota::with_period(interval).ok_or("its units come back at most one each nanosecond")?;
    Ok(quota.allow_burst(burst))
}

impl Limiter for Governor {
    fn take(&mut self, t_us: u64, cost: u64, step: &Value) -> Answer {
        let step_us = t_us.checked_sub(self.now_us).ok_or("its clock is monotonic: no step back reaches it")?;
        self.clock.advance(Duration::from_micros(step_us));
        self.now_us = t_us;
        let Some(cost) = u32::try_from(cost).ok().and_then(NonZeroU32::new) else {
            return Err("its cost is a u32, at least 1".to_owned());
        };
        Ok(match self.limiter.check_key_n(&key_of(step), cost) {
            Err(_insufficient_capacity) => told(json!({ "ok": false, "retry_after_us": null })),
            Ok(Err(not_until)) => {
                let wait = micros_up(not_until.wait_time_from(self.clock.now()));
                told(json!({ "ok": false, "retry_after_us": wait }))
            }
            Ok(Ok(snapshot)) => told(json!({
                "ok": true, "retry_after_us": 0, "remaining": snapshot.remaining_burst_capacity(),
            })),
        })
    }
}
