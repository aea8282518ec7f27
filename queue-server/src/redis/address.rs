//! Where Redis is: one URL for one server, for Sentinels, for a cluster.

use redis::cluster::ClusterClient;
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{Client, ConnectionAddr, IntoConnectionInfo};
use std::time::Duration;

/// Why a URL names no Redis.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error(
        "write redis://host:6379, redis+sentinel://host:26379,host:26379/name or redis+cluster://host:6379,host:6379"
    )]
    Form,
    #[error("the URL of Redis: {0}")]
    Refused(#[from] redis::RedisError),
}

/// How to reach Redis.
pub(crate) enum Address {
    Single(Client),
    Sentinel(tokio::sync::Mutex<SentinelClient>),
    Cluster(ClusterClient),
}

impl Address {
    /// `redis://`, also as `valkey://`; with `+sentinel` or `+cluster` several hosts. Before the first host `user:password@`
    /// may stand, behind the last `/database`, for Sentinels `/name` and then `/database`.
    pub(crate) fn parse(url: &str, budget: Duration) -> Result<Self, AddressError> {
        let (scheme, rest) = url.split_once("://").ok_or(AddressError::Form)?;
        let kind =
            scheme.strip_prefix("redis").or(scheme.strip_prefix("valkey")).ok_or(AddressError::Form)?;
        match kind {
            "" => Ok(Self::Single(Client::open(format!("redis://{rest}"))?)),
            "+cluster" => {
                let (login, hosts, _) = parts(rest)?;
                let nodes = hosts.map(|host| format!("redis://{login}{host}"));
                // Who asks has a time limit of its own; the client goes on with the connection behind it.
                let client = ClusterClient::builder(nodes).connection_timeout(budget * CONNECT_BUDGETS);
                Ok(Self::Cluster(client.retries(1).build()?))
            }
            "+sentinel" => {
                let (login, hosts, path) = parts(rest)?;
                let (name, database) = path.split_once('/').unwrap_or((path, ""));
                let hosts = hosts.map(host_and_port).collect::<Result<Vec<_>, _>>()?;
                let login = format!("redis://{login}localhost/{database}").into_connection_info()?;
                let login = login.redis_settings();
                let mut client = SentinelClientBuilder::new(hosts, name, SentinelServerType::Master)?;
                client = client.set_client_to_redis_db(login.db());
                if let Some(user) = login.username() {
                    client = client.set_client_to_redis_username(user);
                }
                if let Some(password) = login.password() {
                    client = client.set_client_to_redis_password(password);
                }
                Ok(Self::Sentinel(tokio::sync::Mutex::new(client.build()?)))
            }
            _ => Err(AddressError::Form),
        }
    }
}

/// `user:password@` or nothing, the hosts, and what stands behind the slash.
fn parts(rest: &str) -> Result<(&str, impl Iterator<Item = &str>, &str), AddressError> {
    let login = rest.rfind('@').map_or(0, |at| at + 1);
    let (login, rest) = rest.split_at(login);
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    if hosts.split(',').any(str::is_empty) {
        return Err(AddressError::Form);
    }
    Ok((login, hosts.split(','), path))
}

fn host_and_port(text: &str) -> Result<ConnectionAddr, AddressError> {
    let (host, port) = text.rsplit_once(':').ok_or(AddressError::Form)?;
    Ok(ConnectionAddr::Tcp(host.to_owned(), port.parse().map_err(|_| AddressError::Form)?))
}

/// A connection may take as many times the budget of a call.
pub(crate) const CONNECT_BUDGETS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_each_kind_are_read() {
        let read = |url: &str| match Address::parse(url, Duration::from_millis(50)) {
            Ok(Address::Single(_)) => "single",
            Ok(Address::Sentinel(_)) => "sentinel",
            Ok(Address::Cluster(_)) => "cluster",
            Err(_) => "refused",
        };
        for (url, want) in [
            ("redis://127.0.0.1:6379/2", "single"),
            ("valkey://:secret@127.0.0.1", "single"),
            ("redis+sentinel://a:26379,b:26379/main", "sentinel"),
            ("redis+sentinel://user:se@cret@a:26379/main/3", "sentinel"),
            ("redis+cluster://127.0.0.1:7000,127.0.0.1:7001", "cluster"),
            ("redis+cluster://,127.0.0.1:7001", "refused"),
            ("redis+sentinel://a/main", "refused"),
            ("redis+ring://a:1", "refused"),
            ("http://127.0.0.1", "refused"),
            ("127.0.0.1:6379", "refused"),
        ] {
            assert_eq!(read(url), want, "{url}");
        }
    }
}
