//! What a request presents.

use crate::fixtures::{NOW_S, config, event, keys, place};
use shared::config::{Config, Credentials};
use shared::gate::{Buyer, COOKIE_BYTES_MAX};
use shared::http::client::{ClientAddress, Ipv6Prefix};
use shared::http::reason::Reason;
use shared::token::{DeviceId, Ticket};
use std::sync::LazyLock;

fn read<'r>(cookies: &'r str, authorization: Option<&'r str>) -> Result<Buyer<'r>, Reason> {
    static CONFIG: LazyLock<Config> = LazyLock::new(config);
    let address = ClientAddress::from_peer("192.0.2.1".parse().unwrap());
    let credentials = Credentials { authorization, ..Credentials::default() };
    Buyer::read(&CONFIG, keys().edge(), address, Some(cookies), &credentials)
}

fn ticket(number: u64) -> String {
    let ticket = Ticket {
        place: place(number),
        lobby: false,
        flagged: false,
        issued_at_s: u32::try_from(NOW_S).unwrap(),
        device: DeviceId([1; 16]).hash(),
        nonce: [0; 8],
    };
    keys().seal_ticket(&event(), &ticket).unwrap().into_string()
}

#[test]
fn the_first_device_cookie_that_verifies_counts() {
    let device = DeviceId([5; 16]);
    let sealed = keys().edge().seal_device(&device);
    let cookies = format!("a=1; fg-device=forged; fg-device={sealed}");
    assert_eq!(read(&cookies, None).unwrap().device, Some(device));
    assert_eq!(read("fg-device=forged", None).unwrap().device, None);
}

#[test]
fn cookies_have_a_greatest_length() {
    let longest = "a".repeat(COOKIE_BYTES_MAX);
    assert!(read(&longest, None).is_ok());
    assert_eq!(read(&format!("{longest}a"), None), Err(Reason::HeadersTooLarge));
}

#[test]
fn the_ticket_of_the_header_wins_and_a_foreign_one_is_told_from_none() {
    let find = |cookies: &str, authorization: Option<&str>| {
        let buyer = read(cookies, authorization).unwrap();
        buyer.ticket(&config(), keys().edge(), &event()).map(|found| found.ticket.place)
    };
    let (first, second) = (ticket(1), ticket(2));
    let (cookie, header) = (format!("fg-ticket-drop={first}"), format!("Ticket {second}"));
    assert_eq!(find(&cookie, None), Ok(place(1)));
    assert_eq!(find(&cookie, Some(&header)), Ok(place(2)));
    assert_eq!(find(&cookie, Some("Bearer x")), Ok(place(1)));
    assert_eq!(find("", None), Err(Reason::NoTicket));
    assert_eq!(find(&cookie.replace("drop", "other"), None), Err(Reason::NoTicket));
    assert_eq!(
        find(&format!("fg-ticket-drop={}", first.replace('A', "B")), None),
        Err(Reason::TicketInvalid)
    );
}

#[test]
fn how_much_of_an_ipv6_address_is_one_client_is_configured() {
    let is_one = |ipv6_prefix: Ipv6Prefix| {
        let mut config = config();
        config.site.ipv6_prefix = ipv6_prefix;
        let network = |address: &str| {
            let address = ClientAddress::from_peer(address.parse().unwrap());
            Buyer::read(&config, keys().edge(), address, None, &Credentials::default()).unwrap().network
        };
        network("2001:db8:0:1::1") == network("2001:db8:0:ff::1")
    };
    assert_eq!(config().site.ipv6_prefix, Ipv6Prefix::Bits64);
    assert_eq!([Ipv6Prefix::Bits64, Ipv6Prefix::Bits56].map(is_one), [false, true]);
}
