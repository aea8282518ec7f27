//! Keys of operators and services, as the command makes them.

use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A bearer key for the shop `alpha` with `read` and these roles, once the server at `url` knows it.
pub async fn access_key(
    program: &Path,
    data_dir: &Path,
    url: &str,
    client: &reqwest::Client,
    roles: &[&str],
) -> Result<String> {
    let mut command = Command::new(program);
    command.args(["access", "create", "--shop", "alpha", "--role", "read"]);
    command.args(roles.iter().flat_map(|role| ["--role", role]));
    let output = command.arg("--data-dir").arg(data_dir).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let key = String::from_utf8(output.stdout)?.trim().to_owned();
    let asked = Instant::now();
    loop {
        let events = client.get(format!("{url}/v1/events")).bearer_auth(&key);
        if events.send().await?.status().is_success() {
            return Ok(key);
        }
        ensure!(asked.elapsed() < KEY_PATIENCE, "the key is not known");
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Servers look at the file of keys once a second.
const KEY_PATIENCE: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_millis(50);
