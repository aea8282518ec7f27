//! Several servers: a cluster that splits the shops between its nodes, and a master that another one follows.

use super::promises::{charge, each, one};
use super::stored::{PATIENCE, wait_until_connected};
use queue_server::limits::LimitStore;
use queue_server::limits::{BUDGET, redis::RedisLimits};
use shared::limiter::check::{Charge, CheckRequest};
use std::time::{Duration, Instant};
use tests::redis::{RedisCluster, RedisSentinel};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keys_of_one_check_lie_on_one_node_and_shops_on_all() {
    let cluster = RedisCluster::start().await.unwrap();
    let store = RedisLimits::open(&cluster.url(), PATIENCE).unwrap();
    wait_until_connected(&store).await;
    let policies = each(10);
    let charges: Vec<Charge> = (0..8).map(|nth| charge(policies[usize::from(nth)], nth, 4)).collect();
    let request = CheckRequest::new(charges.clone()).unwrap();
    for shop in 0..SHOPS {
        let shop = format!("shop-{shop}");
        for is_allowed in [true, true, false] {
            let reply = store.check(&shop, &request).await.unwrap().value;
            assert_eq!(reply.refusal().is_none(), is_allowed, "{shop}: {reply:?}");
        }
        store
            .refund(
                &shop,
                &charges,
                store.check(&shop, &one(charge(policies[0], 99, 0), 1)).await.unwrap().now,
            )
            .await
            .unwrap();
    }
    let mut keys = 0;
    for node in &cluster.nodes {
        let here: usize = node.ask(&["DBSIZE"]).await.unwrap();
        assert!(here > usize::from(SHOPS) * 8 / 6, "a node has {here} keys of {}", usize::from(SHOPS) * 8);
        assert_eq!(node.keys_without_expiry().await.unwrap(), Vec::<String>::new());
        keys += here;
    }
    assert_eq!(keys, usize::from(SHOPS) * 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failover_the_new_master_counts_on() {
    let mut set = RedisSentinel::start().await.unwrap();
    let store = RedisLimits::open(&set.url(), BUDGET).unwrap();
    wait_until_connected(&store).await;
    let request = one(charge(each(10)[0], 1, 6), 1);
    assert_eq!(store.check("shop", &request).await.unwrap().value.refusal(), None);
    let taken = Instant::now();
    while set.master.ask::<i64>(&["WAIT", "1", "200"]).await.unwrap() == 0 {
        assert!(taken.elapsed() < FAILOVER_MAX, "the replica does not follow");
    }
    set.master.kill();
    let killed = Instant::now();
    let reply = loop {
        match store.check("shop", &request).await {
            Ok(reply) => break reply.value,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
        assert!(killed.elapsed() < FAILOVER_MAX, "nobody follows the master");
    };
    assert!(reply.refusal().is_some(), "6 of 10 were taken on the old master");
}

const SHOPS: u8 = 40;
const FAILOVER_MAX: Duration = Duration::from_secs(30);
