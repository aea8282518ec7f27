//! Who comes to a rush and when: everything that is left to chance, from one seed.

use super::history::BuyerKind;
use super::options::Options;
use std::net::Ipv4Addr;
use std::time::Duration;

/// What one buyer will do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub id: u32,
    pub kind: BuyerKind,
    pub address: Ipv4Addr,
    pub arrives_after: Duration,
    /// How long the buyer stays inside.
    pub session: Duration,
    /// Whether the ticket is tried once more after the purchase.
    pub tries_again: bool,
}

/// Plans of all buyers, in the order of their ids.
pub fn buyers(options: &Options) -> Vec<Plan> {
    let mut chance = fastrand::Rng::with_seed(options.seed);
    let plan = |id| Plan {
        id,
        kind: if chance.f64() < options.leave_share { BuyerKind::Leaves } else { BuyerKind::Stays },
        address: address(10, id),
        arrives_after: Duration::from_secs_f64(chance.f64() * options.arrive_over),
        session: Duration::from_secs_f64(options.session * (0.8 + 0.4 * chance.f64())),
        tries_again: chance.f64() < TRY_AGAIN_SHARE,
    };
    (0..options.buyers).map(plan).collect()
}

/// Plans of all bots. Bots of one device share an id, because they hold one ticket.
pub fn bots(options: &Options) -> Vec<Plan> {
    let plan = |nth: u32| {
        let device = nth / BOTS_PER_DEVICE;
        Plan {
            id: options.buyers + device,
            kind: BuyerKind::Bot,
            address: address(11, device),
            arrives_after: Duration::from_secs_f64(options.arrive_over / 10.0),
            session: Duration::ZERO,
            tries_again: false,
        }
    };
    (0..options.bots).map(plan).collect()
}

/// The `nth` address of the network `net.0.0.0/8`.
fn address(net: u8, nth: u32) -> Ipv4Addr {
    let [_, b, c, d] = (nth + 1).to_be_bytes();
    Ipv4Addr::new(net, b, c, d)
}

/// Bots that copy one device's cookies.
pub const BOTS_PER_DEVICE: u32 = 10;
const TRY_AGAIN_SHARE: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rush::options::tests::options;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_repeats_the_crowd() {
        let options = Options { buyers: 500, leave_share: 0.4, seed: 7, ..options() };
        assert_eq!(buyers(&options), buyers(&options));
        assert_ne!(buyers(&options), buyers(&Options { seed: 8, ..options.clone() }));
        let leave = buyers(&options).iter().filter(|plan| plan.kind == BuyerKind::Leaves).count();
        assert!((150..250).contains(&leave), "{leave} of 500 leave");
    }

    #[test]
    fn every_buyer_has_an_address_and_bots_share_some() {
        let options = Options { buyers: 300, bots: 25, ..options() };
        let addresses: BTreeSet<_> = buyers(&options).iter().map(|plan| plan.address).collect();
        assert_eq!(addresses.len(), 300);
        let devices: BTreeSet<_> = bots(&options).iter().map(|plan| (plan.id, plan.address)).collect();
        assert_eq!(devices.len(), 3);
    }
}
