//! One field of a JSON body, with every key on its way seen exactly once.

use super::path::fold_case;
use super::reason::Reason;
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The text at `path` in a JSON object, outermost name first.
///
/// Names are compared without regard to case, because .NET reads them so. A name on the way that occurs twice is refused:
/// some readers take the first, some the last.
///
/// # Errors
/// [`Reason::BodyInvalid`] for broken JSON, [`Reason::BodyAmbiguous`] for a repeated name on the way,
/// [`Reason::SkuNotText`] where the value is no string or something on the way is no object, [`Reason::SkuMissing`].
pub(super) fn read(body: &str, path: &[String]) -> Result<String, Reason> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let found = Field { path }.deserialize(&mut deserializer).map_err(|_| Reason::BodyInvalid)?;
    deserializer.end().map_err(|_| Reason::BodyInvalid)?;
    match found {
        Found::Text(text) => Ok(text),
        Found::Missing => Err(Reason::SkuMissing),
        Found::NotText => Err(Reason::SkuNotText),
        Found::Repeated => Err(Reason::BodyAmbiguous),
    }
}

enum Found {
    Text(String),
    Missing,
    NotText,
    Repeated,
}

/// Reads a value to its end in every case, so that broken JSON behind the field is seen too.
#[derive(Clone, Copy)]
struct Field<'p> {
    path: &'p [String],
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let next = self.path.split_first();
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            match next {
                Some((name, rest)) if fold_case(&key) == fold_case(name) => {
                    let value = map.next_value_seed(Field { path: rest })?;
                    found = Some(if found.is_some() { Found::Repeated } else { value });
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let without = if next.is_none() { Found::NotText } else { Found::Missing };
        Ok(found.unwrap_or(without))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Found::NotText)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Found, E> {
        Ok(if self.path.is_empty() { Found::Text(text.to_owned()) } else { Found::NotText })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Found, E> {
        Ok(Found::NotText)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Found, E> {
        Ok(Found::NotText)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Found, E> {
        Ok(Found::NotText)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Found, E> {
        Ok(Found::NotText)
    }

    fn visit_unit<E: Error>(self) -> Result<Found, E> {
        Ok(Found::NotText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &[&str], body: &str, expected: Result<&str, Reason>) {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(read(body, &path).as_deref().map_err(|reason| *reason), expected, "{body}");
    }

    #[test]
    fn a_field_is_found_once_or_refused() {
        let sku = &["sku"];
        check(sku, r#"{"sku":"A-1","qty":1}"#, Ok("A-1"));
        check(sku, r#"{"qty":{"sku":"B"},"SKU":"A-1"}"#, Ok("A-1"));
        check(sku, r#"{"\u0073ku":"\u0041"}"#, Ok("A"));
        check(sku, r#"{"sku":"A","sku":"A"}"#, Err(Reason::BodyAmbiguous));
        check(sku, r#"{"sku":"A","x":1,"Sku":"B"}"#, Err(Reason::BodyAmbiguous));
        check(sku, r#"{"sku":1,"s\u006bu":"B"}"#, Err(Reason::BodyAmbiguous));
        check(sku, r#"{"ſku":"A","sku":"B"}"#, Err(Reason::BodyAmbiguous));
        check(sku, r#"{"x":"A"}"#, Err(Reason::SkuMissing));
        check(sku, "{}", Err(Reason::SkuMissing));
        for other in ["1", "1.5", "-1", "1e400", "true", "null", "[\"A\"]", "{\"a\":\"A\"}"] {
            let expected = if other == "1e400" { Reason::BodyInvalid } else { Reason::SkuNotText };
            check(sku, &format!("{{\"sku\":{other}}}"), Err(expected));
        }
    }

    #[test]
    fn names_on_the_way_must_be_single_too() {
        let path = &["item", "sku"];
        check(path, r#"{"item":{"sku":"A"},"sku":"B"}"#, Ok("A"));
        check(path, r#"{"item":{"sku":"A"},"item":{}}"#, Err(Reason::BodyAmbiguous));
        check(path, r#"{"item":{"sku":"A","sku":"B"}}"#, Err(Reason::BodyAmbiguous));
        check(path, r#"{"item":"A"}"#, Err(Reason::SkuNotText));
        check(path, r#"{"item":[{"sku":"A"}]}"#, Err(Reason::SkuNotText));
        check(path, r#"{"item":{"qty":1}}"#, Err(Reason::SkuMissing));
    }

    #[test]
    fn broken_json_is_refused_wherever_it_breaks() {
        let bodies = [
            "",
            "{",
            "nul",
            r#"{"sku":"A""#,
            r#"{"sku":"A"} x"#,
            r#"{"sku":"A"}{}"#,
            r#"{"sku":"A",}"#,
            r#"{"sku":"A","x":}"#,
            "\u{feff}{\"sku\":\"A\"}",
            r"{'sku':'A'}",
            r#"{"sku":"\ud800"}"#,
            "{\"sku\":\"A\n\"}",
            r#"{/**/"sku":"A"}"#,
        ];
        for body in bodies {
            check(&["sku"], body, Err(Reason::BodyInvalid));
        }
        check(&["sku"], r#""sku""#, Err(Reason::SkuNotText));
        check(&["sku"], "[]", Err(Reason::SkuNotText));
        check(&["sku"], &format!(r#"{{"x":{},"sku":"A"}}"#, "[".repeat(16_000)), Err(Reason::BodyInvalid));
    }
}
