//! Calls of the buyer side from other web origins, with cookies.

use crate::config::ShopConfig;

/// Who made a call, by its `Origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller<'r> {
    /// The shop's own pages, or no browser.
    Own,
    /// Another web origin that the shop allows.
    Allowed(&'r str),
    /// Another web origin.
    Foreign,
}

impl<'r> Caller<'r> {
    /// Reads the `Origin` field of a call.
    pub fn of(shop: &ShopConfig, origin: Option<&'r str>) -> Self {
        let Some(origin) = origin else { return Self::Own };
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        if host.is_some_and(|host| shop.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))) {
            return Self::Own;
        }
        let is_allowed =
            shop.allowed_origins.iter().any(|allowed| allowed.as_str().eq_ignore_ascii_case(origin));
        if is_allowed { Self::Allowed(origin) } else { Self::Foreign }
    }

    /// Header fields of the reply, names in lower case.
    pub fn headers(self) -> Vec<(&'static str, String)> {
        let vary = ("vary", "Origin".to_owned());
        let Self::Allowed(origin) = self else { return vec![vary] };
        vec![
            vary,
            ("access-control-allow-origin", origin.to_owned()),
            ("access-control-allow-credentials", "true".to_owned()),
            ("access-control-expose-headers", "Retry-After, RateLimit, RateLimit-Policy".to_owned()),
        ]
    }

    /// Header fields of the answer to a preflight.
    pub fn preflight_headers(self) -> Vec<(&'static str, String)> {
        let mut headers = self.headers();
        if matches!(self, Self::Allowed(_)) {
            headers.push(("access-control-allow-methods", "GET, POST, DELETE".to_owned()));
            headers.push(("access-control-allow-headers", ALLOWED_FIELDS.to_owned()));
            headers.push(("access-control-max-age", "600".to_owned()));
        }
        headers
    }
}

/// Fields that a page of another origin may send.
const ALLOWED_FIELDS: &str = "Authorization, Content-Type, Fairgate-Member";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn shop() -> ShopConfig {
        let text = include_str!("../../../tests/demo/fairgate.toml")
            .replace("allowed_origins = []", "allowed_origins = [\"https://app.example\"]");
        Config::parse("f", &text).unwrap().shop("alpha").unwrap().clone()
    }

    #[test]
    fn the_origin_tells_the_caller() {
        let shop = shop();
        let check = |origin, expected| assert_eq!(Caller::of(&shop, origin), expected, "{origin:?}");
        check(None, Caller::Own);
        check(Some("http://localhost:8700"), Caller::Own);
        check(Some("https://ALPHA.localhost:8700"), Caller::Own);
        check(Some("https://app.example"), Caller::Allowed("https://app.example"));
        for foreign in [
            "null",
            "",
            "http://app.example",
            "https://app.example.evil",
            "https://app.example:444",
            "localhost:8700",
        ] {
            check(Some(foreign), Caller::Foreign);
        }
    }

    #[test]
    fn only_an_allowed_origin_is_named_in_the_reply() {
        let named = |caller: Caller<'_>| {
            let headers = caller.preflight_headers();
            assert!(headers.contains(&("vary", "Origin".to_owned())));
            headers
                .into_iter()
                .find(|(name, _)| *name == "access-control-allow-origin")
                .map(|(_, value)| value)
        };
        assert_eq!(named(Caller::Allowed("https://app.example")).as_deref(), Some("https://app.example"));
        assert_eq!(named(Caller::Own), None);
        assert_eq!(named(Caller::Foreign), None);
    }
}
