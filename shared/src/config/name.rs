//! Names that the configuration gives.

use crate::ids::EventId;

/// A name of ours, as events have: `[a-z0-9-]{1,32}`.
pub(super) fn parse_name(text: &str) -> Result<String, &'static str> {
    let name = EventId::parse(text).map(|id| id.as_str().to_owned());
    name.map_err(|_| "a name is 1 to 32 characters of a-z, 0-9 and -")
}
