//! Servers that speak TLS, where a user of its own may do what Fairgate needs and nothing else.

use super::{REDIS, RedisServer, free_port};
use crate::stack::run_dir::workspace_root;
use anyhow::Result;
use std::path::PathBuf;

impl RedisServer {
    /// One server with two ports: plain for the harness, TLS for whom it tests. Servers among themselves speak TLS too.
    pub async fn start_secure(arguments: &[&str]) -> Result<Self> {
        let tls_port = free_port()?;
        let mut all = tls_arguments(tls_port);
        all.extend(arguments.iter().map(ToString::to_string));
        all.extend(["--user", USER].map(str::to_owned));
        all.extend(MAY.split(' ').map(str::to_owned));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut server = Self::start_program(REDIS, &all).await?;
        server.tls_port = Some(tls_port);
        Ok(server)
    }

    /// Where the user of this password reaches it, by a name that its certificate is for.
    pub fn secure_url(&self, password: &str) -> String {
        format!("rediss://{USER}:{password}@localhost:{}", self.listens_at())
    }
}

/// How any of Redis' programs is told to speak TLS on this port.
pub(super) fn tls_arguments(port: u16) -> Vec<String> {
    let file = |name: &str| tls_dir().join(name).display().to_string();
    let (cert, key) = (file("server.pem"), file("server.key"));
    [
        ("--tls-port", port.to_string()),
        ("--tls-cert-file", cert),
        ("--tls-key-file", key),
        ("--tls-ca-cert-file", certificate_authority()),
        ("--tls-auth-clients", "no".to_owned()),
        ("--tls-replication", "yes".to_owned()),
    ]
    .into_iter()
    .flat_map(|(name, value)| [name.to_owned(), value])
    .collect()
}

/// Whom a program has to trust: for `SSL_CERT_FILE`.
pub fn certificate_authority() -> String {
    tls_dir().join("ca.pem").display().to_string()
}

fn tls_dir() -> PathBuf {
    workspace_root().join("tests/src/redis/tls")
}

pub(super) const USER: &str = "fairgate";
pub(super) const PASSWORD: &str = "s3cret";
/// As the queue server's README gives it, with what Sentinels and clusters need, and the password of the tests.
const MAY: &str =
    "on >s3cret ~fairgate1:* +@read +@write +@scripting +@connection +wait -@dangerous +role +cluster|slots";
