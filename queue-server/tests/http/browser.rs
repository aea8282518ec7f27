//! A server without a socket, and browsers that keep their cookies.

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, Request, StatusCode, header},
};
use queue_server::{
    access::{AccessKeys, Role, Shops},
    app::App,
    clock::Clock,
    document::{ConfigDocument, LiveDocument},
    http,
    keys::{PassKey, PassSigner},
    limits::{Home, Limits, Live, ProcessStore},
    members::Members,
    metrics::Metrics,
    origins::Origins,
    rooms::{ActiveRoom, Rooms, room_settings},
    store::{MemoryStore, RoomStore},
    tick::Ticker,
};
use serde_json::Value;
use shared::{
    config::{Config, EventConfig},
    ids::{EventId, LaneId},
    limiter::key::TableSeed,
    room::{CallOrder, Planted, Room},
    time::Timestamp,
    token::{MasterKeys, ServerKeys},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tower::ServiceExt;

pub(crate) const DEMO: &str = include_str!("../../../tests/demo/fairgate.toml");
pub(crate) const TICKET: &str = "/.fairgate/events/drop/ticket";
pub(crate) const REDEEM: &str = "/.fairgate/events/drop/ticket/redeem";
pub(crate) const RENEW: &str = "/.fairgate/events/drop/session/renew";

/// The demo's two events, the first with room for two.
pub(crate) struct Server {
    pub(crate) app: Arc<App>,
    pub(crate) router: Router,
    /// One key for each role, of the first event's shop.
    pub(crate) keys: RoleKeys,
    tickers: Vec<Ticker>,
    hand: Arc<AtomicU64>,
}

pub(crate) struct RoleKeys {
    pub(crate) read: String,
    pub(crate) operate: String,
    /// For every shop.
    pub(crate) operate_all: String,
    pub(crate) sessions: String,
    pub(crate) check: String,
}

impl RoleKeys {
    fn create(access: &mut AccessKeys) -> Self {
        let alpha = || Shops::Named(BTreeSet::from(["alpha".to_owned()]));
        let mut create = |role: Role, shops: Shops| {
            access.create(role.name().to_owned(), BTreeSet::from([role]), shops).unwrap()
        };
        Self {
            read: create(Role::Read, alpha()),
            operate: create(Role::Operate, alpha()),
            operate_all: create(Role::Operate, Shops::All),
            sessions: create(Role::Sessions, alpha()),
            check: create(Role::LimitsCheck, alpha()),
        }
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with_store(&|event, clock| {
            Arc::new(MemoryStore::new(Room::new(room_settings(event)), clock.clone()))
        })
        .await
    }

    pub(crate) async fn with_store(make: &dyn Fn(&EventConfig, &Clock) -> Arc<dyn RoomStore>) -> Self {
        Self::of(DEMO.replace("capacity = 100\n", "capacity = 2\n"), make).await
    }

    /// With a configuration of its own.
    pub(crate) async fn with_config(text: String) -> Self {
        Self::of(text, &|event, clock| {
            Arc::new(MemoryStore::new(Room::new(room_settings(event)), clock.clone()))
        })
        .await
    }

    async fn of(text: String, make: &dyn Fn(&EventConfig, &Clock) -> Arc<dyn RoomStore>) -> Self {
        let config = Config::parse("fairgate.toml", &text).unwrap();
        let (clock, hand) = Clock::manual(Timestamp::from_millis(1_796_000_000_000));
        let metrics = Arc::new(Metrics::new());
        let room = |event: &EventConfig| {
            let room = ActiveRoom::new(event, Planted::default(), make(event, &clock));
            (event.id.clone(), Arc::new(room))
        };
        let rooms: Rooms = config.events.iter().map(room).collect();
        let origins = Origins::new(&config, clock.now());
        let ticker = |room: &Arc<ActiveRoom>| {
            let seat = origins.seat(config.event(&room.event).unwrap());
            Ticker::new(Arc::clone(room), Arc::clone(&metrics)).heeding(seat)
        };
        let tickers = rooms.values().map(ticker).collect();
        let keys = ServerKeys::new(&MasterKeys::first([7; 32]));
        let local = Arc::new(ProcessStore::new(1_000, TableSeed([3; 16]), clock.clone()));
        let mut access = AccessKeys::default();
        let role_keys = RoleKeys::create(&mut access);
        let home = Home::local(local, clock.clone());
        let live = Live::new(home.store(), config.clone(), access, Vec::new(), None).unwrap();
        let limits = Limits::new(live, home, keys.clone(), Arc::clone(&metrics));
        let app = Arc::new(App {
            keys,
            passes: PassSigner::new(&[PassKey::generate().unwrap()]).unwrap(),
            members: Members::new(&config).unwrap(),
            config,
            document: LiveDocument::new(ConfigDocument::new(text)),
            clock,
            rooms,
            peers: None,
            origins,
            limits,
            metrics,
        });
        let mut server = Self { router: http::router(Arc::clone(&app)), app, keys: role_keys, tickers, hand };
        server.tick().await;
        server
    }

    pub(crate) async fn tick(&mut self) {
        for ticker in &mut self.tickers {
            // A store that does not answer is what some tests are about.
            let _ = ticker.tick().await;
        }
    }

    pub(crate) fn advance_s(&self, seconds: u64) {
        self.hand.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub(crate) fn room(&self) -> &ActiveRoom {
        &self.app.rooms[&event()]
    }

    /// Calls the next number whether there is room or not.
    pub(crate) async fn call_next(&self) {
        let order = CallOrder { calls: vec![(LaneId(0), 1)], ..CallOrder::default() };
        self.room().store.call(order).await.unwrap();
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Reply { status: parts.status, headers: parts.headers, body }
    }
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Status and code of a refusal, after a look at everything that every refusal has.
    pub(crate) fn refusal(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        assert_eq!(self.header("cache-control"), Some("private, no-store"));
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        assert_eq!(problem["requestId"].as_str(), self.header("fairgate-request-id"));
        let retry_after = self.header("retry-after").map(|seconds| seconds.parse::<u64>().unwrap());
        assert_eq!(problem["retryAfterSeconds"].as_u64(), retry_after);
        assert_ne!(retry_after, Some(0));
        (self.status.as_u16(), problem["code"].as_str().unwrap().to_owned())
    }

    pub(crate) fn assert_refused(&self, status: u16, code: &str) {
        assert_eq!(self.refusal(), (status, code.to_owned()));
    }
}

/// Keeps cookies as a browser does.
#[derive(Clone, Default)]
pub(crate) struct Browser {
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(crate) async fn get(&mut self, server: &Server, path: &str) -> Reply {
        self.send(server, "GET", path, Body::empty(), &[]).await
    }

    pub(crate) async fn post(&mut self, server: &Server, path: &str) -> Reply {
        self.send(server, "POST", path, Body::empty(), &[]).await
    }

    pub(crate) async fn post_form(&mut self, server: &Server, path: &str, form: &str) -> Reply {
        let fields = [("content-type", "application/x-www-form-urlencoded")];
        self.send(server, "POST", path, Body::from(form.to_owned()), &fields).await
    }

    pub(crate) async fn send(
        &mut self,
        server: &Server,
        method: &str,
        path: &str,
        body: Body,
        fields: &[(&str, &str)],
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        if !self.cookies.is_empty() {
            let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header(header::COOKIE, pairs.join("; "));
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let reply = server.send(request.body(body).unwrap()).await;
        for cookie in reply.headers.get_all(header::SET_COOKIE) {
            self.keep(cookie.to_str().unwrap());
        }
        reply
    }

    pub(crate) fn ticket(&self) -> &str {
        &self.cookies["fg-ticket-drop"]
    }

    fn keep(&mut self, cookie: &str) {
        let (name, rest) = cookie.split_once('=').unwrap();
        let (value, attributes) = rest.split_once("; ").unwrap();
        assert!(attributes.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        if attributes.contains("Max-Age=0;") {
            self.cookies.remove(name);
        } else {
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }
}

pub(crate) fn event() -> EventId {
    EventId::parse("drop").unwrap()
}

/// Two buyers inside: the shop is full.
pub(crate) async fn fill(server: &Server) -> [Browser; 2] {
    let mut inside = [Browser::default(), Browser::default()];
    for browser in &mut inside {
        assert!(browser.post(server, TICKET).await.json()["pass"].is_object());
    }
    inside
}
