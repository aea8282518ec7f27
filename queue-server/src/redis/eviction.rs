//! Whether Redis drops keys when its memory is full.

use redis::{Value, aio::ConnectionLike};
use tracing::{debug, warn};

/// Warns of a Redis that does: places, sessions and locks would be lost without a word.
pub(super) async fn warn_of_it(connection: &mut impl ConnectionLike) {
    let asked = redis::cmd("INFO").arg("memory").query_async::<Value>(connection).await;
    match asked.map(|info| policy(&info)) {
        Ok(Some(policy)) => warn!(
            maxmemory_policy = policy,
            "Redis drops keys when its memory is full, and with them places, sessions and locks: set maxmemory-policy noeviction"
        ),
        Ok(None) => {}
        Err(error) => debug!(%error, "whether Redis drops keys is not known: its user needs +info"),
    }
}

/// By what rule a server drops keys, if one of them does.
fn policy(info: &Value) -> Option<String> {
    match info {
        Value::BulkString(bytes) => of_one(&String::from_utf8_lossy(bytes)),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => of_one(text),
        Value::Map(nodes) => nodes.iter().find_map(|(_, info)| policy(info)),
        _ => None,
    }
}

fn of_one(info: &str) -> Option<String> {
    let value = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let is_limited = value("maxmemory").is_some_and(|bytes| bytes.trim() != "0");
    let policy = value("maxmemory_policy")?.trim();
    (is_limited && policy != "noeviction").then(|| policy.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_drops_keys_is_known_among_those_of_a_cluster() {
        let info = |most: u64, policy: &str| {
            let text =
                format!("# Memory\r\nmaxmemory:{most}\r\nmaxmemory_human:x\r\nmaxmemory_policy:{policy}\r\n");
            Value::BulkString(text.into_bytes())
        };
        assert_eq!(policy(&info(1_000, "volatile-lru")).as_deref(), Some("volatile-lru"));
        assert_eq!(policy(&info(1_000, "noeviction")), None);
        assert_eq!(policy(&info(0, "allkeys-lru")), None, "its memory has no limit");
        let nodes = [info(5, "noeviction"), info(5, "allkeys-lfu")].map(|info| (Value::Nil, info));
        assert_eq!(policy(&Value::Map(nodes.to_vec())).as_deref(), Some("allkeys-lfu"));
        assert_eq!(policy(&Value::Nil), None);
    }
}
