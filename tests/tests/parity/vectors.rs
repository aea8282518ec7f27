//! The golden rows of `shared/tests/vectors`, on Redis.

use super::stored::{PATIENCE, wait_until_connected};
use queue_server::limits::LimitStore;
use queue_server::limits::redis::{RedisLimits, ScriptClock, decode};
use serde_json::{Value, json};
use shared::limiter::check::{Charge, CheckReply, CheckRequest};
use shared::limiter::compact::CompactLockout;
use shared::limiter::concurrency::Holder;
use shared::limiter::key::Key;
use shared::limiter::zone::Zone;
use shared::limiter::{Decision, Inheritance, Policy, PolicySettings, State};
use shared::time::Timestamp;
use std::time::Duration;
use tests::redis::RedisServer;

const FILES: [(&str, &str); 12] = [
    ("limiters", include_str!("../../../shared/tests/vectors/limiters.jsonl")),
    ("gcra", include_str!("../../../shared/tests/vectors/gcra.jsonl")),
    ("interval_bucket", include_str!("../../../shared/tests/vectors/interval_bucket.jsonl")),
    ("leaky_queue", include_str!("../../../shared/tests/vectors/leaky_queue.jsonl")),
    ("fixed_window", include_str!("../../../shared/tests/vectors/fixed_window.jsonl")),
    ("sliding_log", include_str!("../../../shared/tests/vectors/sliding_log.jsonl")),
    ("sliding_two_counters", include_str!("../../../shared/tests/vectors/sliding_two_counters.jsonl")),
    ("sliding_sub_windows", include_str!("../../../shared/tests/vectors/sliding_sub_windows.jsonl")),
    ("lockout", include_str!("../../../shared/tests/vectors/lockout.jsonl")),
    ("long_quota", include_str!("../../../shared/tests/vectors/long_quota.jsonl")),
    ("concurrency", include_str!("../../../shared/tests/vectors/concurrency.jsonl")),
    ("set_policy", include_str!("../../../shared/tests/vectors/set_policy.jsonl")),
];
const IN_LOCAL_TIME: &str = include_str!("../../../shared/tests/vectors/long_quota_zones.jsonl");

/// Rows whose policy is beyond what Redis counts exactly; it refuses them at configuration.
const REFUSED: [&str; 0] = [];

#[tokio::test]
async fn every_row_is_kept() {
    for program in RedisServer::programs() {
        let server = RedisServer::start_program(program, &[]).await.unwrap();
        let mut rows = Rows::connect(&server).await;
        for (file, lines) in FILES {
            rows.run_file(file, lines).await;
        }
        if Zone::parse("Asia/Taipei").is_ok() {
            rows.run_file("long_quota_zones", IN_LOCAL_TIME).await;
        }
        let lines = FILES.iter().map(|(_, lines)| lines.lines().count()).sum::<usize>();
        assert!(rows.run >= lines - REFUSED.len(), "{program}: {} of {lines} rows ran", rows.run);
        assert_eq!(rows.refused, REFUSED, "{program}");
    }
}

/// A store, and what became of the rows so far.
struct Rows<'a> {
    server: &'a RedisServer,
    store: RedisLimits,
    run: usize,
    refused: Vec<String>,
}

impl<'a> Rows<'a> {
    async fn connect(server: &'a RedisServer) -> Self {
        let store = RedisLimits::open(&server.url(), PATIENCE).unwrap();
        wait_until_connected(&store).await;
        Self { server, store, run: 0, refused: Vec::new() }
    }

    async fn run_file(&mut self, file: &str, lines: &str) {
        for line in lines.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let name = format!("{file}: {}", row["name"].as_str().unwrap());
            let ran = match row["limiter"].as_str().unwrap() {
                "all_or_nothing" => self.run_all_or_nothing(&name, &row).await,
                limiter => self.run_one_key(&name, limiter, &row).await,
            };
            if ran {
                self.run += 1;
            } else {
                self.refused.push(name);
            }
        }
    }

    async fn run_one_key(&mut self, name: &str, limiter: &str, row: &Value) -> bool {
        let policy = policy_of(limiter, &row["policy"]);
        if RedisLimits::accepts(&policy).is_err() {
            return false;
        }
        let mut charge = Charge::new(policy, hash("rows", "one", b""), 0);
        for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
            let now = self.set_clock(step);
            let cost = step["cost"].as_u64().unwrap_or(1);
            let place = format!("{name}, step {index}");
            let holder = step["holder"].as_str().map(holder_of);
            let costing = Charge { cost, ..charge };
            match step["op"].as_str().unwrap_or("take") {
                "take" => {
                    let request = CheckRequest::new(vec![costing]).unwrap();
                    let request = holder.map_or(request.clone(), |holder| request.held_by(holder));
                    let reply = self.store.check(name, &request).await.unwrap().value;
                    self.compare(&place, name, &charge, &reply, &step["want"]).await;
                    continue;
                }
                "peek" => {}
                "give" => {
                    self.store.give(name, &charge, holder.unwrap()).await.unwrap();
                }
                "refund" => {
                    let taken_at = step["taken_us"].as_u64().map_or(now, Timestamp::from_micros);
                    self.store.refund(name, &[costing], taken_at).await.unwrap();
                }
                "set_policy" => {
                    let limiter = step["policy"]["limiter"].as_str().unwrap_or(limiter);
                    charge.policy = policy_of(limiter, &step["policy"]);
                    charge.inheritance = match &step["inherit"] {
                        Value::Null => Inheritance::default(),
                        word => serde_json::from_value(word.clone()).unwrap(),
                    };
                    // Either is counted by the new policy from here on: a key that is reset also where the policy is the same.
                    if charge.inheritance == Inheritance::Reset {
                        self.store.reset(name, &charge).await.unwrap();
                    } else {
                        self.store.replenish(name, &charge).await.unwrap();
                    }
                }
                other => panic!("{place}: no operation {other}"),
            }
            let request = CheckRequest::new(vec![charge]).unwrap();
            let reply = self.store.peek(name, &request).await.unwrap().value;
            self.compare(&place, name, &charge, &reply, &step["want"]).await;
        }
        true
    }

    async fn run_all_or_nothing(&mut self, name: &str, row: &Value) -> bool {
        let layers = row["policy"].as_object().unwrap();
        for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
            self.set_clock(step);
            let charges = layers.iter().map(|(layer, policy)| {
                let identity = step[layer.as_str()].as_str().unwrap_or("");
                let policy = policy_of(policy["limiter"].as_str().unwrap(), policy);
                let key = hash("rows", layer, identity.as_bytes());
                Charge::new(policy, key, step["cost"].as_u64().unwrap_or(1))
            });
            let request = CheckRequest::new(charges.collect()).unwrap();
            let refusal = self.store.check(name, &request).await.unwrap().value.refusal();
            let want = &step["want"];
            assert_eq!(refusal.is_none(), want["ok"].as_bool().unwrap(), "{name}, step {index}");
            let bound_by = refusal.map(|refusal| layers.keys().nth(refusal.bound_by).unwrap().as_str());
            assert_eq!(bound_by, want["bound_by"].as_str(), "{name}, step {index}");
        }
        true
    }

    /// A hundred years of delay for every expiry, because rows begin in 1970.
    fn set_clock(&mut self, step: &Value) -> Timestamp {
        let now = Timestamp::from_micros(step["t_us"].as_u64().unwrap());
        self.store.tell(ScriptClock::Told { now, ahead: Duration::from_secs(100 * 365 * 86_400) });
        now
    }

    /// Compares the fields that the row names; one that is not known here fails.
    async fn compare(&self, place: &str, shop: &str, charge: &Charge, reply: &CheckReply, want: &Value) {
        let [decision] = reply.decisions[..] else { panic!("{place}: {reply:?}") };
        for (field, want) in want.as_object().unwrap() {
            let got = match field.as_str() {
                "ok" => Value::from(decision.is_allowed()),
                "remaining" => Value::from(decision.remaining()),
                "reset_after_us" => micros(decision.reset_after()),
                "retry_after_us" => decision.retry_after().map_or(Value::Null, micros),
                "locked" => Value::from(self.is_locked(shop, charge).await),
                "delay_us" => match decision {
                    Decision::Allowed { delay, .. } => micros(delay),
                    Decision::Denied { .. } => Value::Null,
                },
                other => panic!("{place}: no field {other}"),
            };
            assert_eq!(got, *want, "{place}: {field}");
        }
    }

    async fn is_locked(&self, shop: &str, charge: &Charge) -> bool {
        let now = self.store.state(shop, charge).await.unwrap().now;
        let mut connection = self.server.connection().await.unwrap();
        let key = self.store.redis_key(shop, charge.key);
        let value: Option<Vec<u8>> = redis::cmd("GET").arg(key).query_async(&mut connection).await.unwrap();
        match value.and_then(|value| decode(&value)) {
            Some((Policy::Lockout(policy), State::Lockout(state))) => policy.is_locked(state, now),
            _ => false,
        }
    }
}

fn hash(service: &str, action: &str, identity: &[u8]) -> shared::limiter::key::KeyHash {
    Key { service, action, identity }.hash().unwrap()
}

fn holder_of(name: &str) -> Holder {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Holder(bytes)
}

/// The numbers of a row, as the settings spell them; a lockout may be in its compact form, and a permit without a life
/// is held for ever.
fn policy_of(limiter: &str, numbers: &Value) -> Policy {
    if let Some(compact) = numbers["compact"].as_str() {
        return Policy::Lockout(compact.parse::<CompactLockout>().unwrap().policy().unwrap());
    }
    let mut numbers = numbers.clone();
    let fields = numbers.as_object_mut().unwrap();
    fields.remove("limiter");
    if limiter == "concurrency" {
        fields.entry("life_us").or_insert(json!(Timestamp::MAX.as_micros()));
    }
    let settings: PolicySettings = serde_json::from_value(json!({ limiter: numbers })).unwrap();
    settings.try_into().unwrap()
}

fn micros(span: Duration) -> Value {
    Value::from(u64::try_from(span.as_micros()).unwrap())
}
