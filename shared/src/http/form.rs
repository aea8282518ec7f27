//! `application/x-www-form-urlencoded`, in bodies and query strings.

use super::path::{fold_case, percent_decode};

/// Value of the first field of exactly this name.
///
/// ```
/// use shared::http::form::first;
/// assert_eq!(first("a=1&return=%2Fcart%3Fx%3D1+2", "return").as_deref(), Some("/cart?x=1 2"));
/// ```
pub fn first(text: &str, name: &str) -> Option<String> {
    text.split('&').map(pair).find(|(own, _)| own == name).map(|(_, value)| value)
}

/// Values of all fields that some shop may take for `name`, in their order.
///
/// Readers differ: some ignore case, split at `;` too, take `name[]` for a list called `name`, drop leading spaces, or
/// read `.` and space as `_`. All of these count, so that a second reading is seen.
pub fn all_readings(text: &str, name: &str) -> Vec<String> {
    let wanted = lenient(name);
    let is_wanted = |own: &str| {
        let own = lenient(own);
        own == wanted || own.split('[').next() == Some(wanted.as_str())
    };
    text.split(['&', ';']).map(pair).filter(|(own, _)| is_wanted(own)).map(|(_, value)| value).collect()
}

fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (decode(name), decode(value))
}

/// A broken encoding stays as it stands, as browsers' parsers do; bytes that are no UTF-8 become U+FFFD.
fn decode(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode(&text).map_or(text, |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn lenient(name: &str) -> String {
    fold_case(name.trim_start()).replace(['.', ' '], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded() {
        let check = |text, expected| assert_eq!(first(text, "a").as_deref(), expected, "{text}");
        check("a=1", Some("1"));
        check("b=2&a=x%20y+z", Some("x y z"));
        check("%61=%E8%B3%BC", Some("購"));
        check("a", Some(""));
        check("a=1&a=2", Some("1"));
        check("a=%zz", Some("%zz"));
        check("A=1", None);
        check("", None);
    }

    #[test]
    fn every_reading_of_a_name_is_seen() {
        let check = |text, name, expected: &[&str]| assert_eq!(all_readings(text, name), expected, "{text}");
        check("sku=A&sku=B", "sku", &["A", "B"]);
        check("SKU=A&%73ku=B", "sku", &["A", "B"]);
        check("x=1;sku=A", "sku", &["A"]);
        check("sku[]=A&sku[0]=B", "sku", &["A", "B"]);
        check("+sku=A", "sku", &["A"]);
        check("item.sku=A&item+sku=B&item_sku=C", "item_sku", &["A", "B", "C"]);
        check("item[sku]=A&item[qty]=2", "item[sku]", &["A"]);
        check("sku2=A&ssku=B", "sku", &[]);
    }
}
