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
/// let home = |text: &str| ClientAddress::from_peer(text.parse().unwrap()).identity(Ipv6Prefix::Bits64);
/// assert_eq!(home("2001:db8:1:2::1"), home("2001:db8:1:2:ffff::9"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(IpAddr);

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

    /// What limits count by: the version (4 or 6), then 8 bytes: the IPv4 address, or the prefix with zeros behind it.
    pub fn identity(&self, prefix: Ipv6Prefix) -> [u8; 9] {
        let (version, network) = match self.0 {
            IpAddr::V4(address) => (4, u64::from(address.to_bits())),
            IpAddr::V6(address) => (6, u64::try_from(address.to_bits() >> 64).unwrap_or(0) & prefix.mask()),
        };
        let mut identity = [version; 9];
        let [_, bytes @ ..] = &mut identity;
        *bytes = network.to_be_bytes();
        identity
    }
}

impl Ipv6Prefix {
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
