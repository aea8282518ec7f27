//! The address of a client, as far as it can be believed.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use ipnet::IpNet;

/// Most entries of `X-Forwarded-For` that are walked over; a longer chain of trusted hops is taken to end there.
pub const HOPS_MAX: usize = 16;

/// Where a request comes from, with IPv4 inside IPv6 unwrapped.
///
/// ```
/// use shared::http::client::{ClientAddress, Ipv6Prefix};
/// let mapped = ClientAddress::from_peer("::ffff:192.0.2.1".parse().unwrap());
/// assert_eq!(mapped.ip().to_string(), "192.0.2.1");
/// let home = |text: &str| ClientAddress::from_peer(text.parse().unwrap()).network(Ipv6Prefix::Bits64);
/// assert_eq!(home("2001:db8:1:2::1"), home("2001:db8:1:2:ffff::9"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(IpAddr);

/// What limits count by for an address: the version (4 or 6), then the IPv4 address, or the prefix with zeros behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub [u8; 9]);

/// How much of an IPv6 address is one client. Whoever has a line of their own has a whole /64 at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ipv6Prefix {
    /// A /64.
    #[default]
    Bits64,
    /// A /56: what many providers give a home.
    Bits56,
    /// A /48: what many providers give a site.
    Bits48,
}

impl ClientAddress {
    /// The address of a peer whom no proxy speaks for.
    pub fn from_peer(peer: IpAddr) -> Self {
        Self(unwrapped(peer))
    }

    /// The client behind `peer`: the nearest address, from the peer leftwards through `forwarded_for`, that is not one of
    /// ours.
    ///
    /// An entry counts only when everything right of it is inside `trusted`, so a client cannot choose its address. An
    /// entry that is no address ends the walk at the trusted hop that sent it, as does the end of the list.
    ///
    /// `forwarded_for` holds the values of all `X-Forwarded-For` lines in their order; an entry is an address, also with
    /// a port.
    pub fn from_forwarded<'a>(
        peer: IpAddr,
        forwarded_for: impl DoubleEndedIterator<Item = &'a str>,
        trusted: &[IpNet],
    ) -> Self {
        let mut client = unwrapped(peer);
        let entries = forwarded_for.rev().flat_map(|line| line.rsplit(','));
        for entry in entries.take(HOPS_MAX) {
            if !trusted.iter().any(|network| network.contains(&client)) {
                break;
            }
            let Some(address) = parse_entry(entry.trim()) else { break };
            client = unwrapped(address);
        }
        Self(client)
    }

    /// The address itself, for what is forwarded and logged.
    pub fn ip(&self) -> IpAddr {
        self.0
    }

    /// The network that is one client.
    pub fn network(&self, prefix: Ipv6Prefix) -> Network {
        let (version, network) = match self.0 {
            IpAddr::V4(address) => (4, u64::from(address.to_bits())),
            IpAddr::V6(address) => (6, u64::try_from(address.to_bits() >> 64).unwrap_or(0) & prefix.mask()),
        };
        let mut bytes = [version; 9];
        let [_, rest @ ..] = &mut bytes;
        *rest = network.to_be_bytes();
        Network(bytes)
    }
}

impl Ipv6Prefix {
    /// Reads the word of the configuration.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "/64" => Ok(Self::Bits64),
            "/56" => Ok(Self::Bits56),
            "/48" => Ok(Self::Bits48),
            _ => Err("write \"/64\", \"/56\" or \"/48\""),
        }
    }

    /// The bits of the upper half of an address that name the client.
    const fn mask(self) -> u64 {
        match self {
            Self::Bits64 => u64::MAX,
            Self::Bits56 => u64::MAX << 8,
            Self::Bits48 => u64::MAX << 16,
        }
    }
}

/// An address, `address:port`, or `[address]` with or without a port.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    if let Ok(address) = entry.parse() {
        return Some(address);
    }
    if let Some(bracketed) = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return bracketed.parse().ok().map(IpAddr::V6);
    }
    entry.parse().ok().map(|socket: SocketAddr| socket.ip())
}

/// IPv4 where the address only wraps one: mapped (`::ffff:0:0/96`, RFC 4291) or NAT64 (`64:ff9b::/96`, RFC 6052).
fn unwrapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => wrapped_ipv4(address).map_or(IpAddr::V6(address), IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn wrapped_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.octets() {
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d)),
        _ => address.to_ipv4_mapped(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUSTED: [&str; 3] = ["10.0.0.0/8", "192.0.2.7/32", "2001:db8:ffff::/48"];

    fn check(peer: &str, forwarded_for: &[&str], client: &str) {
        let trusted = TRUSTED.map(|network| network.parse().unwrap());
        let walked =
            ClientAddress::from_forwarded(peer.parse().unwrap(), forwarded_for.iter().copied(), &trusted);
        assert_eq!(walked.ip().to_string(), client, "{peer} after {forwarded_for:?}");
    }

    #[test]
    fn what_a_client_writes_itself_counts_for_nothing() {
        check("10.0.0.1", &["203.0.113.66, 198.51.100.5"], "198.51.100.5");
        check("10.0.0.1", &["10.9.9.9, 198.51.100.5, 10.0.0.2"], "198.51.100.5");
        // Several lines are one list, in their order.
        check("10.0.0.1", &["203.0.113.66", "198.51.100.5, 192.0.2.7"], "198.51.100.5");
    }

    #[test]
    fn a_peer_that_is_no_proxy_of_ours_speaks_for_itself_only() {
        check("198.51.100.5", &["203.0.113.66"], "198.51.100.5");
        check("192.0.2.8", &["10.0.0.1"], "192.0.2.8");
    }

    #[test]
    fn the_list_may_end_among_our_own() {
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3");
    }

    #[test]
    fn a_malformed_entry_ends_the_walk_at_the_hop_that_sent_it() {
        for malformed in
            ["", "unknown", "_hidden", "198.51.100", "198.51.100.5:x", "[2001:db8::1", "fe80::1%eth0"]
        {
            check("10.0.0.1", &[&format!("203.0.113.66, {malformed}, 10.0.0.2")], "10.0.0.2");
        }
    }

    #[test]
    fn an_entry_may_carry_a_port_or_brackets() {
        for entry in
            ["198.51.100.5:4711", "::ffff:198.51.100.5", "[::ffff:198.51.100.5]", "[64:ff9b::c633:6405]:80"]
        {
            check("10.0.0.1", &[entry], "198.51.100.5");
        }
        check("10.0.0.1", &["[2001:db8::1]:443"], "2001:db8::1");
    }

    #[test]
    fn a_wrapped_peer_is_the_ipv4_peer() {
        check("::ffff:10.0.0.1", &["198.51.100.5"], "198.51.100.5");
        check("2001:db8:ffff::9", &["2001:db8::5"], "2001:db8::5");
        check("::ffff:192.0.2.9", &[], "192.0.2.9");
        check("64:ff9b::192.0.2.9", &[], "192.0.2.9");
        check("64:ff9b:1::192.0.2.9", &[], "64:ff9b:1::c000:209");
    }

    #[test]
    fn the_walk_ends_after_its_most_hops() {
        let chain = |hops: usize| format!("198.51.100.5{}", ", 10.0.0.2".repeat(hops));
        check("10.0.0.1", &[&chain(HOPS_MAX - 1)], "198.51.100.5");
        check("10.0.0.1", &[&chain(HOPS_MAX)], "10.0.0.2");
    }

    #[test]
    fn a_client_is_an_ipv4_address_or_an_ipv6_prefix() {
        let same = |a: &str, b: &str, prefix| {
            let [a, b] = [a, b].map(|text| ClientAddress::from_peer(text.parse().unwrap()).network(prefix));
            a == b
        };
        assert!(same("2001:db8:1:2::1", "2001:db8:1:2:a:b:c:d", Ipv6Prefix::Bits64));
        assert!(!same("2001:db8:1:2::1", "2001:db8:1:3::1", Ipv6Prefix::Bits64));
        assert!(same("2001:db8:1:2::1", "2001:db8:1:3::1", Ipv6Prefix::Bits56));
        assert!(!same("2001:db8:1:2::1", "2001:db8:1:102::1", Ipv6Prefix::Bits56));
        assert!(same("2001:db8:1:2::1", "2001:db8:1:ff02::1", Ipv6Prefix::Bits48));
        assert!(!same("2001:db8:1:2::1", "2001:db8:2:2::1", Ipv6Prefix::Bits48));
        assert!(!same("::ffff:192.0.2.1", "::ffff:192.0.2.9", Ipv6Prefix::Bits48));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1", Ipv6Prefix::Bits64));
        assert!(!same("::c000:201:0:0:0:0", "192.0.2.1", Ipv6Prefix::Bits64));
        let home = ClientAddress::from_peer("2001:db8:1:2::1".parse().unwrap());
        assert_eq!(home.network(Ipv6Prefix::default()), Network([6, 0x20, 1, 0xd, 0xb8, 0, 1, 0, 2]));
    }
}
