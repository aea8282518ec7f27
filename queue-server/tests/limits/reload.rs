//! A changed file is in force whole, or not at all.

use crate::server::{CONFIG, Server};
use queue_server::{
    access::AccessKeys,
    limits::{BUDGET, Home, LimitStore, Live, redis::RedisLimits},
    reload::Reload,
};
use serde_json::json;
use shared::config::Config;
use std::{fs, sync::Arc};

#[tokio::test]
async fn a_good_file_is_taken_up_and_a_bad_one_is_not() {
    let server = Server::start();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fairgate.toml");
    fs::write(&path, CONFIG).unwrap();
    let mut reload =
        Reload::new(path.clone(), dir.path().to_owned(), server.app.config.clone(), CONFIG.to_owned());
    assert!(server.passes("device", "a", 4).await);

    let five = CONFIG.replacen("burst_capacity = 10", "burst_capacity = 5", 1);
    fs::write(&path, &five).unwrap();
    reload.look(&server.app.limits, false).await;
    assert!(!server.passes("device", "a", 2).await, "4 of 5 are in use");
    assert!(server.passes("device", "a", 1).await);

    for bad in ["burst_capacity = 1\nburst_capacity = ", "nonsense = 1"] {
        fs::write(&path, CONFIG.replacen("burst_capacity = 10", bad, 1)).unwrap();
        reload.look(&server.app.limits, false).await;
        assert!(!server.passes("device", "a", 1).await, "the last good file stays");
    }
    fs::remove_file(&path).unwrap();
    reload.look(&server.app.limits, false).await;
    assert!(!server.passes("device", "a", 1).await);

    fs::write(&path, CONFIG).unwrap();
    reload.look(&server.app.limits, false).await;
    assert!(server.passes("device", "a", 5).await, "5 of 10 are in use");
    assert!(!server.passes("device", "a", 1).await);
}

#[tokio::test]
async fn the_same_file_again_gives_no_fresh_quota() {
    let server = Server::start();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fairgate.toml");
    fs::write(&path, CONFIG).unwrap();
    server.app.limits.live.now().access.save(dir.path()).unwrap();
    let mut reload = Reload::new(path, dir.path().to_owned(), server.app.config.clone(), CONFIG.to_owned());
    assert!(server.passes("device", "a", 10).await);
    for _ in 0..5 {
        reload.look(&server.app.limits, true).await;
        assert!(!server.passes("device", "a", 1).await);
    }
}

/// Redis counts in doubles. Once, a number that they cannot hold was told to nobody before the first check failed.
#[tokio::test]
async fn what_the_store_cannot_keep_never_comes_into_force() {
    let redis = || Arc::new(RedisLimits::open("redis://127.0.0.1:1", BUDGET).unwrap());
    let server = Server::with(CONFIG, |local, clock| Home::remote(redis(), 1, local, clock));
    let device = "burst_capacity = 10\nrate = 5\nperiod_s = 1";
    assert!(CONFIG.contains(device));
    let beyond = CONFIG.replacen(device, "burst_capacity = 1_000_000\nrate = 1\nperiod_s = 2_592_000", 1);
    let config = Config::parse("fairgate.toml", &beyond).unwrap();
    let store: Arc<dyn LimitStore> = redis();
    let told = Live::new(store, config, AccessKeys::default(), Vec::new(), None).err().unwrap().to_string();
    assert!(told.contains("policy device of alpha: the time in which the burst comes back"), "{told}");

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fairgate.toml");
    let mut reload =
        Reload::new(path.clone(), dir.path().to_owned(), server.app.config.clone(), CONFIG.to_owned());
    let before = server.app.limits.live.now().etag.clone();
    fs::write(&path, &beyond).unwrap();
    assert_eq!(reload.look(&server.app.limits, false).await, None, "the edges get no such file");
    let gcra = json!({ "burst_capacity": 1_000_000, "rate": 1, "period_us": 2_592_000_000_000_u64 });
    let own = json!({ "settings": { "gcra": gcra } });
    let answer = server.call(&server.admin_key, "PUT", "/v1/shops/alpha/policies/device", Some(own)).await;
    answer.assert_refused(400, "POLICY_INVALID");
    assert_eq!(server.app.limits.live.now().etag, before);
}

#[tokio::test]
async fn keys_that_are_revoked_or_made_count_without_a_restart() {
    let server = Server::start();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fairgate.toml");
    fs::write(&path, CONFIG).unwrap();
    let mut reload = Reload::new(path, dir.path().to_owned(), server.app.config.clone(), CONFIG.to_owned());
    fs::write(dir.path().join("access.toml"), "[[key]]\nid = 7\n").unwrap();
    reload.look(&server.app.limits, false).await;
    assert_eq!(
        server.call(&server.read_key, "GET", "/v1/policies", None).await.status,
        200,
        "a bad file changes nothing"
    );
    fs::write(dir.path().join("access.toml"), "").unwrap();
    reload.look(&server.app.limits, false).await;
    server
        .call(&server.read_key, "GET", "/v1/policies", None)
        .await
        .assert_refused(401, "ACCESS_KEY_INVALID");
}

/// A prefix that was changed in a running sale went to the edges, which then asked this server under a path it did not know; and limits
/// that were changed beside it held here and not there.
#[tokio::test]
async fn what_needs_a_restart_holds_back_the_whole_file() {
    let server = Server::start();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fairgate.toml");
    fs::write(&path, CONFIG).unwrap();
    let mut reload =
        Reload::new(path.clone(), dir.path().to_owned(), server.app.config.clone(), CONFIG.to_owned());
    for (now, then) in [
        ("[site]", "[site]\nprefix = \"/.gate\""),
        ("http://localhost:8700", "https://shop.example"),
        ("http://127.0.0.1:8701", "http://127.0.0.1:8799"),
        ("[[shop]]", "[[shop]]\nallowed_origins = [\"https://app.example\"]"),
    ] {
        let changed = CONFIG.replacen(now, then, 1);
        assert_ne!(Config::parse("fairgate.toml", &changed).unwrap(), server.app.config);
        fs::write(&path, &changed).unwrap();
        assert_eq!(reload.look(&server.app.limits, false).await, None, "{then}");
        fs::write(&path, changed.replacen("burst_capacity = 10", "burst_capacity = 1", 1)).unwrap();
        assert_eq!(reload.look(&server.app.limits, false).await, None, "{then}");
    }
    assert!(server.passes("device", "a", 4).await, "the limit of the file before");
    let five = CONFIG.replacen("burst_capacity = 10", "burst_capacity = 5", 1);
    fs::write(&path, &five).unwrap();
    assert_eq!(reload.look(&server.app.limits, false).await, Some(five));
}
