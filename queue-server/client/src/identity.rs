//! Who a request comes from, for the keys of its limits.

use http::request::Parts;
use ipnet::IpNet;
use shared::http::client::ClientAddress;
use std::net::IpAddr;

/// The text of a header field; `None` where it is missing, empty, not ASCII or there twice. Use it for fields that a part
/// before this service sets itself, never for what clients may write.
pub fn header(parts: &Parts, name: &str) -> Option<String> {
    let mut values = parts.headers.get_all(name).iter();
    let value = values.next()?.to_str().ok().filter(|value| !value.is_empty())?;
    values.next().is_none().then(|| value.to_owned())
}

/// The client's address behind `peer`, read over trusted hops only, right to left.
pub fn forwarded_address(parts: &Parts, peer: IpAddr, trusted: &[IpNet]) -> String {
    let lines: Vec<&str> =
        parts.headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok()).collect();
    ClientAddress::from_forwarded(peer, lines.into_iter(), trusted).ip().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    #[test]
    fn a_field_that_is_there_twice_tells_nothing() {
        let parts = |values: &[&str]| {
            let request =
                values.iter().fold(Request::builder(), |request, value| request.header("x-member", *value));
            request.body(()).unwrap().into_parts().0
        };
        assert_eq!(header(&parts(&["ann"]), "x-member"), Some("ann".to_owned()));
        assert_eq!(header(&parts(&["ann", "bob"]), "x-member"), None);
        assert_eq!(header(&parts(&[""]), "x-member"), None);
        assert_eq!(header(&parts(&[]), "x-member"), None);
    }

    #[test]
    fn a_client_cannot_choose_its_address() {
        let request = Request::builder().header("x-forwarded-for", "1.1.1.1, 198.51.100.7");
        let parts = request.body(()).unwrap().into_parts().0;
        let peer = "10.0.0.1".parse().unwrap();
        assert_eq!(forwarded_address(&parts, peer, &[]), "10.0.0.1");
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        assert_eq!(forwarded_address(&parts, peer, &trusted), "198.51.100.7");
    }
}
