//! Which fields of a request and of a reply go on, and which stop here.

use crate::config::{RouteKind, ShopConfig};
use crate::http::cookie::{Cookie, CookieMode};
use crate::http::navigation::return_path;
use crate::http::path::CanonicalPath;

/// Whether a header field is Fairgate's own, which neither client nor shop may send through.
///
/// Underscores count as hyphens, because some servers read `Fairgate_Pass` as `Fairgate-Pass`.
pub fn is_ours(name: &str) -> bool {
    let head = name.as_bytes().get(..OURS.len()).unwrap_or_default();
    head.iter().zip(OURS).all(|(own, ours)| {
        let own = if *own == b'_' { b'-' } else { own.to_ascii_lowercase() };
        own == *ours
    }) && head.len() == OURS.len()
}

/// Whether a header field speaks to the next hop only (RFC 9110 section 7.6.1), so that it is not forwarded.
pub fn is_for_this_hop_only(name: &str) -> bool {
    HOP_BY_HOP.iter().any(|hop| hop.eq_ignore_ascii_case(name))
}

/// Whether a header field makes some frameworks take the request for one of another method.
pub fn overrides_method(name: &str) -> bool {
    METHOD_OVERRIDES.iter().any(|header| header.eq_ignore_ascii_case(name))
}

/// Whether a header field claims where a request comes from in words that the edge does not write anew: nobody vouches for it.
pub fn claims_address(name: &str) -> bool {
    ADDRESS_CLAIMS.iter().any(|claim| claim.eq_ignore_ascii_case(name))
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
    let ours = cookies.split(';').map(str::trim).filter(|pair| pair.starts_with(prefix));
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

const OURS: &[u8] = b"fairgate-";

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

const ADDRESS_CLAIMS: [&str; 4] = ["forwarded", "true-client-ip", "x-client-ip", "x-real-ip"];

const METHOD_OVERRIDES: [&str; 4] =
    ["x-http-method-override", "x-http-method", "x-method-override", "x-original-method"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn our_fields_are_told_in_every_spelling() {
        for name in ["fairgate-pass", "Fairgate-Client-Ip", "FAIRGATE_PASS", "fairgate-"] {
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
        assert!(claims_address("Forwarded") && !claims_address("x-forwarded-for"));
        assert!(overrides_method("X-HTTP-Method-Override") && !overrides_method("x-method"));
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
