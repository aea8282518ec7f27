//! One spelling for every way to write a path.

use super::reason::Reason;

/// A path as the most lenient reader reads it: decoded, in one case, without empty and dot segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CanonicalPath {
    segments: Vec<String>,
    is_ambiguous: bool,
}

impl CanonicalPath {
    /// Reads the path of a request target; a query behind it is ignored.
    ///
    /// # Errors
    /// [`Reason::PathInvalid`] where the path is malformed.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let _ = text;
        Err(Reason::PathInvalid)
    }

    /// Whether readers disagree about this path (an encoded slash, say), so that it may be a gated one to some of them.
    pub fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// Segments, decoded and in lower case.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }
}

/// The path of a route, with `{name}` for a segment that varies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoutePattern {
    segments: Vec<PatternSegment>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PatternSegment {
    Literal(String),
    Named(String),
}
