//! The body of a buyer's call: JSON from scripts, a form from the waiting page without script.

use super::{call::Call, error::Refusal};
use axum::http::header;
use serde::{Deserialize, de::DeserializeOwned};
use shared::http::{body::is_encoded, form, navigation::return_path, reason::Reason};

/// What a buyer sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BuyerBody {
    Json,
    /// The answer is a redirect or a page; `return_to` is the shop's page to return to, its first page unless told.
    Form {
        return_to: String,
    },
}

#[derive(Deserialize)]
struct JsonBody {
    /// The place of the device proof, which is not verified yet.
    proof: Option<serde_json::Value>,
}

/// Codes that the buyer typed.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Typed {
    /// An invitation.
    pub(super) code: Option<String>,
    /// What the buyer's other device shows, to have its place here.
    #[serde(rename = "move")]
    pub(super) moves: Option<String>,
}

pub(super) const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Longest device proof in bytes.
const PROOF_BYTES_MAX: usize = 4 * 1024;

/// Whether a page without script made this call, so that its answer is a page, too.
pub(super) fn is_form(call: &Call) -> bool {
    let content_type = call.header(header::CONTENT_TYPE).unwrap_or_default();
    media_type(content_type) == Some(FORM)
}

pub(super) fn read(call: &Call) -> Result<BuyerBody, Refusal> {
    let encodings = call.headers.get_all(header::CONTENT_ENCODING).iter();
    if encodings.into_iter().any(|encoding| is_encoded(Some(encoding.to_str().unwrap_or("unreadable")))) {
        return Err(Refusal::new(Reason::BodyCompressed));
    }
    let content_type = call.headers.get(header::CONTENT_TYPE);
    let Some(content_type) = content_type else {
        let reason = Reason::ContentTypeUnsupported;
        return if call.body.is_empty() { Ok(BuyerBody::Json) } else { Err(Refusal::new(reason)) };
    };
    let content_type = content_type.to_str().unwrap_or_default();
    match media_type(content_type) {
        Some(JSON) => read_json(&call.body),
        Some(FORM) => read_form(&call.body),
        _ => Err(Refusal::new(Reason::ContentTypeUnsupported)),
    }
}

/// The codes in a body that [`read`] has read; an empty field counts as none.
pub(super) fn typed(call: &Call) -> Result<Typed, Refusal> {
    let typed = if is_form(call) {
        let text = std::str::from_utf8(&call.body).map_err(|_| Refusal::new(Reason::BodyNotUtf8))?;
        Typed { code: form::first(text, "code"), moves: form::first(text, "move") }
    } else if call.body.trim_ascii().is_empty() {
        Typed::default()
    } else {
        json_object(&call.body)?
    };
    let told = |code: Option<String>| code.filter(|code| !code.trim().is_empty());
    Ok(Typed { code: told(typed.code), moves: told(typed.moves) })
}

/// The media type in lower case if it is one of ours and its charset, if any, is UTF-8.
pub(super) fn media_type(content_type: &str) -> Option<&'static str> {
    let mut parts = content_type.split(';').map(str::trim);
    let media = parts.next()?;
    let is_utf8 = |parameter: &str| {
        let charset =
            parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
        charset.is_none_or(|(_, value)| value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"))
    };
    let media = [JSON, FORM].into_iter().find(|known| known.eq_ignore_ascii_case(media))?;
    parts.all(is_utf8).then_some(media)
}

fn read_json(body: &[u8]) -> Result<BuyerBody, Refusal> {
    if body.trim_ascii().is_empty() {
        return Ok(BuyerBody::Json);
    }
    match json_object::<JsonBody>(body)?.proof {
        None | Some(serde_json::Value::Null) => Ok(BuyerBody::Json),
        Some(serde_json::Value::String(proof)) if proof.len() <= PROOF_BYTES_MAX => Ok(BuyerBody::Json),
        Some(_) => Err(Refusal::new(Reason::ProofInvalid)),
    }
}

/// Reads a JSON object. (A struct could also be read from an array, which no caller means.)
pub(super) fn json_object<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::new(Reason::BodyNotUtf8))?;
    let invalid = || Refusal::new(Reason::BodyInvalid);
    if !text.trim_start().starts_with('{') {
        return Err(invalid());
    }
    serde_json::from_str(text).map_err(|_| invalid())
}

fn read_form(body: &[u8]) -> Result<BuyerBody, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::new(Reason::BodyNotUtf8))?;
    Ok(BuyerBody::Form { return_to: return_to(form::first(text, "return")) })
}

/// The path to return to after the wait, if it stays in the shop; else the shop's first page.
pub(super) fn return_to(asked: Option<String>) -> String {
    asked.filter(|path| return_path(path).is_some()).unwrap_or_else(|| "/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(read: Result<BuyerBody, Refusal>) -> Reason {
        read.unwrap_err().reason
    }

    #[test]
    fn a_proof_has_a_place_and_a_greatest_length() {
        let with = |chars: usize| read_json(format!(r#"{{"proof":"{}"}}"#, "p".repeat(chars)).as_bytes());
        assert_eq!(with(PROOF_BYTES_MAX), Ok(BuyerBody::Json));
        assert_eq!(reason(with(PROOF_BYTES_MAX + 1)), Reason::ProofInvalid);
        assert_eq!(reason(read_json(br#"{"proof":7}"#)), Reason::ProofInvalid);
    }

    #[test]
    fn only_a_json_object_is_read() {
        for good in ["", " ", "{}", r#"{"other":[1]}"#, r#"{"proof":null}"#] {
            assert_eq!(read_json(good.as_bytes()), Ok(BuyerBody::Json), "{good}");
        }
        for bad in ["[]", "null", "{", "{}{}", r#"{"proof":"a","proof":"b"}"#] {
            assert_eq!(reason(read_json(bad.as_bytes())), Reason::BodyInvalid, "{bad}");
        }
        assert_eq!(reason(read_json(b"{\"a\":\"\xff\"}")), Reason::BodyNotUtf8);
    }

    #[test]
    fn a_form_returns_only_to_the_same_shop() {
        let returns = |form: &str| match read_form(form.as_bytes()).unwrap() {
            BuyerBody::Form { return_to } => return_to,
            BuyerBody::Json => panic!("a form is no JSON"),
        };
        assert_eq!(returns("return=%2Fproduct%3Fid%3D1"), "/product?id=1");
        assert_eq!(returns("return=%2F%2Fevil.example"), "/");
        assert_eq!(returns(""), "/");
    }

    #[test]
    fn the_charset_is_utf_8() {
        assert_eq!(media_type("Application/JSON; Charset=\"UTF-8\""), Some("application/json"));
        assert_eq!(media_type("application/json; charset=utf-16"), None);
        assert_eq!(media_type("text/plain"), None);
    }
}
