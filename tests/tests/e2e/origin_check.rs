//! Any origin can verify a pass: the demo shop does it with a JWT library and the published keys alone.

use axum::routing::get;
use axum::{Json, Router};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tests::shop::{Settings, Shop};
use tokio::net::TcpListener;

/// A shop whose passes are signed by this test.
struct Counter {
    shop: Shop,
    /// How often the shop has fetched the keys.
    fetches: Arc<AtomicUsize>,
    key: EncodingKey,
}

impl Counter {
    async fn open() -> Self {
        let key = EncodingKey::from_ec_pem(KEY_OF_THIS_TEST.as_bytes()).unwrap();
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some("k1".to_owned());
        let set = JwkSet { keys: vec![jwk] };
        let fetches = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&fetches);
        let serve = move || async move {
            counted.fetch_add(1, Ordering::Relaxed);
            Json(set)
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let jwks_url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let router = Router::new().route("/jwks.json", get(serve));
        tokio::spawn(async move { axum::serve(listener, router).await });

        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = Settings { listen: anywhere, control: anywhere, jwks_url, stock: 10, log_file: None };
        Self { shop: Shop::start(settings).await.unwrap(), fetches, key }
    }

    fn pass(&self, kid: &str, change: impl FnOnce(&mut Value)) -> String {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({
            "iss": "fairgate", "aud": "alpha", "event": "drop", "jti": "drop:1:0:7", "cnf": null,
            "iat": now_s, "exp": now_s + 60,
        });
        change(&mut claims);
        let header = Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::ES256) };
        encode(&header, &claims, &self.key).unwrap()
    }

    async fn add(&self, sku: &str, pass: Option<&str>) -> (u16, Value) {
        let request = reqwest::Client::new().post(format!("http://{}/api/cart/items", self.shop.address));
        let mut request = request.json(&json!({ "sku": sku, "quantity": 1 }));
        if let Some(pass) = pass {
            request = request.header("fairgate-pass", pass);
        }
        let reply = request.send().await.unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap())
    }
}

#[tokio::test]
async fn a_good_pass_opens_the_cart_and_is_logged() {
    let counter = Counter::open().await;
    for _ in 0..3 {
        assert_eq!(counter.add("A-1", Some(&counter.pass("k1", |_| ()))).await.0, 201);
    }
    assert_eq!(counter.fetches.load(Ordering::Relaxed), 1, "the keys are kept");
    let log = counter.shop.log();
    assert_eq!(log.len(), 3);
    assert_eq!(log[0].jti.as_deref(), Some("drop:1:0:7"));
}

#[tokio::test]
async fn what_is_wrong_with_a_pass_is_refused() {
    let counter = Counter::open().await;
    let set = |name: &'static str, value: Value| move |claims: &mut Value| claims[name] = value;
    let good = counter.pass("k1", |_| ());
    let (head, signature) = good.rsplit_once('.').unwrap();
    let other = counter.pass("k1", set("jti", json!("drop:1:0:8")));
    let wrong = [
        counter.pass("k1", set("iss", json!("somebody"))),
        counter.pass("k1", set("aud", json!("beta"))),
        counter.pass("k1", set("event", json!("beta-drop"))),
        counter.pass("k1", set("exp", json!(1_700_000_000))),
        counter.pass("k2", |_| ()),
        format!("{}.{signature}", other.rsplit_once('.').unwrap().0),
        head.to_owned(),
        String::new(),
    ];
    for pass in &wrong {
        let (status, problem) = counter.add("A-1", Some(pass)).await;
        assert_eq!((status, &problem["code"]), (403, &json!("CART_REJECTED")), "{pass}");
    }
    assert_eq!(counter.add("A-1", None).await.0, 403);
    assert_eq!(counter.shop.log(), []);
    assert_eq!(counter.add("A-3", None).await.0, 201, "not every product needs a pass");
}

#[tokio::test]
async fn an_unknown_key_is_looked_up_again_but_not_for_every_request() {
    let counter = Counter::open().await;
    assert_eq!(counter.add("A-1", Some(&counter.pass("k1", |_| ()))).await.0, 201);
    for _ in 0..20 {
        assert_eq!(counter.add("A-1", Some(&counter.pass("made-up", |_| ()))).await.0, 403);
    }
    let fetches = counter.fetches.load(Ordering::Relaxed);
    assert!(fetches <= 3, "{fetches} fetches for 21 requests");
}

/// Signs nothing outside this file.
const KEY_OF_THIS_TEST: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLIUSi3im4ie+maHt
Z7kVS/+kwCZH0Y5i9ESejzd5QFKhRANCAAQLVxGsWZrlhhy/cLKCoszTmQoq5aqd
DAqdPMdUcLeQhSPgzxUpFcoK7/wv6jzu6OW17a5F2rJYnNX1TLej4MDF
-----END PRIVATE KEY-----
";
