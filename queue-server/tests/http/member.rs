//! Members: proved by the shop's assertion, guests where it proves nothing.

use crate::browser::{Browser, DEMO, REDEEM, Server, TICKET, fill};
use axum::body::Body;
use jsonwebtoken::{Algorithm, EncodingKey, Header, jwk::Jwk};
use p256::pkcs8::{EncodePrivateKey, LineEnding};
use serde_json::{Value, json};

/// `Server` begins at this second.
const NOW_S: u64 = 1_796_000_000;

struct Shop {
    key: EncodingKey,
}

impl Shop {
    fn new(seed: u8) -> Self {
        let pem = p256::SecretKey::from_slice(&[seed; 32]).unwrap().to_pkcs8_pem(LineEnding::LF).unwrap();
        Self { key: EncodingKey::from_ec_pem(pem.as_bytes()).unwrap() }
    }

    fn jwks(&self) -> String {
        let mut jwk = Jwk::from_encoding_key(&self.key, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some("k1".to_owned());
        json!({ "keys": [jwk] }).to_string()
    }

    fn assertion(&self, claims: &Value) -> String {
        let header = Header { kid: Some("k1".to_owned()), ..Header::new(Algorithm::ES256) };
        jsonwebtoken::encode(&header, claims, &self.key).unwrap()
    }

    fn of(&self, member: &str) -> String {
        self.assertion(&json!({"sub": member, "aud": "fairgate", "iat": NOW_S, "exp": NOW_S + 300}))
    }

    /// An empty shop with lanes for guests and members, where a buyer may come in once.
    async fn empty_server(&self) -> Server {
        let members = format!(
            "[shop.members]\naudience = \"fairgate\"\njwks = '''{}'''\n\n[[shop]]\nid = \"beta\"",
            self.jwks()
        );
        let guest = "[[event.lane]]\nname = \"guest\"\nweight = 1\n";
        let lanes = format!("{guest}[[event.lane]]\nname = \"member\"\nweight = 3\n");
        let text = DEMO
            .replacen("[[shop]]\nid = \"beta\"", &members, 1)
            .replacen(guest, &lanes, 1)
            .replace("capacity = 100\n", "capacity = 2\nsessions_per_buyer = 1\n");
        Server::with_config(text).await
    }

    async fn full_server(&self) -> Server {
        let server = self.empty_server().await;
        fill(&server).await;
        server
    }
}

async fn join(buyer: &mut Browser, server: &Server, assertion: &str) -> Value {
    let reply = buyer.send(server, "POST", TICKET, Body::empty(), &[("fairgate-member", assertion)]).await;
    assert!(reply.status.is_success(), "{}", reply.text());
    reply.json()
}

#[tokio::test]
async fn a_proved_member_joins_the_lane_of_members_and_has_one_place_on_every_device() {
    let shop = Shop::new(7);
    let server = shop.full_server().await;
    let [mut phone, mut laptop, mut other] = [(); 3].map(|()| Browser::default());
    let first = join(&mut phone, &server, &shop.of("ada")).await;
    assert_eq!((first["lane"].as_str(), first["ticketNumber"].as_u64()), (Some("member"), Some(1)));
    assert!(first["guestReason"].is_null());
    let second = join(&mut laptop, &server, &shop.of("ada")).await;
    assert_eq!(second["ticketNumber"], 1, "the same place");
    let bob = join(&mut other, &server, &shop.of("bob")).await;
    assert_eq!(bob["ticketNumber"], 2);
}

#[tokio::test]
async fn what_proves_nothing_makes_a_guest_and_says_why() {
    let shop = Shop::new(7);
    let server = shop.full_server().await;
    let claims = |iat: u64, exp: u64, aud: &str| json!({"sub": "ada", "aud": aud, "iat": iat, "exp": exp});
    let none = Header { kid: Some("k1".to_owned()), ..Header::new(Algorithm::HS256) };
    let by_public_key = jsonwebtoken::encode(
        &none,
        &claims(NOW_S, NOW_S + 60, "fairgate"),
        &EncodingKey::from_secret(shop.jwks().as_bytes()).unwrap(),
    );
    for (assertion, reason) in [
        ("rubbish".to_owned(), "ASSERTION_INVALID"),
        (by_public_key.unwrap(), "ASSERTION_INVALID"),
        (Shop::new(8).of("ada"), "ASSERTION_INVALID"),
        (shop.assertion(&claims(NOW_S, NOW_S + 60, "another")), "ASSERTION_INVALID"),
        (shop.assertion(&claims(NOW_S + 61, NOW_S + 200, "fairgate")), "ASSERTION_INVALID"),
        (shop.assertion(&claims(NOW_S - 200, NOW_S - 60, "fairgate")), "ASSERTION_EXPIRED"),
        (shop.assertion(&claims(NOW_S, NOW_S + 301, "fairgate")), "ASSERTION_EXPIRED"),
        (shop.of(""), "ASSERTION_INVALID"),
        (shop.of(&"m".repeat(65)), "ASSERTION_INVALID"),
    ] {
        let told = join(&mut Browser::default(), &server, &assertion).await;
        assert_eq!((told["lane"].as_str(), told["guestReason"].as_str()), (Some("guest"), Some(reason)));
    }
    let edge_of_life = shop.assertion(&claims(NOW_S - 200, NOW_S - 59, "fairgate"));
    assert_eq!(join(&mut Browser::default(), &server, &edge_of_life).await["lane"], "member");
    let told = join(&mut Browser::default(), &Server::start().await, &shop.of("ada")).await;
    assert_eq!(told["guestReason"], "MEMBERS_UNKNOWN");
}

/// Who proves too late that they are a member keeps the place that they have: no better one, and no second one.
#[tokio::test]
async fn a_place_is_not_improved_by_a_later_proof() {
    let shop = Shop::new(7);
    let server = shop.full_server().await;
    let [mut phone, mut laptop] = [(); 2].map(|()| Browser::default());
    let guest = phone.post(&server, TICKET).await.json();
    let told = join(&mut phone, &server, &shop.of("ada")).await;
    assert_eq!((&told["lane"], &told["ticketNumber"]), (&guest["lane"], &guest["ticketNumber"]));
    let told = join(&mut laptop, &server, &shop.of("ada")).await;
    assert_eq!((&told["lane"], &told["ticketNumber"]), (&guest["lane"], &guest["ticketNumber"]));
}

/// Two devices that joined before their owner said who they are: both keep their places, and one of them leads inside.
#[tokio::test]
async fn a_member_with_two_places_enters_by_one_of_them() {
    let shop = Shop::new(7);
    let mut server = shop.full_server().await;
    let [mut phone, mut laptop] = [(); 2].map(|()| Browser::default());
    let numbers = [phone.post(&server, TICKET).await, laptop.post(&server, TICKET).await];
    for (buyer, reply) in [&mut phone, &mut laptop].into_iter().zip(&numbers) {
        let told = join(buyer, &server, &shop.of("ada")).await;
        assert_eq!(told["ticketNumber"], reply.json()["ticketNumber"]);
    }
    // Both are called, and there is room for both.
    server.call_next().await;
    server.call_next().await;
    server.advance_s(125);
    server.tick().await;
    assert!(laptop.post(&server, REDEEM).await.json()["pass"].is_object());
    phone.post(&server, REDEEM).await.assert_refused(410, "TICKET_SPENT");
}

/// The visits of one buyer are counted for the member, whatever device they come with.
#[tokio::test]
async fn a_member_has_the_sessions_of_one_buyer() {
    let shop = Shop::new(7);
    let server = shop.empty_server().await;
    let mut phone = Browser::default();
    assert!(join(&mut phone, &server, &shop.of("ada")).await["pass"].is_object());
    phone.send(&server, "DELETE", TICKET, Body::empty(), &[]).await;
    let assertion = shop.of("ada");
    for mut again in [Browser::default(), phone] {
        let reply =
            again.send(&server, "POST", TICKET, Body::empty(), &[("fairgate-member", &assertion)]).await;
        reply.assert_refused(403, "BUYER_LIMIT");
    }
}
