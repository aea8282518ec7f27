//! One spelling for every way to write a path.
//!
//! A shop may decode more than Fairgate, drop `;parameters`, merge slashes or ignore case. So a path is read the way the
//! most lenient shop would read it: then whatever some shop takes for a gated path is gated. Where two readers would
//! disagree about the segments themselves, the path is called ambiguous instead.

use super::reason::Reason;
use core::fmt::{self, Write as _};

/// A path as the most lenient reader reads it: decoded, in one case, without parameters, empty and dot segments, and
/// without spaces at the end of a segment.
///
/// ```
/// use shared::http::path::CanonicalPath;
/// let path = CanonicalPath::parse("//API/%63art/./items;id=1/?x=1").unwrap();
/// assert_eq!(path.to_string(), "/api/cart/items");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CanonicalPath {
    segments: Vec<String>,
    is_ambiguous: bool,
    /// The path up to an encoded `?` or `#`: a proxy that decodes it before it sends it on makes a query of the rest.
    before_query: Option<Box<Self>>,
}

impl CanonicalPath {
    /// Reads the path of a request target; a query or fragment behind it is ignored.
    ///
    /// # Errors
    /// [`Reason::PathInvalid`] where the path does not begin with a slash, is longer than 4,096 bytes, holds a space, a
    /// control or non-ASCII character, or a `%` without two hexadecimal digits, or encodes a control character.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let is_readable = path.len() <= PATH_BYTES_MAX && path.bytes().all(|byte| byte.is_ascii_graphic());
        let rest = path.strip_prefix('/').filter(|_| is_readable).ok_or(Reason::PathInvalid)?;

        let mut segments: Vec<String> = Vec::new();
        let mut is_ambiguous = false;
        let (mut climbs, mut is_merged) = (false, false);
        let mut raw_segments = rest.split('/').peekable();
        while let Some(raw) = raw_segments.next() {
            let decoded = decode_segment(raw).ok_or(Reason::PathInvalid)?;
            is_ambiguous |= decoded.contains(['/', '\\', '%', char::REPLACEMENT_CHARACTER]);
            let name = decoded.split(';').next().unwrap_or_default().trim_end_matches(' ');
            is_merged |= name.len() < decoded.len() || (name.is_empty() && raw_segments.peek().is_some());
            match name {
                "" | "." => {}
                ".." => {
                    climbs = true;
                    segments.pop();
                }
                _ => segments.push(fold_case(name)),
            }
        }
        // What `..` removes depends on whether the segment before it was merged away.
        is_ambiguous |= climbs && is_merged;
        let before_query = cut_at_encoded_query(path).map(Self::parse).transpose()?.map(Box::new);
        Ok(Self { segments, is_ambiguous, before_query })
    }

    /// Whether readers disagree about this path (an encoded slash, say), so that some may take it for a gated one.
    pub fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// Segments, decoded and in lower case.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }
}

impl fmt::Display for CanonicalPath {
    /// Writes the path with everything encoded that is not unreserved (RFC 3986 section 2.3).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.segments.is_empty() {
            return f.write_char('/');
        }
        for segment in &self.segments {
            f.write_char('/')?;
            for byte in segment.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    f.write_char(char::from(byte))?;
                } else {
                    write!(f, "%{byte:02X}")?;
                }
            }
        }
        Ok(())
    }
}

/// The path of a route, with `{name}` for a segment that varies: `/cart/{sku}/add`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoutePattern {
    segments: Vec<PatternSegment>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PatternSegment {
    Literal(String),
    Named(String),
}

/// A text that is not a route pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a path such as /cart/items or /cart/{{sku}}/add: whole segments, each name once, without query"
)]
pub struct InvalidRoutePattern;

impl RoutePattern {
    /// Reads a pattern. Names are `[a-z0-9_-]{1,32}`; other segments may be written in any spelling of the same path.
    ///
    /// # Errors
    /// [`InvalidRoutePattern`] where the path is malformed or ambiguous, a name occurs twice, or braces are misplaced.
    pub fn parse(text: &str) -> Result<Self, InvalidRoutePattern> {
        if text.contains(['?', '#', ';', ' ']) {
            return Err(InvalidRoutePattern);
        }
        let path = CanonicalPath::parse(&encode_non_ascii(text)).map_err(|_| InvalidRoutePattern)?;
        let mut segments = Vec::new();
        for segment in path.segments {
            let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            let segment = match name {
                Some(name) if is_name(name) => PatternSegment::Named(name.to_owned()),
                None if !segment.contains(['{', '}']) => PatternSegment::Literal(segment),
                _ => return Err(InvalidRoutePattern),
            };
            let is_repeated = matches!(segment, PatternSegment::Named(_)) && segments.contains(&segment);
            if is_repeated {
                return Err(InvalidRoutePattern);
            }
            segments.push(segment);
        }
        if path.is_ambiguous { Err(InvalidRoutePattern) } else { Ok(Self { segments }) }
    }

    /// Whether the path is this one.
    pub fn matches(&self, path: &CanonicalPath) -> bool {
        self.covers_with(path, |literal, segment| literal == segment)
    }

    /// Whether some shop may take the path for this one: like [`matches`](Self::matches), and the last segment may carry
    /// an extension, because frameworks read `/cart/items.json` as `/cart/items`. The path before an encoded `?` counts too.
    pub fn covers(&self, path: &CanonicalPath) -> bool {
        let is_covered = |path| {
            self.covers_with(path, |literal, segment| {
                segment.strip_prefix(literal).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        is_covered(path) || path.before_query.as_deref().is_some_and(is_covered)
    }

    /// Whether some path matches both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |(one, other): (&PatternSegment, &PatternSegment)| match (one, other) {
            (PatternSegment::Literal(one), PatternSegment::Literal(other)) => one == other,
            _ => true,
        };
        self.segments.len() == other.segments.len() && self.segments.iter().zip(&other.segments).all(meet)
    }

    /// The segment of a covered path that stands for `name`.
    pub fn capture<'p>(&self, name: &str, path: &'p CanonicalPath) -> Option<&'p str> {
        let is_named =
            |segment: &PatternSegment| matches!(segment, PatternSegment::Named(own) if own == name);
        let index = self.segments.iter().position(is_named)?;
        path.segments.get(index).map(String::as_str)
    }

    /// Whether the pattern ends with the segment of this name.
    pub fn ends_with_name(&self, name: &str) -> bool {
        matches!(self.segments.last(), Some(PatternSegment::Named(own)) if own == name)
    }

    /// Whether the pattern has a segment of this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.segments.iter().any(|segment| matches!(segment, PatternSegment::Named(own) if own == name))
    }

    /// Whether every path of this pattern lies under `prefix`, or some path of it may.
    pub fn may_be_under(&self, prefix: &CanonicalPath) -> bool {
        self.segments.len() >= prefix.segments.len()
            && self.segments.iter().zip(&prefix.segments).all(|(own, segment)| match own {
                PatternSegment::Named(_) => true,
                PatternSegment::Literal(literal) => literal == segment,
            })
    }

    fn covers_with(&self, path: &CanonicalPath, is_last_covered: impl Fn(&str, &str) -> bool) -> bool {
        let count = self.segments.len();
        let is_covered = |(index, (own, segment)): (usize, (&PatternSegment, &String))| match own {
            PatternSegment::Named(_) => true,
            PatternSegment::Literal(literal) if index.saturating_add(1) == count => {
                is_last_covered(literal, segment)
            }
            PatternSegment::Literal(literal) => literal == segment,
        };
        path.segments.len() == count && self.segments.iter().zip(&path.segments).enumerate().all(is_covered)
    }
}

impl fmt::Display for RoutePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.segments.is_empty() {
            return f.write_char('/');
        }
        for segment in &self.segments {
            match segment {
                PatternSegment::Literal(literal) => write!(f, "/{literal}")?,
                PatternSegment::Named(name) => write!(f, "/{{{name}}}")?,
            }
        }
        Ok(())
    }
}

/// What stands before the first `?` or `#` in percent-encoding.
fn cut_at_encoded_query(path: &str) -> Option<&str> {
    let is_mark = |text: &[u8]| matches!(text, b"%23" | b"%3f" | b"%3F");
    path.as_bytes().windows(3).position(is_mark).and_then(|index| path.get(..index))
}

/// One spelling for letters that some reader treats as equal: through upper to lower case, so that `ſ` is `s` and the
/// Kelvin sign is `k`. Character by character, because a whole text would lower a final sigma differently.
pub(crate) fn fold_case(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// The bytes of a percent-encoded text; `None` where a `%` is not followed by two hexadecimal digits.
pub(crate) fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (high, low) = (hex_digit(bytes.next()?)?, hex_digit(bytes.next()?)?);
            decoded.push((high << 4) | low);
        } else {
            decoded.push(byte);
        }
    }
    Some(decoded)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Bytes that are no UTF-8 become U+FFFD, which makes the path ambiguous: an old shop may read another encoding.
fn decode_segment(raw: &str) -> Option<String> {
    let decoded = percent_decode(raw)?;
    let has_control = decoded.iter().any(u8::is_ascii_control);
    (!has_control).then(|| String::from_utf8_lossy(&decoded).into_owned())
}

fn encode_non_ascii(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii() {
            encoded.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    (1..=32).contains(&text.len()) && text.bytes().all(allowed)
}

/// Longest path that is read, in bytes.
pub const PATH_BYTES_MAX: usize = 4096;
