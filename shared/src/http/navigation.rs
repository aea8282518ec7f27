//! Whether a browser navigates, and where it may be sent back to.

/// Whether the request is a navigation, which gets a page instead of JSON.
///
/// `Sec-Fetch-Mode` decides where the browser sends it; otherwise an `Accept` that names `text/html`, because programs
/// send `*/*`.
pub fn is_navigation(sec_fetch_mode: Option<&str>, accept: Option<&str>) -> bool {
    if let Some(mode) = sec_fetch_mode {
        return mode.trim().eq_ignore_ascii_case("navigate");
    }
    accept.unwrap_or_default().split(',').take(MEDIA_RANGES_MAX).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_html = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("text/html"));
        is_html && !parts.any(is_quality_zero)
    })
}

/// The path to return to after the wait: the text itself if it can only lead to a page of the same shop, else `None`.
///
/// It must begin with one slash and hold visible ASCII only. Backslashes, doubled slashes and dot segments in the path
/// are refused, because some reader takes the rest for a host: in `/\evil`, or in `/.//evil` once it is shortened. At
/// most 2,048 bytes.
///
/// ```
/// use shared::http::navigation::return_path;
/// assert_eq!(return_path("/product/1?size=m"), Some("/product/1?size=m"));
/// assert_eq!(return_path("//evil.example"), None);
/// ```
pub fn return_path(text: &str) -> Option<&str> {
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if !visible || text.len() > RETURN_PATH_BYTES_MAX {
        return None;
    }
    let path = text.split(['?', '#']).next()?;
    let mut segments = path.strip_prefix('/')?.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        if (segment.is_empty() && !is_last) || is_dots(segment) {
            return None;
        }
    }
    Some(text)
}

/// Whether a URL parser takes the segment for `.` or `..`.
fn is_dots(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

fn is_quality_zero(parameter: &str) -> bool {
    let value = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    value
        .is_some_and(|value| value.starts_with('0') && !value.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
}

/// Longest return path in bytes.
pub const RETURN_PATH_BYTES_MAX: usize = 2048;

const MEDIA_RANGES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fetch_mode_decides_before_accept() {
        let check =
            |mode, accept, expected| assert_eq!(is_navigation(mode, accept), expected, "{mode:?} {accept:?}");
        check(Some("navigate"), None, true);
        check(Some("navigate"), Some("*/*"), true);
        check(Some("cors"), Some("text/html"), false);
        check(None, Some("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"), true);
        check(None, Some("application/json, TEXT/HTML;q=0.1"), true);
        check(None, Some("application/json, text/html;q=0.0"), false);
        check(None, Some("*/*"), false);
        check(None, Some("text/*"), false);
        check(None, Some("application/json"), false);
        check(None, None, false);
    }

    #[test]
    fn media_ranges_beyond_the_limit_are_not_read() {
        let fill = "a/b,".repeat(MEDIA_RANGES_MAX - 1);
        assert!(is_navigation(None, Some(&format!("{fill}text/html"))));
        assert!(!is_navigation(None, Some(&format!("{fill}a/b,text/html"))));
    }

    #[test]
    fn only_a_path_of_the_same_shop_is_returned_to() {
        for good in [
            "/",
            "/a",
            "/a/",
            "/a/b?x=1&y=//z",
            "/a%20b",
            "/a#top",
            "/?next=/b",
            "/.well-known/x",
            "/a?b=../..",
        ] {
            assert_eq!(return_path(good), Some(good));
        }
        let evil = [
            "",
            "a",
            "//",
            "//evil",
            "///evil",
            "/\\evil",
            "\\\\evil",
            "/a\\..\\b",
            "http://evil",
            "https:/evil",
            "javascript:alert(1)",
            "data:text/html,x",
            " /a",
            "/ a",
            "/\t/evil",
            "/\n/evil",
            "/\r\nSet-Cookie:x",
            "/\0",
            "/a\u{7f}",
            "/\u{3000}",
            "/é",
            "/./",
            "/..",
            "/../a",
            "/.//evil",
            "/..//evil",
            "/a/..//evil",
            "/%2e//evil",
            "/%2E%2e/evil",
            "/.%2e",
            "/a//b",
            "/a//",
            "?x",
            "#x",
        ];
        for text in evil {
            assert_eq!(return_path(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_return_path_has_a_greatest_length() {
        let longest = format!("/{}", "a".repeat(RETURN_PATH_BYTES_MAX - 1));
        assert_eq!(return_path(&longest), Some(longest.as_str()));
        assert_eq!(return_path(&format!("{longest}a")), None);
    }
}
