//! Redis that is gone, slow, or not what was expected: calls end in time, and go on by themselves afterwards.

use super::promises::{charge, each, one};
use super::stored::wait_until_connected;
use queue_server::limits::{BUDGET, redis::RedisLimits};
use queue_server::limits::{LimitStore, LimitStoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tests::redis::RedisServer;
use tokio::task::JoinSet;

/// Callers that ask as fast as they can until they are stopped.
struct Crowd {
    store: Arc<RedisLimits>,
    stop: Arc<AtomicBool>,
    callers: JoinSet<Told>,
}

/// What one caller was told.
#[derive(Default)]
struct Told {
    answers: u32,
    errors: u32,
    slowest: Duration,
}

impl Crowd {
    async fn gather(server: &RedisServer) -> Self {
        let store = Arc::new(RedisLimits::open(&server.url(), BUDGET).unwrap());
        wait_until_connected(&store).await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
            callers.spawn(async move {
                let mut told = Told::default();
                let request = one(charge(each(1000)[0], caller, 1), 1);
                while !stop.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    match store.check("shop", &request).await {
                        Ok(_) => told.answers += 1,
                        Err(LimitStoreError::Unavailable) => {
                            told.errors += 1;
                            // An error at once would be asked for again at once.
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        Err(error) => panic!("{error}"),
                    }
                    told.slowest = told.slowest.max(asked.elapsed());
                }
                told
            });
        }
        Self { store, stop, callers }
    }

    async fn go_home(self) -> Told {
        self.stop.store(true, Ordering::Relaxed);
        self.callers.join_all().await.into_iter().fold(Told::default(), |all, one| Told {
            answers: all.answers + one.answers,
            errors: all.errors + one.errors,
            slowest: all.slowest.max(one.slowest),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_under_load_costs_errors_in_time_and_nothing_afterwards() {
    let mut server = RedisServer::start().await.unwrap();
    let crowd = Crowd::gather(&server).await;
    tokio::time::sleep(WHILE).await;
    server.kill();
    tokio::time::sleep(WHILE).await;
    assert!(!crowd.store.is_connected());
    server.restart().await.unwrap();
    let restarted = Instant::now();
    wait_until_connected(&crowd.store).await;
    assert!(restarted.elapsed() < RECOVERY_MAX, "{:?}", restarted.elapsed());
    let store = Arc::clone(&crowd.store);
    let told = crowd.go_home().await;
    assert!(told.answers > 100 && told.errors > 10, "{} answers, {} errors", told.answers, told.errors);
    assert!(told.slowest < BUDGET + SCHEDULING, "{:?}", told.slowest);
    assert!(store.check("shop", &one(charge(each(10)[0], 99, 1), 1)).await.is_ok());
    assert_eq!(server.keys_without_expiry().await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_says_nothing_costs_errors_in_time_and_nothing_afterwards() {
    let server = RedisServer::start().await.unwrap();
    let crowd = Crowd::gather(&server).await;
    server.pause().unwrap();
    tokio::time::sleep(WHILE).await;
    server.resume().unwrap();
    let resumed = Instant::now();
    wait_until_connected(&crowd.store).await;
    assert!(resumed.elapsed() < RECOVERY_MAX, "{:?}", resumed.elapsed());
    let told = crowd.go_home().await;
    assert!(told.errors > 10, "{} errors", told.errors);
    assert!(told.slowest < BUDGET + SCHEDULING, "{:?}", told.slowest);
}

#[tokio::test]
async fn where_nobody_listens_calls_fail_at_once() {
    let store = RedisLimits::open("redis://127.0.0.1:1", BUDGET).unwrap();
    let asked = Instant::now();
    let error = store.check("shop", &one(charge(each(10)[0], 1, 1), 1)).await.unwrap_err();
    assert_eq!(error, LimitStoreError::Unavailable);
    assert!(asked.elapsed() < BUDGET);
}

#[tokio::test]
async fn a_user_without_rights_is_a_fault_of_the_configuration() {
    let server = RedisServer::start().await.unwrap();
    let rights = ["ACL", "SETUSER", "looker", "on", ">secret", "~*", "+ping", "+get"];
    let _: String = server.ask(&rights).await.unwrap();
    let url = server.url().replace("redis://", "redis://looker:secret@");
    let store = RedisLimits::open(&url, Duration::from_secs(5)).unwrap();
    wait_until_connected(&store).await;
    let error = store.check("shop", &one(charge(each(10)[0], 1, 1), 1)).await.unwrap_err();
    assert!(
        matches!(&error, LimitStoreError::Misconfigured(why) if why.contains("no permissions")),
        "{error}"
    );
}

const CALLERS: u8 = 20;
const WHILE: Duration = Duration::from_millis(700);
/// The longest pause between two tries to connect, and the time for one.
const RECOVERY_MAX: Duration = Duration::from_secs(4);
/// What two busy cores may add to any time limit.
const SCHEDULING: Duration = Duration::from_millis(450);
