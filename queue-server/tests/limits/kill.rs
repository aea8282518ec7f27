//! `kill -9` of the real server: locks, day quotas and overrides are there when it is back.

use crate::server::CONFIG;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
};

/// The real binary, killed when the test is over.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fairgate"))
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(dir.join("fairgate.toml"))
            .arg("--data-dir")
            .arg(dir)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (tell, told) = mpsc::channel();
        // Read to the end: a server whose log nobody reads would stand still.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let address = line.split_once("address=").and_then(|(_, rest)| rest.split(' ').next());
                if let Some(address) = address {
                    let _ = tell.send(address.to_owned());
                }
            }
        });
        let url = format!("http://{}", told.recv().unwrap());
        Self { child, url }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn create_key(dir: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fairgate"))
        .args([
            "access",
            "create",
            "--role",
            "limits:check",
            "--role",
            "limits:admin",
            "--shop",
            "alpha",
            "--data-dir",
        ])
        .arg(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn send(
    running: &Running,
    key: &str,
    method: reqwest::Method,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let request = reqwest::Client::new().request(method, format!("{}{path}", running.url));
    let response = request.bearer_auth(key).json(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

async fn check(running: &Running, key: &str, policy: &str, keys: Value, cost: u64) -> (u16, Value) {
    let body = json!({ "shop": "alpha", "policies": [policy], "keys": keys, "cost": cost });
    send(running, key, reqwest::Method::POST, "/v1/limits/check", &body).await
}

#[tokio::test]
async fn a_killed_server_forgets_no_lock_no_day_quota_and_no_override() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("fairgate.toml"), CONFIG).unwrap();
    let key = create_key(dir.path());
    let running = Running::start(dir.path());
    let (a, shop) = (json!({ "device": "a" }), json!({ "client": "plan-7" }));
    assert_eq!(check(&running, &key, "login", a.clone(), 3).await.0, 200);
    assert_eq!(check(&running, &key, "login", a.clone(), 1).await.0, 403);
    assert_eq!(check(&running, &key, "day", shop.clone(), 4).await.0, 200);
    let own = json!({ "lockout": "true|1|60|300" });
    let put = send(&running, &key, reqwest::Method::PUT, "/v1/shops/alpha/policies/open", &own).await;
    assert_eq!(put.0, 200);
    running.kill();

    let running = Running::start(dir.path());
    let (status, problem) = check(&running, &key, "login", a.clone(), 1).await;
    assert_eq!((status, problem["code"].as_str()), (403, Some("LOCKED")));
    assert!(problem["retryAfterSeconds"].as_u64().unwrap() <= 300);
    assert_eq!(check(&running, &key, "day", shop.clone(), 2).await.0, 429);
    assert_eq!(check(&running, &key, "day", shop, 1).await.0, 200);
    assert_eq!(check(&running, &key, "open", a.clone(), 1).await.0, 200);
    assert_eq!(check(&running, &key, "open", a, 1).await.0, 403);
}
