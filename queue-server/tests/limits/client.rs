//! The client and its layer against a server with a socket.

use crate::server::Server;
use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
    middleware,
    response::IntoResponse,
    routing::get,
};
use fairgate_client::{
    Client, ClientError, ClientOptions, Fallback, LimitLayer, SetupError, TlsError, header,
};
use shared::{
    http::reason::Reason,
    limiter::PolicySettings,
    wire::limits::{DecidedBy, KeyParts, LimitCheck, PermitWait, WaitOrder},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};
use tower::ServiceExt;

/// Where a server listens, and what makes it answer nothing but 500.
async fn listen(server: &Server) -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let is_broken = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&is_broken);
    let router = server.router.clone().layer(middleware::from_fn(move |request, next: middleware::Next| {
        let is_broken = switch.load(Ordering::SeqCst);
        async move {
            if is_broken {
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            } else {
                next.run(request).await
            }
        }
    }));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, is_broken)
}

fn options(url: &str, server: &Server, fallback: Fallback) -> ClientOptions {
    let time_limit = Duration::from_secs(5);
    ClientOptions { fallback, time_limit, ..ClientOptions::new(url, &server.check_key) }
}

fn of_device(policy: &str, device: &str, cost: u64) -> LimitCheck {
    LimitCheck {
        shop: "alpha".to_owned(),
        policies: vec![policy.to_owned()],
        keys: KeyParts { device: Some(device.to_owned()), ..KeyParts::default() },
        cost,
        ..LimitCheck::default()
    }
}

#[tokio::test]
async fn a_refusal_is_remembered_for_its_check_only() {
    let server = Server::start();
    let (url, is_broken) = listen(&server).await;
    let client = Client::new(options(&url, &server, Fallback::Open)).unwrap();
    let taken = client.check(&of_device("device", "a", 9)).await.unwrap();
    assert!(taken.allowed && taken.receipt.is_some());
    let refused = client.check(&of_device("device", "a", 5)).await.unwrap();
    assert_eq!((refused.code, refused.retry_after_us), (Some(Reason::RateLimited), Some(800_000)));
    is_broken.store(true, Ordering::SeqCst);
    let again = client.check(&of_device("device", "a", 5)).await.unwrap();
    assert_eq!(
        (again.allowed, again.decided_by, again.policy.as_deref()),
        (false, DecidedBy::Store, Some("device"))
    );
    let other = client.check(&of_device("device", "b", 5)).await.unwrap();
    assert_eq!((other.allowed, other.decided_by), (true, DecidedBy::Fallback));
}

/// Speaks TLS as `localhost` for the server at `url`.
async fn behind_tls(url: &str) -> String {
    let certificates =
        CertificateDer::pem_slice_iter(include_bytes!("../../../tests/src/redis/tls/server.pem"));
    let key =
        PrivateKeyDer::from_pem_slice(include_bytes!("../../../tests/src/redis/tls/server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates.map(Result::unwrap).collect(), key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let inner = url.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((outside, _)) = listener.accept().await {
            let (acceptor, inner) = (acceptor.clone(), inner.clone());
            tokio::spawn(async move {
                // Who does not trust us hangs up here.
                let Ok(mut outside) = acceptor.accept(outside).await else { return };
                let mut inside = TcpStream::connect(inner).await.unwrap();
                let _ = copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    format!("https://localhost:{port}")
}

#[tokio::test]
async fn behind_tls_it_asks_whom_it_trusts_and_nobody_else() {
    let server = Server::start();
    let url = behind_tls(&listen(&server).await.0).await;
    let trusting = |authorities_pem: &[u8]| {
        let authorities_pem = authorities_pem.to_vec();
        Client::new(ClientOptions { authorities_pem, ..options(&url, &server, Fallback::Closed) })
    };
    let client = trusting(include_bytes!("../../../tests/src/redis/tls/ca.pem")).unwrap();
    let asked = client.check(&of_device("device", "a", 9)).await.unwrap();
    assert_eq!((asked.allowed, asked.decided_by), (true, DecidedBy::Store));
    let stranger = trusting(b"").unwrap().check(&of_device("device", "b", 1)).await.unwrap();
    assert_eq!((stranger.allowed, stranger.decided_by), (false, DecidedBy::Fallback));
    for wrong in ["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(matches!(trusting(wrong.as_bytes()), Err(SetupError::Tls(TlsError::Authorities))), "{wrong}");
    }
    for url in ["limits.example", "ftp://limits.example", "file:///limits"] {
        assert!(matches!(Client::new(ClientOptions::new(url, "key")), Err(SetupError::Url(_))), "{url}");
    }
}

#[tokio::test]
async fn peek_refund_and_give_reach_the_server() {
    let server = Server::start();
    let (url, _) = listen(&server).await;
    let client = Client::new(options(&url, &server, Fallback::Open)).unwrap();
    let receipt = client.check(&of_device("device", "a", 10)).await.unwrap().receipt.unwrap();
    assert!(!client.peek(&of_device("device", "a", 1)).await.unwrap().allowed);
    client.refund(std::slice::from_ref(&receipt)).await.unwrap();
    assert!(client.peek(&of_device("device", "a", 10)).await.unwrap().allowed);
    let twice = client.refund(std::slice::from_ref(&receipt)).await;
    assert!(matches!(twice, Err(ClientError::Refused { code, .. }) if code == "RECEIPT_SPENT"));
    let permit = client.check(&of_device("export", "a", 2)).await.unwrap();
    assert!(permit.holds_permit);
    client.give(&[permit.receipt.unwrap()]).await.unwrap();
    assert!(client.check(&of_device("export", "a", 2)).await.unwrap().allowed);
}

#[tokio::test]
async fn without_the_service_the_fallback_decides_and_is_warm() {
    let server = Server::start();
    let (url, is_broken) = listen(&server).await;
    let settings = PolicySettings::Gcra { burst_capacity: 4, rate: 1, period_us: 3_600_000_000 };
    let client = Client::new(options(&url, &server, Fallback::Local(settings))).unwrap();
    assert!(client.check(&of_device("device", "a", 3)).await.unwrap().allowed);
    is_broken.store(true, Ordering::SeqCst);
    let decide = async |cost| {
        let result = client.check(&of_device("device", "a", cost)).await.unwrap();
        assert_eq!(result.decided_by, DecidedBy::Fallback);
        result.allowed
    };
    assert_eq!([decide(2).await, decide(1).await, decide(1).await], [false, true, false]);
}

#[tokio::test]
async fn a_wrong_call_is_an_error_and_lets_nothing_pass() {
    let server = Server::start();
    let (url, _) = listen(&server).await;
    let client = Client::new(options(&url, &server, Fallback::Open)).unwrap();
    let unknown = client.check(&of_device("nothing", "a", 1)).await;
    assert!(matches!(unknown, Err(ClientError::Refused { code, .. }) if code == "POLICY_UNKNOWN"));
    let stranger = ClientOptions { key: "fgk_no_key".to_owned(), ..options(&url, &server, Fallback::Open) };
    let stranger = Client::new(stranger).unwrap().check(&of_device("device", "a", 1)).await;
    assert!(matches!(stranger, Err(ClientError::Refused { code, .. }) if code == "ACCESS_KEY_INVALID"));
    let app = shop(LimitLayer::new(client, |_| Some(of_device("nothing", "a", 1))));
    assert_eq!(ask(&app, "a").await.status(), 503);
}

#[tokio::test]
async fn the_layer_limits_a_service() {
    let server = Server::start();
    let (url, _) = listen(&server).await;
    let client = Client::new(options(&url, &server, Fallback::Closed)).unwrap();
    let app =
        shop(LimitLayer::new(client, |request| Some(of_device("device", &header(request, "x-device")?, 5))));
    let first = ask(&app, "a").await;
    assert_eq!(first.status(), 200);
    assert_eq!(first.headers()["ratelimit"], r#""device";r=5;t=1"#);
    assert_eq!(ask(&app, "a").await.status(), 200);
    let refused = ask(&app, "a").await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    let body = axum::body::to_bytes(refused.into_body(), 64 * 1024).await.unwrap();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&problem["code"], &problem["policy"]), (&"RATE_LIMITED".into(), &"device".into()));
    assert_eq!(ask(&app, "").await.status(), 200, "who is not identified is not limited here");
}

#[tokio::test]
async fn the_layer_gives_permits_back() {
    let server = Server::start();
    let (url, _) = listen(&server).await;
    let client = Client::new(options(&url, &server, Fallback::Closed)).unwrap();
    let check = || LimitCheck {
        wait: Some(PermitWait { ms: 4_000, order: WaitOrder::OldestFirst }),
        ..of_device("export", "a", 2)
    };
    let app = shop(LimitLayer::new(client, move |_| Some(check())));
    for _ in 0..5 {
        assert_eq!(ask(&app, "a").await.status(), 200);
    }
}

fn shop<I>(limits: LimitLayer<I>) -> Router
where
    I: Fn(&axum::http::request::Parts) -> Option<LimitCheck> + Send + Sync + 'static,
{
    Router::new().route("/cart", get(|| async { "added" })).layer(limits)
}

async fn ask(app: &Router, device: &str) -> axum::response::Response {
    let request = Request::get("/cart").header("x-device", device).body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap()
}
