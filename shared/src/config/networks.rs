//! Many networks, asked without a walk over them.

use core::net::IpAddr;
use ipnet::IpNet;

/// A set of networks, kept as disjoint prefixes in the order of their addresses.
///
/// ```
/// use shared::config::NetworkSet;
/// let set = NetworkSet::new(&["10.0.0.0/9".parse().unwrap(), "10.128.0.0/9".parse().unwrap()]);
/// assert_eq!(set.prefixes().len(), 1);
/// assert!(set.contains("10.200.0.1".parse().unwrap()));
/// assert!(!set.contains("11.0.0.0".parse().unwrap()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSet {
    prefixes: Vec<IpNet>,
}

impl NetworkSet {
    /// The set of these networks; what lies in another, or beside it and makes one with it, is merged.
    pub fn new(networks: &[IpNet]) -> Self {
        let mut prefixes = IpNet::aggregate(&networks.to_vec());
        prefixes.sort_unstable_by_key(IpNet::network);
        Self { prefixes }
    }

    /// Whether the address is in one of the networks: a binary search, however many there are.
    pub fn contains(&self, address: IpAddr) -> bool {
        let after = self.prefixes.partition_point(|prefix| prefix.network() <= address);
        let nearest = after.checked_sub(1).and_then(|index| self.prefixes.get(index));
        nearest.is_some_and(|prefix| prefix.contains(&address))
    }

    /// The merged networks, IPv4 first, in the order of their addresses.
    pub fn prefixes(&self) -> &[IpNet] {
        &self.prefixes
    }
}
