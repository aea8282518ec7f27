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

/// Values of all fields of this name, in any case, in their order: some shops ignore case, and some split at `;` too.
///
/// # Errors
/// [`Ambiguous`] where the name of a field holds a control character or bytes that are no UTF-8, because some readers cut a
/// name off there, and where a field may be taken for `name` without being spelled so: `name[]` for a list, a space in
/// front, `.`, `[` or a space for `_`.
pub fn readings(text: &str, name: &str) -> Result<Vec<String>, Ambiguous> {
    let (wanted, alias) = (fold_case(name), lenient(name));
    let mut values = Vec::new();
    for (own, value) in text.split(['&', ';']).map(pair) {
        if own.contains(|letter: char| letter.is_control() || letter == char::REPLACEMENT_CHARACTER) {
            return Err(Ambiguous);
        }
        let list = own.split('[').next().unwrap_or_default();
        if fold_case(&own) == wanted {
            values.push(value);
        } else if lenient(&own) == alias || lenient(list) == alias {
            return Err(Ambiguous);
        }
    }
    Ok(values)
}

/// Readers may take a field for another one than its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ambiguous;

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
    fold_case(name.trim()).replace(['.', ' ', '['], "_")
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
        let check = |text, name, expected: &[&str]| {
            assert_eq!(readings(text, name).unwrap(), expected, "{text}");
        };
        let ambiguous = |text: &str, name| assert_eq!(readings(text, name), Err(Ambiguous), "{text}");
        check("sku=A&sku=B", "sku", &["A", "B"]);
        check("SKU=A&%73ku=B", "sku", &["A", "B"]);
        check("x=1;sku=A", "sku", &["A"]);
        check("item[sku]=A&item[qty]=2", "item[sku]", &["A"]);
        check("sku2=A&ssku=B&sku_=C&=D", "sku", &[]);
        for text in
            ["sku[]=A", "sku[0]=B", "sku[x]=B", "+sku=A", "sku%20=A", "SKU[]=A", "sku%00=A", "sku%00x=A"]
        {
            ambiguous(text, "sku");
            let after_a_good_one = format!("sku=A&{text}");
            ambiguous(&after_a_good_one, "sku");
        }
        // Whatever the name was before it was cut off.
        ambiguous("other%00=A", "sku");
        ambiguous("sku%FF=A", "sku");
        ambiguous("sku%0A=A", "sku");
        for text in ["item.sku=A", "item+sku=A", "item[sku=A", "item%5Bsku=A"] {
            ambiguous(text, "item_sku");
        }
    }
}
