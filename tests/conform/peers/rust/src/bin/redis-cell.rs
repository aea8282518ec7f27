//! redis-cell: the limiter behind the command `CL.THROTTLE`, over a store as Redis would be, with a clock moved by hand.
//!
//! The module of crate version 0.2.2 does nothing else: it reads its arguments, calls this limiter over Redis, and replies
//! with whole seconds, cut off.

use conform_peers::{Answer, Limiter, key_of, serve, told, version_of, whole_seconds};
use redis_cell::cell::store::Store;
use redis_cell::cell::{Rate, RateLimiter, RateQuota};
use redis_cell::error::CellError;
use serde_json::{Value, json};
use std::collections::HashMap;
use time01::{Duration, Timespec, Tm};

struct Cell {
    redis: Redis,
    quota: RateQuota,
}

/// Keys with the life that the limiter gives them, in whole milliseconds as the module sets it.
#[derive(Default)]
struct Redis {
    now_us: u64,
    keys: HashMap<String, (i64, u64)>,
}

fn main() -> std::io::Result<()> {
    let hello =
        json!({ "target": "redis-cell", "version": version_of("redis-cell"), "resolution_us": 1_000_000 });
    serve(&hello, |name, policy| {
        if !["gcra", "token_bucket", "leaky_meter"].contains(&name) {
            return Err("it is a GCRA limiter and nothing else".to_owned());
        }
        let number = |field: &str| i64::try_from(policy[field].as_u64().unwrap_or_default()).map_err(|_| "its numbers are i64".to_owned());
        let (burst, rate) = (number("burst_capacity")?, number("rate")?);
        if burst == 0 || rate == 0 {
            return Err("its burst and its rate are at least 1".to_owned());
        }
        let period = Duration::seconds(whole_seconds(&policy["period_us"])?);
        let max_rate = Rate::per_period(rate, period);
        // Its own first argument is one less than what passes at once.
        Ok(Cell { redis: Redis::default(), quota: RateQuota { max_burst: burst - 1, max_rate } })
    })
}

impl Limiter for Cell {
    fn take(&mut self, t_us: u64, cost: u64, step: &Value) -> Answer {
        let cost = i64::try_from(cost).map_err(|_| "its cost is an i64".to_owned())?;
        self.redis.now_us = t_us;
        let mut limiter = RateLimiter::new(&mut self.redis, &self.quota);
        let (limited, result) = limiter.rate_limit(&key_of(step), cost).map_err(|error| error.to_string())?;
        let (retry_s, reset_s) = (result.retry_after.num_seconds(), result.reset_after.num_seconds());
        // -1 is how the command says "no wait": passed, or can never pass.
        let retry_us = match (limited, retry_s) {
            (false, _) => json!(0),
            (true, -1) => json!(null),
            (true, seconds) => json!(seconds * 1_000_000),
        };
        let header = if limited && retry_s >= 0 { json!(retry_s) } else { json!(null) };
        Ok(told(json!({
            "ok": !limited,
            "remaining": result.remaining,
            "retry_after_us": retry_us,
            "retry_after_s": header,
            "reset_after_us": reset_s * 1_000_000,
        })))
    }

    fn peek(&mut self, t_us: u64, step: &Value) -> Answer {
        self.take(t_us, 0, step)
    }
}

impl Redis {
    fn live(&self, key: &str) -> Option<i64> {
        self.keys.get(key).filter(|(_, ends_us)| self.now_us < *ends_us).map(|(value, _)| *value)
    }

    fn write(&mut self, key: &str, value: i64, ttl: Duration) {
        let ttl_us = u64::try_from(ttl.num_milliseconds()).unwrap_or_default() * 1_000;
        self.keys.insert(key.to_owned(), (value, self.now_us + ttl_us));
    }
}

impl Store for Redis {
    fn compare_and_swap_with_ttl(&mut self, key: &str, old: i64, new: i64, ttl: Duration) -> Result<bool, CellError> {
        let is_old = self.live(key) == Some(old);
        if is_old {
            self.write(key, new, ttl);
        }
        Ok(is_old)
    }

    fn get_with_time(&self, key: &str) -> Result<(i64, Tm), CellError> {
        let now = Timespec::new((self.now_us / 1_000_000) as i64, (self.now_us % 1_000_000 * 1_000) as i32);
        Ok((self.live(key).unwrap_or(-1), time01::at_utc(now)))
    }

    fn log_debug(&self, _message: &str) {}

    fn set_if_not_exists_with_ttl(&mut self, key: &str, value: i64, ttl: Duration) -> Result<bool, CellError> {
        let is_new = self.live(key).is_none();
        if is_new {
            self.write(key, value, ttl);
        }
        Ok(is_new)
    }
}

