//! Where Redis is: one URL for one server, for Sentinels, for a cluster.

use redis::cluster::ClusterClient;
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{Client, ConnectionAddr, IntoConnectionInfo, TlsMode};
use std::time::Duration;

/// Why a URL names no Redis.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error(
        "write redis://host:6379, redis+sentinel://host:26379,host:26379/name or redis+cluster://host:6379,host:6379, with TLS rediss"
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
    /// `redis://`, also as `valkey://`, with TLS `rediss://` or `valkeys://`; with `+sentinel` or `+cluster` several hosts. Before the
    /// first host `user:password@` may stand, behind the last `/database`, for Sentinels `/name`, then `/database`, and at the end
    /// `?sentinels=user:password` where they ask for a login of their own.
    pub(crate) fn parse(url: &str, budget: Duration) -> Result<Self, AddressError> {
        let (scheme, rest) = url.split_once("://").ok_or(AddressError::Form)?;
        let (wire, kind) = Wire::of(scheme)?;
        match kind {
            "" => Ok(Self::Single(Client::open(format!("{}://{rest}", wire.scheme()))?)),
            "+cluster" => {
                let (login, hosts, _) = parts(rest)?;
                let nodes = hosts.map(|host| format!("{}://{login}{host}", wire.scheme()));
                // Who asks has a time limit of its own; the client goes on with the connection behind it.
                let client = ClusterClient::builder(nodes).connection_timeout(budget * CONNECT_BUDGETS);
                Ok(Self::Cluster(client.retries(1).build()?))
            }
            "+sentinel" => Self::sentinel(wire, rest),
            _ => Err(AddressError::Form),
        }
    }

    fn sentinel(wire: Wire, rest: &str) -> Result<Self, AddressError> {
        let (rest, their_login) = rest.split_once("?sentinels=").unwrap_or((rest, ""));
        let (login, hosts, path) = parts(rest)?;
        let (name, database) = path.split_once('/').unwrap_or((path, ""));
        let hosts = hosts.map(|host| wire.address(host)).collect::<Result<Vec<_>, _>>()?;
        let mut client = SentinelClientBuilder::new(hosts, name, SentinelServerType::Master)?;
        if wire == Wire::Tls {
            client = client.set_client_to_redis_tls_mode(TlsMode::Secure);
            client = client.set_client_to_sentinel_tls_mode(TlsMode::Secure);
        }
        let login = format!("redis://{login}localhost/{database}").into_connection_info()?;
        client = client.set_client_to_redis_db(login.redis_settings().db());
        if let Some(user) = login.redis_settings().username() {
            client = client.set_client_to_redis_username(user);
        }
        if let Some(password) = login.redis_settings().password() {
            client = client.set_client_to_redis_password(password);
        }
        let login = format!("redis://{their_login}@localhost").into_connection_info()?;
        if let Some(user) = login.redis_settings().username() {
            client = client.set_client_to_sentinel_username(user);
        }
        if let Some(password) = login.redis_settings().password() {
            client = client.set_client_to_sentinel_password(password);
        }
        Ok(Self::Sentinel(tokio::sync::Mutex::new(client.build()?)))
    }
}

/// What carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Plain,
    /// Whom the system trusts is trusted; `SSL_CERT_FILE` names others.
    Tls,
}

impl Wire {
    /// What a scheme asks for, and what stands behind its first word.
    fn of(scheme: &str) -> Result<(Self, &str), AddressError> {
        let (word, kind) = scheme.split_at(scheme.find('+').unwrap_or(scheme.len()));
        match word {
            "redis" | "valkey" => Ok((Self::Plain, kind)),
            "rediss" | "valkeys" => {
                // The first one counts, and all are the same.
                let _ = rustls::crypto::ring::default_provider().install_default();
                Ok((Self::Tls, kind))
            }
            _ => Err(AddressError::Form),
        }
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "redis",
            Self::Tls => "rediss",
        }
    }

    fn address(self, text: &str) -> Result<ConnectionAddr, AddressError> {
        let (host, port) = text.rsplit_once(':').ok_or(AddressError::Form)?;
        let (host, port) = (host.to_owned(), port.parse().map_err(|_| AddressError::Form)?);
        Ok(match self {
            Self::Plain => ConnectionAddr::Tcp(host, port),
            Self::Tls => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        })
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
            ("redis+sentinel://user:secret@a:26379/main?sentinels=watcher:other", "sentinel"),
            ("redis+cluster://127.0.0.1:7000,127.0.0.1:7001", "cluster"),
            ("rediss://user:secret@127.0.0.1:6379", "single"),
            ("valkeys+sentinel://user:secret@a:26379/main", "sentinel"),
            ("rediss+cluster://user:secret@a:7000,b:7000", "cluster"),
            ("redis+cluster://,127.0.0.1:7001", "refused"),
            ("redis+sentinel://a/main", "refused"),
            ("redis+ring://a:1", "refused"),
            ("redisss://a:1", "refused"),
            ("http://127.0.0.1", "refused"),
            ("127.0.0.1:6379", "refused"),
        ] {
            assert_eq!(read(url), want, "{url}");
        }
    }
}
