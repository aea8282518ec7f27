//! A buyer's device: a cookie jar and an address, over plain HTTP.

use anyhow::Result;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, Method};
use reqwest::RequestBuilder;
use serde_json::Value;
use shared::ids::{Epoch, LaneId, Place, TicketNumber};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One device in front of one edge.
#[derive(Clone, Debug)]
pub struct Device {
    pub client: reqwest::Client,
    /// Where the edge listens.
    pub edge: SocketAddr,
    /// The host that the buyer typed, with its port.
    pub host: String,
    /// The address that the edge shall see.
    pub address: Ipv4Addr,
    pub cookies: BTreeMap<String, String>,
    clock: Clock,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub sent_ms: u64,
    pub answered_ms: u64,
}

/// Milliseconds since 1970 that never step.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_ms: u64,
}

impl Device {
    /// A device that has never been here.
    pub fn new(client: &reqwest::Client, edge: SocketAddr, address: Ipv4Addr, clock: Clock) -> Self {
        let host = format!("localhost:{}", edge.port());
        Self { client: client.clone(), edge, host, address, cookies: BTreeMap::new(), clock }
    }

    /// A request of this device, to be changed and then sent with [`Device::send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("http://{}{path}", self.edge));
        let request = request.header(HOST, &self.host).header("x-forwarded-for", self.address.to_string());
        if self.cookies.is_empty() {
            return request;
        }
        let pairs: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        request.header(COOKIE, pairs.join("; "))
    }

    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Sends a request and keeps the cookies of its reply.
    pub async fn send(&mut self, request: RequestBuilder) -> Result<Reply> {
        let sent_ms = self.clock.now_ms();
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        self.keep_cookies(&headers);
        let body = response.bytes().await?.to_vec();
        Ok(Reply { status, headers, body, sent_ms, answered_ms: self.clock.now_ms() })
    }

    pub async fn get(&mut self, path: &str) -> Result<Reply> {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn post(&mut self, path: &str, body: &Value) -> Result<Reply> {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// Posts with a ticket in the header instead of the cookie.
    pub async fn post_with_ticket(&mut self, path: &str, ticket: &str) -> Result<Reply> {
        let request = self.request(Method::POST, path).header(AUTHORIZATION, format!("Ticket {ticket}"));
        self.send(request.json(&serde_json::json!({}))).await
    }

    pub async fn delete(&mut self, path: &str) -> Result<Reply> {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// The session that the pass cookie of `event` stands for.
    pub fn pass_jti(&self, event: &str) -> Option<String> {
        jti_of(self.cookie("pass", event)?.split_once('.')?.1)
    }

    /// The place that the ticket cookie of `event` stands for.
    pub fn ticket_place(&self, event: &str) -> Option<Place> {
        place_of_ticket(self.cookie("ticket", event)?)
    }

    fn cookie(&self, kind: &str, event: &str) -> Option<&str> {
        let names = [format!("fg-{kind}-{event}"), format!("__Host-fg-{kind}-{event}")];
        names.iter().find_map(|name| self.cookies.get(name)).map(String::as_str)
    }

    fn keep_cookies(&mut self, headers: &HeaderMap) {
        for line in headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
            let mut parts = line.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
            if parts.any(|part| part.eq_ignore_ascii_case("max-age=0")) {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

impl Reply {
    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The reason code of a refusal; empty where there is none.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// How long the reply asks to wait: to the millisecond where its body says so, otherwise by `Retry-After`.
    pub fn wait(&self) -> Option<Duration> {
        let body = self.json();
        let exact = body["retryAfterMs"].as_u64().or_else(|| body["nextPollMs"].as_u64());
        let header = || self.header(RETRY_AFTER.as_str())?.parse().ok().map(Duration::from_secs);
        exact.map(Duration::from_millis).or_else(header)
    }
}

impl Clock {
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), start_ms: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX) }
    }

    pub fn now_ms(self) -> u64 {
        self.start_ms.saturating_add(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// The `jti` of a pass, unverified.
pub fn jti_of(pass: &str) -> Option<String> {
    let payload = pass.split('.').nth(1)?;
    let claims = data_encoding::BASE64URL_NOPAD.decode(payload.as_bytes()).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims["jti"].as_str().map(str::to_owned)
}

/// The place that a ticket stands for, unverified: bytes 10 to 18 of its layout.
pub fn place_of_ticket(ticket: &str) -> Option<Place> {
    let bytes = data_encoding::BASE64URL_NOPAD.decode(ticket.as_bytes()).ok()?;
    let &[epoch_high, epoch_low, lane, _flags, ref number @ ..] = bytes.get(10..19)? else { return None };
    let number = number.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    Some(Place {
        epoch: Epoch(u16::from_be_bytes([epoch_high, epoch_low])),
        lane: LaneId(lane),
        number: TicketNumber(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        let edge = SocketAddr::from(([127, 0, 0, 1], 8700));
        Device::new(&reqwest::Client::new(), edge, Ipv4Addr::new(10, 0, 0, 1), Clock::start())
    }

    #[test]
    fn cookies_are_kept_and_cleared() {
        let mut device = device();
        let mut headers = HeaderMap::new();
        headers.append(SET_COOKIE, "fg-device=one; Path=/; Max-Age=34560000".parse().unwrap());
        headers.append(SET_COOKIE, "cart=two; Path=/".parse().unwrap());
        device.keep_cookies(&headers);
        let mut headers = HeaderMap::new();
        headers.append(SET_COOKIE, "cart=; Path=/; Max-Age=0".parse().unwrap());
        device.keep_cookies(&headers);
        let kept: Vec<_> =
            device.cookies.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(kept, [("fg-device", "one")]);
    }

    #[test]
    fn a_pass_cookie_names_its_session() {
        let claims = data_encoding::BASE64URL_NOPAD.encode(br#"{"jti":"drop:1:0:7"}"#);
        let mut device = device();
        device.cookies.insert("fg-pass-drop".to_owned(), format!("tag.header.{claims}.signature"));
        assert_eq!(device.pass_jti("drop").as_deref(), Some("drop:1:0:7"));
        assert_eq!(device.pass_jti("other"), None);
    }

    #[test]
    fn a_ticket_names_its_place() {
        let vector = include_str!("../../shared/tests/vectors/ticket.json");
        let vector: Value = serde_json::from_str(vector).unwrap();
        for case in vector["tickets"].as_array().unwrap() {
            let place = place_of_ticket(case["ticket"].as_str().unwrap()).unwrap();
            let number = |name: &str| case[name].as_u64().unwrap();
            let told = (place.epoch.0.into(), place.lane.0.into(), place.number.0);
            assert_eq!(told, (number("epoch"), number("lane"), number("number")));
        }
    }
}
