//! Limits by member: known to the edge by the shop's assertion, and by nothing else.

use crate::fixtures::{CART, assert_refused, buyer, item, limit_cart, stack};
use axum::http::Method;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};
use tests::device::{Device, Reply};

const BY_MEMBER: &str =
    "[[policy]]\nname = \"member\"\nkey = \"member\"\nburst_capacity = 2\nrate = 1\nperiod_s = 3600\n";

struct Shop {
    key: EncodingKey,
    algorithm: Algorithm,
}

impl Shop {
    fn new(algorithm: Algorithm, pem: &str) -> Self {
        let key = match algorithm {
            Algorithm::EdDSA => EncodingKey::from_ed_pem(pem.as_bytes()),
            _ => EncodingKey::from_ec_pem(pem.as_bytes()),
        };
        Self { key: key.unwrap(), algorithm }
    }

    fn jwks(&self) -> String {
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some("m1".to_owned());
        json!({ "keys": [jwk] }).to_string()
    }

    fn of(&self, member: &str, audience: &str) -> String {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({ "sub": member, "aud": audience, "iat": now_s, "exp": now_s + 300 });
        let header = Header { kid: Some("m1".to_owned()), ..Header::new(self.algorithm) };
        encode(&header, &claims, &self.key).unwrap()
    }
}

/// Presses for a product without an event, with this assertion.
async fn press_as(device: &mut Device, assertion: &str) -> Reply {
    let request = device.request(Method::POST, CART).header("fairgate-member", assertion);
    device.send(request.json(&item("A-3"))).await.unwrap()
}

#[tokio::test]
async fn a_member_has_one_budget_on_every_device_and_who_proves_nothing_counts_by_address() {
    for (algorithm, pem) in [(Algorithm::ES256, SHOPS_KEY), (Algorithm::EdDSA, SHOPS_ED_KEY)] {
        let shop = Shop::new(algorithm, pem);
        let jwks = shop.jwks();
        let stack = stack("members", |config| {
            limit_cart(config, BY_MEMBER, &["member"]);
            let members = [("audience", "fairgate".to_owned()), ("jwks", jwks)];
            let members = members.map(|(key, value)| (key.to_owned(), toml::Value::String(value)));
            let members = toml::Table::from_iter(members);
            config.shop("alpha", "members", members).unwrap();
        })
        .await;
        let ada = shop.of("ada", "fairgate");
        let [mut phone, mut laptop, mut other] = [1, 2, 3].map(|nth| buyer(&stack, nth));
        assert_eq!(press_as(&mut phone, &ada).await.status, 201);
        assert_eq!(press_as(&mut laptop, &shop.of("ada", "fairgate")).await.status, 201);
        for device in [&mut phone, &mut laptop] {
            let refused = press_as(device, &ada).await;
            assert_refused(&refused, 429, "RATE_LIMITED");
            assert_eq!(refused.json()["policy"], "member");
        }
        assert_eq!(
            press_as(&mut phone, &shop.of("bob", "fairgate")).await.status,
            201,
            "others are not affected"
        );

        let forged = Shop::new(Algorithm::ES256, SOMEBODYS_KEY).of("bob", "fairgate");
        let mut torn = shop.of("bob", "fairgate");
        torn.replace_range(torn.len() - 8.., "AAAAAAAA");
        let unproved = [forged, torn, shop.of("bob", "another"), "rubbish".to_owned()];
        let statuses = [
            press_as(&mut other, &unproved[0]).await.status,
            press_as(&mut other, &unproved[1]).await.status,
            press_as(&mut other, &unproved[2]).await.status,
            press_as(&mut other, &unproved[3]).await.status,
        ];
        assert_eq!(statuses, [201, 201, 429, 429], "never an error: all four are one address");
        assert_eq!(
            press_as(&mut phone, &shop.of("bob", "fairgate")).await.status,
            201,
            "bob has lost nothing"
        );
    }
}

const SHOPS_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLIUSi3im4ie+maHt
Z7kVS/+kwCZH0Y5i9ESejzd5QFKhRANCAAQLVxGsWZrlhhy/cLKCoszTmQoq5aqd
DAqdPMdUcLeQhSPgzxUpFcoK7/wv6jzu6OW17a5F2rJYnNX1TLej4MDF
-----END PRIVATE KEY-----
";

const SHOPS_ED_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEICh7uXsymr0Lj82lbH2hvI3D/3kWOwqWZ+P8hyXlt8+E
-----END PRIVATE KEY-----
";

const SOMEBODYS_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghUkAHwDxjgda/3rh
/DvhxI6BioQpK4vCFG6RlUdjFPahRANCAATg8Qh13FBy8r0ABQp+L5RmFWDMsJXp
wIqqvgGuiX0T3zT5jOI4No5lPITBG1rigqi55ZskQ2CScYrwmx92FOWr
-----END PRIVATE KEY-----
";
