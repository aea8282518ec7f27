//! The language of a reply.

use serde::{Deserialize, Serialize};

/// A language that messages exist in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Language {
    /// English.
    #[default]
    #[serde(rename = "en")]
    En,
    /// Chinese as written in Taiwan.
    #[serde(rename = "zh-TW")]
    ZhTw,
}

impl Language {
    /// The language that an `Accept-Language` field prefers among ours; English without one. Any `zh` reads zh-TW, which
    /// is closer to it than English.
    pub fn from_accept_language(field: Option<&str>) -> Self {
        let mut best = (0, Self::default());
        for range in field.unwrap_or_default().split(',').take(RANGES_MAX) {
            let mut parts = range.split(';').map(str::trim);
            let Some(language) = parts.next().and_then(Self::of_range) else { continue };
            let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, quality_milli);
            if quality > best.0 {
                best = (quality, language);
            }
        }
        best.1
    }

    /// Language tag for `lang` and `Content-Language`.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::ZhTw => "zh-TW",
        }
    }

    fn of_range(range: &str) -> Option<Self> {
        let primary = range.split('-').next().unwrap_or_default();
        if primary.eq_ignore_ascii_case("zh") {
            Some(Self::ZhTw)
        } else if primary.eq_ignore_ascii_case("en") || primary == "*" {
            Some(Self::En)
        } else {
            None
        }
    }
}

/// `0.85` as 850. A text that is no quality counts as 0: a preference that cannot be read is none.
fn quality_milli(text: &str) -> u32 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).take(3).count();
    if digits != fraction.len() {
        return 0;
    }
    match whole {
        "1" => 1000,
        "0" => format!("{fraction:0<3}").parse().unwrap_or(0),
        _ => 0,
    }
}

/// Ranges of a field beyond this are not read.
const RANGES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_known_language_wins() {
        let check =
            |field, expected| assert_eq!(Language::from_accept_language(field), expected, "{field:?}");
        check(None, Language::En);
        check(Some(""), Language::En);
        check(Some("zh-TW,zh;q=0.9,en-US;q=0.8"), Language::ZhTw);
        check(Some("en-US,en;q=0.9,zh-TW;q=0.8"), Language::En);
        check(Some("fr, zh-Hant;q=0.5, en;q=0.4"), Language::ZhTw);
        check(Some("zh;q=0"), Language::En);
        check(Some("en;q=0.1, ZH-tw;q=0.11"), Language::ZhTw);
        check(Some("zh;q=x, en;q=0.001"), Language::En);
        check(Some("fr"), Language::En);
    }

    #[test]
    fn ranges_beyond_the_limit_are_not_read() {
        let fill = "fr,".repeat(RANGES_MAX - 1);
        assert_eq!(Language::from_accept_language(Some(&format!("{fill}zh"))), Language::ZhTw);
        assert_eq!(Language::from_accept_language(Some(&format!("{fill}fr,zh"))), Language::En);
    }
}
