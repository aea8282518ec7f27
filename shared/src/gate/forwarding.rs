//! Which fields of a request and of a reply go on, and which stop here.

use crate::config::{RouteKind, ShopConfig};
use crate::http::cookie::{Cookie, CookieMode, PAIR_ENDS};
use crate::http::navigation::return_path;
use crate::http::path::CanonicalPath;
use core::time::Duration;

/// Whether a header field is Fairgate's own, which neither client nor shop may send through.
///
/// Here and below case does not count, and underscores count as hyphens: some servers read `Fairgate_Pass` as
/// `Fairgate-Pass`.
pub fn is_ours(name: &str) -> bool {
    begins_like(name, OURS)
}

/// Whether a header field speaks to the next hop only (RFC 9110 section 7.6.1), so that it is not forwarded.
pub fn is_for_this_hop_only(name: &str) -> bool {
    is_one_of(name, &HOP_BY_HOP)
}

/// Whether a header field makes some frameworks take the request for one of another method.
pub fn overrides_method(name: &str) -> bool {
    is_one_of(name, &METHOD_OVERRIDES)
}

/// Whether a header field says what only a proxy knows: where a request comes from, or which host and path it had. The edge
/// is the proxy in front of the shop, so what a client says there is never forwarded. Some frameworks route by
/// `X-Original-URL`, past a gate that read the path.
pub fn speaks_as_proxy(name: &str) -> bool {
    PROXY_FAMILIES.iter().any(|family| begins_like(name, family)) || is_one_of(name, &PROXY_FIELDS)
}

/// Whether a header field only looks like one that the gate decides by, such as `Content_Type`: some servers read it as
/// that one.
pub fn is_disguised(name: &str) -> bool {
    name.contains('_') && is_one_of(name, &DECIDED_BY)
}

/// Whether the fields of [`overrides_method`] are kept from the shop: on every path where some method is gated or limited,
/// so that no `GET` turns into the gated `POST` behind the gate.
pub fn hides_method(shop: &ShopConfig, path: &str) -> bool {
    let Ok(path) = CanonicalPath::parse(path) else { return true };
    let mut guarded = shop.routes.iter().filter(|route| route.kind != RouteKind::Bypass);
    guarded.any(|route| path.is_ambiguous() || route.pattern.covers(&path))
}

/// The pairs of a `Cookie` field that are Fairgate's, as the queue server gets them; empty where there are none.
pub fn fairgate_cookies(cookies: &str, mode: &CookieMode) -> String {
    let device = mode.name(Cookie::Device);
    let prefix = device.strip_suffix("device").unwrap_or(&device);
    let ours = cookies.split(PAIR_ENDS).map(str::trim).filter(|pair| pair.starts_with(prefix));
    ours.collect::<Vec<_>>().join("; ")
}

/// Where a refused navigation returns to after the wait: the path of its `Referer`, if that is a page of this very host.
pub fn return_path_of<'r>(referer: Option<&'r str>, host: &str) -> Option<&'r str> {
    let (scheme, rest) = referer?.split_once("://")?;
    let (authority, _) = rest.split_at_checked(rest.find('/')?)?;
    let path = rest.get(authority.len()..)?;
    let is_same = authority.eq_ignore_ascii_case(host) && matches!(scheme, "http" | "https");
    return_path(path).filter(|_| is_same)
}

/// The longest time from a request's way to the shop to the head of its reply.
pub const REPLY_TIME_MAX: Duration = Duration::from_secs(30);

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| known.len() == name.len() && begins_like(name, known))
}

/// `head` is in lower case, with hyphens.
fn begins_like(name: &str, head: &str) -> bool {
    let told = name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() });
    name.len() >= head.len() && told.zip(head.bytes()).all(|(own, wanted)| own == wanted)
}

const OURS: &str = "fairgate-";

const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const PROXY_FAMILIES: [&str; 3] = ["x-forwarded-", "x-original-", "x-rewrite-"];

const PROXY_FIELDS: [&str; 13] = [
    "cf-connecting-ip",
    "client-ip",
    "forwarded",
    "front-end-https",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-host",
    "x-http-host-override",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-url-scheme",
];

const METHOD_OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

const DECIDED_BY: [&str; 6] =
    ["authorization", "content-encoding", "content-length", "content-type", "cookie", "host"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn our_fields_are_told_in_every_spelling() {
        for name in ["fairgate-pass", "Fairgate-Client-Ip", "FAIRGATE_PASS", "fairgate-", "fairgate_"] {
            assert!(is_ours(name), "{name}");
        }
        for name in ["fairgate", "x-fairgate-pass", "", "fair-gate-x", "content-type"] {
            assert!(!is_ours(name), "{name}");
        }
    }

    #[test]
    fn fields_of_one_hop_stop_here() {
        assert!(is_for_this_hop_only("Transfer-Encoding") && is_for_this_hop_only("connection"));
        assert!(!is_for_this_hop_only("content-length"));
        assert!(is_for_this_hop_only("Transfer_Encoding"));
        assert!(overrides_method("X-HTTP-Method-Override") && !overrides_method("x-method"));
        assert!(overrides_method("X_HTTP_Method_Override"));
    }

    #[test]
    fn what_only_a_proxy_knows_is_told_in_every_spelling() {
        for name in [
            "Forwarded",
            "X-Forwarded-For",
            "X_Forwarded_Host",
            "x-forwarded-prefix",
            "X-Original-URL",
            "x_original_url",
            "X-Rewrite-URL",
            "X-Original-Method",
            "X_Real_IP",
            "CF-Connecting-IP",
        ] {
            assert!(speaks_as_proxy(name), "{name}");
        }
        for name in ["x-forwarded", "x-requested-with", "origin", "host", "x-originally", ""] {
            assert!(!speaks_as_proxy(name), "{name}");
        }
        assert!(is_disguised("Content_Type") && !is_disguised("content-type") && !is_disguised("x_type"));
    }

    #[test]
    fn methods_are_hidden_where_some_method_is_gated() {
        let text = r#"
            [site]
            public_url = "http://localhost:1"
            [edge]
            queue_server = "http://127.0.0.1:2"
            [[shop]]
            id = "alpha"
            hosts = ["localhost:1"]
            origin = "http://127.0.0.1:3"
            [[shop.route]]
            methods = ["POST"]
            path = "/api/cart/items"
            sku = { json = "sku" }
            [[shop.route]]
            path = "/health"
            bypass = true
        "#;
        let config = Config::parse("fairgate.toml", text).unwrap();
        let hides = |path| hides_method(&config.shops[0], path);
        assert!(hides("/api/cart/items") && hides("//API/cart/items.json") && hides("/api%2Fcart/items"));
        assert!(!hides("/health") && !hides("/api/cart"));
    }

    #[test]
    fn only_our_cookies_travel_to_the_queue_server() {
        let check =
            |mode: &CookieMode, cookies, expected| assert_eq!(fairgate_cookies(cookies, mode), expected);
        let mode = CookieMode::Development;
        check(&mode, "cart=1; fg-device=a; fg-ticket-drop=b;x=fg-device=c", "fg-device=a; fg-ticket-drop=b");
        check(&mode, "", "");
        // Two lines, which some runtimes join by a comma.
        check(&mode, "a=1, fg-device=b; c=2, fg-ticket-drop=d", "fg-device=b; fg-ticket-drop=d");
        check(&CookieMode::Host, "fg-device=a; __Host-fg-pass-drop=b", "__Host-fg-pass-drop=b");
    }

    #[test]
    fn a_refused_buyer_returns_to_the_page_they_came_from() {
        let check = |referer, expected| assert_eq!(return_path_of(referer, "shop.example:1"), expected);
        check(Some("https://shop.example:1/p/1?x=2"), Some("/p/1?x=2"));
        check(Some("https://SHOP.example:1/"), Some("/"));
        check(Some("https://shop.example:1//evil"), None);
        check(Some("https://evil.example/p"), None);
        check(Some("https://shop.example:1@evil.example/p"), None);
        check(Some("ftp://shop.example:1/p"), None);
        check(Some("https://shop.example:1"), None);
        check(None, None);
    }
}
