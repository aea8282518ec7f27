//! The SKU of a gated request: found in one reading, refused in two.

#![expect(clippy::unwrap_used, reason = "a test stops where its own input is wrong")]

use shared::config::{Config, RouteConfig};
use shared::http::body::BODY_BYTES_MAX;
use shared::http::path::CanonicalPath;
use shared::http::reason::Reason;
use shared::http::sku::{Sku, SkuRequest, extract, needs_body};

const JSON: Option<&str> = Some("application/json");
const FORM: Option<&str> = Some("application/x-www-form-urlencoded");

/// A gated route whose SKU stands at `source`.
fn route(path: &str, source: &str) -> RouteConfig {
    let text = format!(
        "[site]\npublic_url = \"http://localhost\"\n[edge]\nqueue_server = \"http://localhost:1\"\n[[shop]]\nid = \"a\"\n\
         hosts = [\"localhost\"]\norigin = \"http://localhost:2\"\n[[shop.route]]\nmethods = [\"POST\"]\npath = \"{path}\"\n\
         sku = {source}\n"
    );
    Config::parse("f", &text).unwrap().shops[0].routes[0].clone()
}

fn check(route: &RouteConfig, path: &str, request: &SkuRequest<'_>, expected: Result<&str, Reason>) {
    let sku = extract(route, &CanonicalPath::parse(path).unwrap(), request);
    assert_eq!(sku, expected.map(|text| Sku::parse(text).unwrap()), "{path} {request:?}");
}

#[test]
fn a_json_body_names_its_sku() {
    let route = route("/cart", "{ json = \"item.sku\" }");
    assert!(needs_body(&route));
    let check = |content_type, query, body: &str, expected| {
        let request = SkuRequest { content_type, query, body: body.as_bytes(), content_encoding: None };
        check(&route, "/cart", &request, expected);
    };
    let body = r#"{"item":{"sku":"A-1"}}"#;
    check(JSON, None, body, Ok("A-1"));
    check(Some("Application/JSON; Charset=\"UTF-8\""), None, body, Ok("A-1"));
    check(Some("application/json; odd"), None, body, Ok("A-1"));
    check(JSON, Some("utm=1"), body, Ok("A-1"));
    check(JSON, Some("sku=B-1"), body, Err(Reason::BodyAmbiguous));
    for content_type in [
        None,
        Some(""),
        FORM,
        Some("text/plain"),
        Some("application/json, text/plain"),
        Some("application/json,application/json"),
        Some("application/json; charset=utf-16"),
        Some("application/json; charset=utf-8; charset=big5"),
        Some("application/jsonp"),
        Some("application/problem+json"),
        Some("multipart/form-data; boundary=x"),
    ] {
        check(content_type, None, body, Err(Reason::ContentTypeUnsupported));
    }
    check(JSON, None, r#"{"item":{"sku":"A-1","SKU":"B-1"}}"#, Err(Reason::BodyAmbiguous));
    check(JSON, None, r#"{"item":{"sku":7}}"#, Err(Reason::SkuNotText));
    check(JSON, None, r#"{"item":{}}"#, Err(Reason::SkuMissing));
    check(JSON, None, "", Err(Reason::BodyInvalid));
    check(JSON, None, r#"{"item":{"sku":""}}"#, Err(Reason::SkuInvalid));
    check(JSON, None, r#"{"item":{"sku":" A-1"}}"#, Err(Reason::SkuInvalid));
    check(JSON, None, r#"{"item":{"sku":"Ａ-1"}}"#, Err(Reason::SkuInvalid));
}

#[test]
fn a_body_is_read_up_to_its_limit_and_never_decompressed() {
    let route = route("/cart", "{ json = \"sku\" }");
    let with_encoding = |content_encoding, expected| {
        let request =
            SkuRequest { content_type: JSON, content_encoding, query: None, body: br#"{"sku":"A-1"}"# };
        check(&route, "/cart", &request, expected);
    };
    with_encoding(Some(""), Ok("A-1"));
    with_encoding(Some("Identity"), Ok("A-1"));
    for encoding in ["gzip", "br", "deflate", "identity, gzip", "x"] {
        with_encoding(Some(encoding), Err(Reason::BodyCompressed));
    }
    let of_length = |bytes: usize, expected| {
        let body = format!("{{\"sku\":\"A-1\"{}}}", " ".repeat(bytes - 13));
        let request = SkuRequest { content_type: JSON, body: body.as_bytes(), ..SkuRequest::default() };
        check(&route, "/cart", &request, expected);
    };
    of_length(BODY_BYTES_MAX, Ok("A-1"));
    of_length(BODY_BYTES_MAX + 1, Err(Reason::BodyTooLarge));
    for body in [&b"{\"sku\":\"\xff\"}"[..], b"\xff\xfe{\x00}\x00", b"{\"sku\":\"\xc0\xaf\"}"] {
        let request = SkuRequest { content_type: JSON, body, ..SkuRequest::default() };
        check(&route, "/cart", &request, Err(Reason::BodyNotUtf8));
    }
}

#[test]
fn a_form_names_its_sku() {
    let route = route("/cart", "{ form = \"sku\" }");
    assert!(needs_body(&route));
    let check = |content_type, query, body: &str, expected| {
        let request = SkuRequest { content_type, query, body: body.as_bytes(), content_encoding: None };
        check(&route, "/cart", &request, expected);
    };
    check(FORM, None, "qty=1&sku=A-1", Ok("A-1"));
    check(Some("application/x-www-form-urlencoded;charset=UTF-8"), None, "SKU=a%2D1", Ok("A-1"));
    check(FORM, None, "sku=A-1&sku=A-1", Err(Reason::BodyAmbiguous));
    check(FORM, None, "sku=A-1&Sku=B-1", Err(Reason::BodyAmbiguous));
    check(FORM, None, "sku=B-1&sku[]=A-1", Err(Reason::BodyAmbiguous));
    // PHP cuts a name at NUL and reads the last field of a name: it would add B-1 past the gate of A-3.
    check(FORM, None, "sku=A-3&sku%00=B-1", Err(Reason::BodyAmbiguous));
    check(FORM, None, "sku[]=B-1", Err(Reason::BodyAmbiguous));
    check(FORM, None, "+sku=B-1", Err(Reason::BodyAmbiguous));
    check(FORM, Some("sku%00=B-1"), "sku=A-3", Err(Reason::BodyAmbiguous));
    check(FORM, Some("sku[x]=B-1"), "sku=A-3", Err(Reason::BodyAmbiguous));
    check(FORM, None, "sku=B-1;sku=A-1", Err(Reason::BodyAmbiguous));
    check(FORM, Some("sku=A-1"), "sku=B-1", Err(Reason::BodyAmbiguous));
    check(FORM, Some("sku=A-1"), "", Err(Reason::BodyAmbiguous));
    check(FORM, None, "qty=1", Err(Reason::SkuMissing));
    check(FORM, None, "", Err(Reason::SkuMissing));
    check(FORM, None, "sku=", Err(Reason::SkuInvalid));
    check(FORM, None, "sku=A+1", Err(Reason::SkuInvalid));
    check(FORM, None, "sku=%FF", Err(Reason::SkuInvalid));
    check(FORM, None, "sku=%zz", Err(Reason::SkuInvalid));
    check(JSON, None, "sku=A-1", Err(Reason::ContentTypeUnsupported));
    check(Some("multipart/form-data; boundary=x"), None, "sku=A-1", Err(Reason::ContentTypeUnsupported));
}

#[test]
fn a_query_names_its_sku() {
    let route = route("/cart", "{ query = \"sku\" }");
    assert!(!needs_body(&route));
    let check = |content_type, query, expected| {
        let request = SkuRequest { content_type, query, ..SkuRequest::default() };
        check(&route, "/cart", &request, expected);
    };
    check(None, Some("sku=A-1&qty=1"), Ok("A-1"));
    check(JSON, Some("sku=A-1"), Ok("A-1"));
    check(None, Some("sku=A-1&sku=B-1"), Err(Reason::BodyAmbiguous));
    check(None, Some("sku=A-1&sku%00=B-1"), Err(Reason::BodyAmbiguous));
    check(None, Some(""), Err(Reason::SkuMissing));
    check(None, None, Err(Reason::SkuMissing));
    // A shop that merges form and query might take the SKU of the unread form.
    check(FORM, Some("sku=A-1"), Err(Reason::ContentTypeUnsupported));
    check(
        Some("text/plain, Multipart/Form-Data; boundary=x"),
        Some("sku=A-1"),
        Err(Reason::ContentTypeUnsupported),
    );
}

#[test]
fn a_path_names_its_sku() {
    let inner = route("/cart/{sku}/add", "{ path = \"sku\" }");
    assert!(!needs_body(&inner));
    let none = SkuRequest::default();
    check(&inner, "/cart/A-1/add", &none, Ok("A-1"));
    check(&inner, "/cart/%41-1;x/add", &none, Ok("A-1"));
    check(&inner, "/cart/A.1/add", &none, Ok("A.1"));
    check(&inner, "/cart/A%20B/add", &none, Err(Reason::SkuInvalid));
    check(&inner, "/cart/A%20/add", &none, Ok("A"));
    check(&inner, "/cart", &none, Err(Reason::SkuMissing));
    let last = route("/cart/{sku}", "{ path = \"sku\" }");
    check(&last, "/cart/A-1", &none, Ok("A-1"));
    check(&last, "/cart/A-1.json", &none, Err(Reason::SkuInvalid));
}

#[test]
fn spellings_that_a_shop_may_take_for_one_sku_are_one() {
    let text = |sku: &str| Sku::parse(sku).map(|sku| sku.as_str().to_owned());
    assert_eq!(text("A-1").as_deref(), Ok("a-1"));
    assert_eq!(text("007").as_deref(), Ok("7"));
    assert_eq!(text("000").as_deref(), Ok("0"));
    assert_eq!(text("007a").as_deref(), Ok("007a"));
    assert_eq!(text(&"a".repeat(64)), Ok("a".repeat(64)));
    assert_eq!(text(&"a".repeat(65)), Err(Reason::SkuTooLong));
    for bad in ["", " ", "a b", "a\0", "a%2d1", "a,b", "a;b", "a&b", "+1", "é", "a\n"] {
        assert_eq!(text(bad), Err(Reason::SkuInvalid), "{bad:?}");
    }
}
