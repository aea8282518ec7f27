//! A server that speaks TLS, where a user of its own may do what Fairgate needs and nothing else.

use super::{REDIS, RedisServer, free_port};
use crate::stack::run_dir::workspace_root;
use anyhow::Result;
use std::path::PathBuf;

/// One server with two ports: plain for the harness, TLS for whom it tests.
#[derive(Debug)]
pub struct SecureRedis {
    pub server: RedisServer,
    tls_port: u16,
}

impl SecureRedis {
    pub async fn start() -> Result<Self> {
        let port = free_port()?;
        let file = |name: &str| tls_dir().join(name).display().to_string();
        let (tls_port, cert, key, authority) =
            (port.to_string(), file("server.pem"), file("server.key"), certificate_authority());
        let server = RedisServer::start_program(
            REDIS,
            &[
                "--tls-port",
                &tls_port,
                "--tls-cert-file",
                &cert,
                "--tls-key-file",
                &key,
                "--tls-ca-cert-file",
                &authority,
                "--tls-auth-clients",
                "no",
            ],
        )
        .await?;
        let mut words = vec!["ACL", "SETUSER", "fairgate"];
        words.extend(ACL.split(' '));
        let _: String = server.ask(&words).await?;
        Ok(Self { server, tls_port: port })
    }

    /// Where the user of this password reaches it, by the name that its certificate is for.
    pub fn url(&self, password: &str) -> String {
        format!("rediss://fairgate:{password}@localhost:{}", self.tls_port)
    }
}

/// Whom a program has to trust: for `SSL_CERT_FILE`.
pub fn certificate_authority() -> String {
    tls_dir().join("ca.pem").display().to_string()
}

fn tls_dir() -> PathBuf {
    workspace_root().join("tests/src/redis/tls")
}

/// As the queue server's README gives it, with the password of the tests.
const ACL: &str = "on >s3cret ~fairgate1:* +@read +@write +@scripting +@connection +wait -@dangerous";
