//! API clients and their plans, and who passes by all limits.

use crate::fixtures::{config, counted_by, errors};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use shared::config::{Config, Credentials, NetworkSet};
use shared::http::client::ClientAddress;

fn hash(secret: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(secret))
}

fn with_clients() -> Config {
    let (one, two, token) = (hash("key-one"), hash("key-two"), hash("token"));
    config(&format!(
        "{}[[plan]]\nname = \"basic\"\nlimits = [\"day\"]\n\
         [[client]]\nid = \"one\"\nkey_sha256 = [\"{one}\"]\nplan = \"basic\"\n\
         [[client]]\nid = \"two\"\nkey_sha256 = [\"{two}\"]\nshop = \"alpha\"\n\
         [bypass]\nnetworks = [\"10.0.0.0/8\", \"2001:db8::/32\"]\ntoken_sha256 = [\"{token}\"]\nclients = [\"two\"]\n",
        counted_by("day", "\"client\"")
    ))
}

fn address(text: &str) -> ClientAddress {
    ClientAddress::from_peer(text.parse().unwrap())
}

#[test]
fn a_client_is_known_by_its_key_however_it_is_presented() {
    let config = with_clients();
    let id =
        |credentials: Credentials<'_>| config.callers.client(&credentials).map(|client| client.id.as_str());
    let by_header = |api_key| id(Credentials { api_key: Some(api_key), ..Credentials::default() });
    let by_field = |text| id(Credentials { authorization: Some(text), ..Credentials::default() });
    assert_eq!(by_header("key-one"), Some("one"));
    assert_eq!(by_header(" key-one "), Some("one"));
    // L90: one credential is one caller.
    for text in ["Bearer key-one", "bearer  key-one", " BEARER key-one "] {
        assert_eq!(by_field(text), Some("one"), "{text}");
    }
    for text in ["key-one", "Basic key-one", "x Bearer key-one", "Bearer", "Bearer key-three", ""] {
        assert_eq!(by_field(text), None, "{text}");
    }
    assert_eq!(by_header(&"k".repeat(1 << 20)), None, "a megabyte is not even hashed");
    let client = &config.callers.clients[0];
    assert_eq!((client.plan.as_deref(), client.limits[0].policies[0].name.as_str()), (Some("basic"), "day"));
}

#[test]
fn networks_tokens_and_clients_pass_by() {
    let config = with_clients();
    let passes =
        |text: &str, credentials: Credentials<'_>| config.callers.is_bypassed(&credentials, address(text));
    let nothing = Credentials::default();
    assert!(passes("10.255.0.1", nothing) && passes("::ffff:10.0.0.1", nothing));
    assert!(passes("2001:db8:ffff::1", nothing));
    assert!(
        !passes("11.0.0.0", nothing) && !passes("9.255.255.255", nothing) && !passes("2001:db9::", nothing)
    );
    let token = |token| Credentials { bypass_token: Some(token), ..nothing };
    assert!(passes("192.0.2.1", token("token")) && !passes("192.0.2.1", token("tokem")));
    let key = |api_key| Credentials { api_key: Some(api_key), ..nothing };
    assert!(passes("192.0.2.1", key("key-two")) && !passes("192.0.2.1", key("key-one")));
}

#[test]
fn networks_are_found_without_a_walk() {
    // As many as a file may name, every other /24, and each edge on the right side of it.
    let networks: Vec<ipnet::IpNet> = (0..10_000u32)
        .map(|index| {
            format!("{}/24", std::net::Ipv4Addr::from_bits(0x1400_0000 + (index << 9))).parse().unwrap()
        })
        .collect();
    let set = NetworkSet::new(&networks);
    assert_eq!(set.prefixes().len(), 10_000);
    for index in [0, 1, 4_999, 9_999] {
        let first = 0x1400_0000 + (index << 9);
        let contains = |bits| set.contains(std::net::Ipv4Addr::from_bits(bits).into());
        assert!(contains(first) && contains(first + 255));
        assert!(!contains(first - 1) && !contains(first + 256));
    }
    assert!(
        !set.contains("::".parse().unwrap()) && !NetworkSet::default().contains("10.0.0.1".parse().unwrap())
    );
    let merged = NetworkSet::new(&["10.0.0.0/8".parse().unwrap(), "10.1.0.0/16".parse().unwrap()]);
    assert_eq!(merged.prefixes(), ["10.0.0.0/8".parse::<ipnet::IpNet>().unwrap()]);
}

#[test]
fn what_would_let_everybody_by_or_mix_clients_up_is_refused() {
    assert_eq!(
        errors("[bypass]\nnetworks = [\"0.0.0.0/0\"]\n"),
        [
            "f:10: bypass.networks[0]: everybody is in this network, so nobody would be limited; write a smaller one"
        ]
    );
    assert_eq!(
        errors("[bypass]\ntoken_sha256 = [\"secret\"]\n"),
        [
            "f:10: bypass.token_sha256[0]: write the SHA-256 of the secret, 64 hexadecimal digits; got \"secret\""
        ]
    );
    let plan = format!("[[plan]]\nname = \"basic\"\nlimits = [\"p\"]\n{}", counted_by("p", "\"ip\""));
    assert_eq!(
        errors(&plan),
        ["f:11: plan[0].limits: p does not count by client, so the clients of this plan would share it"]
    );
    let key = hash("key");
    let twice = format!(
        "[[client]]\nid = \"a\"\nkey_sha256 = [\"{key}\"]\n[[client]]\nid = \"b\"\nkey_sha256 = [\"{key}\"]\n"
    );
    assert_eq!(
        errors(&twice),
        ["f:14: client[1].key_sha256[0]: this key is named on line 11 already; name it once"]
    );
    let unknown = format!("[[client]]\nid = \"a\"\nkey_sha256 = [\"{key}\"]\nplan = \"gold\"\n");
    assert_eq!(errors(&unknown), ["f:12: client[0].plan: no [[plan]] has this name; got \"gold\""]);
}
