//! Which SKU a gated request is about. A request that could be read in two ways is refused, never guessed.

use super::body::{BODY_BYTES_MAX, is_encoded};
use super::path::CanonicalPath;
use super::reason::Reason;
use super::{form, json_field};
use crate::config::{RouteConfig, RouteKind, SkuSource};
use core::fmt;

/// Name of something on sale: 1 to 64 letters, digits and `. _ - : / # ~`.
///
/// Kept in lower case, and a number without leading zeros: some shop reads `a-1` as `A-1` or `007` as `7`, and such a
/// spelling must not lead past the gate.
///
/// ```
/// use shared::http::sku::Sku;
/// assert_eq!(Sku::parse("A-1"), Sku::parse("a-1"));
/// assert!(Sku::parse("A 1").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sku(String);

impl Sku {
    /// Reads a SKU.
    ///
    /// # Errors
    /// [`Reason::SkuTooLong`] past 64 bytes, [`Reason::SkuInvalid`] where it is empty or holds another character.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/#~".contains(&byte);
        if text.len() > SKU_BYTES_MAX {
            Err(Reason::SkuTooLong)
        } else if text.is_empty() || !text.bytes().all(allowed) {
            Err(Reason::SkuInvalid)
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.trim_start_matches('0');
            Ok(Self(if number.is_empty() { "0" } else { number }.to_owned()))
        } else {
            Ok(Self(text.to_ascii_lowercase()))
        }
    }

    /// The SKU in the spelling that is compared.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The parts of a gated request that may name its SKU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkuRequest<'r> {
    /// `Content-Type`, several fields joined by commas.
    pub content_type: Option<&'r str>,
    /// `Content-Encoding`, several fields joined by commas.
    pub content_encoding: Option<&'r str>,
    /// Query string without its question mark.
    pub query: Option<&'r str>,
    /// The body, read up to [`BODY_BYTES_MAX`] + 1 bytes, so that a longer one is seen. Empty where [`needs_body`] is
    /// false.
    pub body: &'r [u8],
}

/// Whether the SKU of this route stands in the body: only then is the body read, everything else streams.
pub fn needs_body(route: &RouteConfig) -> bool {
    matches!(&route.kind, RouteKind::Gated { sku: SkuSource::Json(_) | SkuSource::Form(_) })
}

/// The SKU that a gated request is about.
///
/// # Errors
/// A reason for each way in which the request can be unfit; the table of reasons tells them.
pub fn extract(route: &RouteConfig, path: &CanonicalPath, request: &SkuRequest<'_>) -> Result<Sku, Reason> {
    let RouteKind::Gated { sku } = &route.kind else { return Err(Reason::SkuMissing) };
    let query = request.query.unwrap_or_default();
    match sku {
        SkuSource::Json(names) => {
            let body = read_body(request, "application/json")?;
            let text = json_field::read(body, names)?;
            let leaf = names.last().map(String::as_str).unwrap_or_default();
            refuse_second_reading(query, leaf)?;
            Sku::parse(&text)
        }
        SkuSource::Form(name) => {
            let body = read_body(request, "application/x-www-form-urlencoded")?;
            refuse_second_reading(query, name)?;
            Sku::parse(&only(body, name)?)
        }
        SkuSource::Query(name) => {
            // A shop that merges query and form would see a second SKU in the body, which is not read here.
            if request.content_type.is_some_and(is_any_form) {
                return Err(Reason::ContentTypeUnsupported);
            }
            Sku::parse(&only(query, name)?)
        }
        SkuSource::Path(name) => {
            let text = route.pattern.capture(name, path).ok_or(Reason::SkuMissing)?;
            // Frameworks take a last `.json` for a format and not for a part of the name.
            if route.pattern.ends_with_name(name) && text.contains('.') {
                return Err(Reason::SkuInvalid);
            }
            Sku::parse(text)
        }
    }
}

/// Checks form and size of a body before it is parsed, cheapest first.
fn read_body<'r>(request: &SkuRequest<'r>, media_type: &str) -> Result<&'r str, Reason> {
    if is_encoded(request.content_encoding) {
        return Err(Reason::BodyCompressed);
    }
    if !request.content_type.is_some_and(|field| is_utf8_of(field, media_type)) {
        return Err(Reason::ContentTypeUnsupported);
    }
    if request.body.len() > BODY_BYTES_MAX {
        return Err(Reason::BodyTooLarge);
    }
    core::str::from_utf8(request.body).map_err(|_| Reason::BodyNotUtf8)
}

/// Whether the field is one media type, the wanted one, in UTF-8. Two joined fields are none.
fn is_utf8_of(field: &str, media_type: &str) -> bool {
    let mut parts = field.split(';').map(str::trim);
    let is_wanted = parts.next().is_some_and(|own| own.eq_ignore_ascii_case(media_type));
    let is_fit = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        !name.trim().eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
    };
    is_wanted && !field.contains(',') && parts.all(is_fit)
}

fn is_any_form(field: &str) -> bool {
    let field = field.to_ascii_lowercase();
    field.contains("application/x-www-form-urlencoded") || field.contains("multipart/form-data")
}

/// Some shops read body and query as one, so a field in both has two readings.
fn refuse_second_reading(query: &str, name: &str) -> Result<(), Reason> {
    match form::readings(query, name) {
        Ok(readings) if readings.is_empty() => Ok(()),
        _ => Err(Reason::BodyAmbiguous),
    }
}

fn only(text: &str, name: &str) -> Result<String, Reason> {
    let mut readings = form::readings(text, name).map_err(|_| Reason::BodyAmbiguous)?.into_iter();
    let first = readings.next().ok_or(Reason::SkuMissing)?;
    if readings.next().is_some() { Err(Reason::BodyAmbiguous) } else { Ok(first) }
}

const SKU_BYTES_MAX: usize = 64;
