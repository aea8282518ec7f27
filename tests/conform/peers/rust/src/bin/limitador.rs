//! limitador, the library, in memory. It reads the wall clock itself, so this program runs under `clock.c`, whose time is a
//! number in a file.

use conform_peers::{Answer, Limiter, micros_up, serve, told, version_of, whole_seconds};
use limitador::RateLimiter;
use limitador::limit::{Context, Limit};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

struct Limitador {
    limiter: RateLimiter,
    layers: Vec<String>,
    clock: File,
}

fn main() -> std::io::Result<()> {
    let hello = json!({ "target": "limitador", "version": version_of("limitador"), "resolution_us": 1 });
    let path = std::env::var("CONFORM_CLOCK").map_err(std::io::Error::other)?;
    serve(&hello, |name, policy| {
        let layers = match name {
            "fixed_window" => vec![("key".to_owned(), policy.clone())],
            "all_or_nothing" => policy.as_object().into_iter().flatten().map(|(name, policy)| (name.clone(), policy.clone())).collect(),
            _ => return Err("it has fixed windows and nothing else".to_owned()),
        };
        let limiter = RateLimiter::new(1_000);
        for (layer, policy) in &layers {
            limiter.add_limit(limit(layer, policy)?);
        }
        let clock = File::options().write(true).open(&path).map_err(|error| error.to_string())?;
        Ok(Limitador { limiter, layers: layers.into_iter().map(|(layer, _)| layer).collect(), clock })
    })
}

fn limit(layer: &str, policy: &Value) -> Result<Limit, String> {
    let is_window = policy["limiter"].as_str().is_none_or(|name| name == "fixed_window");
    if !is_window {
        return Err("it has fixed windows and nothing else".to_owned());
    }
    if policy["aligned"].as_bool() == Some(true) {
        return Err("its windows begin with the first hit".to_owned());
    }
    let seconds = u64::try_from(whole_seconds(&policy["window_us"])?).unwrap_or_default();
    let max = policy["limit"].as_u64().unwrap_or_default();
    let variable = layer.try_into().map_err(|error| format!("{error:?}"))?;
    let mut limit = Limit::new(NAMESPACE, max, seconds, vec![], vec![variable]);
    limit.set_name(layer.to_owned());
    Ok(limit)
}

impl Limitador {
    fn at(&self, t_us: u64, step: &Value) -> Result<Context<'static>, String> {
        self.clock.write_all_at(&(START_US + t_us).to_ne_bytes(), 0).map_err(|error| error.to_string())?;
        let key = |layer: &String| (layer.clone(), step[layer.as_str()].as_str().unwrap_or("one").to_owned());
        Ok(self.layers.iter().map(key).collect::<HashMap<_, _>>().into())
    }

    fn tell(&self, result: limitador::CheckResult) -> Answer {
        let wait = result.counters.iter().filter_map(limitador::counter::Counter::expires_in).max().unwrap_or_default();
        let remaining = result.counters.iter().filter_map(limitador::counter::Counter::remaining).min();
        let mut answer = told(json!({ "ok": !result.limited, "remaining": remaining }));
        if self.layers.len() == 1 {
            // With several limits nobody says which of these times is the wait.
            answer.insert("retry_after_us".to_owned(), if result.limited { micros_up(wait) } else { json!(0) });
            answer.insert("reset_after_us".to_owned(), micros_up(wait));
        }
        answer.insert("bound_by".to_owned(), json!(result.limit_name));
        Ok(answer)
    }
}

impl Limiter for Limitador {
    fn take(&mut self, t_us: u64, cost: u64, step: &Value) -> Answer {
        let context = self.at(t_us, step)?;
        let namespace = NAMESPACE.into();
        let result = self.limiter.check_rate_limited_and_update(&namespace, &context, cost);
        self.tell(result.map_err(|error| error.to_string())?)
    }

    fn peek(&mut self, t_us: u64, step: &Value) -> Answer {
        let context = self.at(t_us, step)?;
        let result = self.limiter.is_rate_limited(&NAMESPACE.into(), &context, 0);
        self.tell(result.map_err(|error| error.to_string())?)
    }
}

const NAMESPACE: &str = "conform";

/// Some day in 2027, a whole number of all windows that vectors use.
const START_US: u64 = 20_800 * 86_400 * 1_000_000;
