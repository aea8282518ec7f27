//! throttlecrab, the library: the caller brings the time.

use conform_peers::{Answer, Limiter, key_of, micros_up, serve, told, version_of, whole_seconds};
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};
use throttlecrab::{PeriodicStore, RateLimiter};

struct Throttlecrab {
    limiter: RateLimiter<PeriodicStore>,
    burst: i64,
    rate: i64,
    period_s: i64,
}

fn main() -> std::io::Result<()> {
    let hello = json!({ "target": "throttlecrab", "version": version_of("throttlecrab"), "resolution_us": 1 });
    serve(&hello, |name, policy| {
        if !["gcra", "token_bucket", "leaky_meter"].contains(&name) {
            return Err("it is a GCRA limiter and nothing else".to_owned());
        }
        let number = |field: &str| {
            let number = policy[field].as_u64().unwrap_or_default();
            i64::try_from(number).map_err(|_| "its numbers are i64".to_owned())
        };
        let (burst, rate) = (number("burst_capacity")?, number("rate")?);
        if burst == 0 || rate == 0 {
            return Err("its burst and its rate are at least 1".to_owned());
        }
        let period_s = whole_seconds(&policy["period_us"])?;
        Ok(Throttlecrab { limiter: RateLimiter::new(PeriodicStore::new()), burst, rate, period_s })
    })
}

impl Limiter for Throttlecrab {
    fn take(&mut self, t_us: u64, cost: u64, step: &Value) -> Answer {
        let cost = i64::try_from(cost).map_err(|_| "its cost is an i64".to_owned())?;
        let now = UNIX_EPOCH + Duration::from_micros(t_us);
        let (passes, result) = self
            .limiter
            .rate_limit(&key_of(step), self.burst, self.rate, self.period_s, cost, now)
            .map_err(|error| error.to_string())?;
        Ok(told(json!({
            "ok": passes,
            "remaining": result.remaining,
            "reset_after_us": micros_up(result.reset_after),
            "retry_after_us": micros_up(result.retry_after),
        })))
    }

    fn peek(&mut self, t_us: u64, step: &Value) -> Answer {
        self.take(t_us, 0, step)
    }
}

