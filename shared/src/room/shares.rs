//! Which share of the calls each lane has now, by weights, floors and ceilings of those in which people wait.

use super::PPM;

/// What a lane may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Its weight, from 1.
    pub(super) weight: u32,
    pub(super) floor_pct: u32,
    pub(super) ceiling_pct: u32,
    /// People wait in it.
    pub(super) is_busy: bool,
}

/// Least and most share of a lane, in ppm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    least: u64,
    most: u64,
}

impl Claim {
    fn bounds(&self) -> Bounds {
        let ppm = |pct: u32| u64::from(pct).saturating_mul(PPM / 100);
        Bounds { least: ppm(self.floor_pct), most: ppm(self.ceiling_pct) }
    }
}

impl Bounds {
    /// A sixteenth inside, where the two leave room for it: how many of the called come is chance, and a floor that is aimed at exactly
    /// is missed every other time.
    fn inside(self) -> Self {
        let least = self.least.saturating_add(self.least >> 4);
        let most = if self.most == PPM { PPM } else { self.most.saturating_sub(self.most >> 4) };
        if least <= most { Self { least, most } } else { self }
    }

    fn clamp(self, share: u64) -> u64 {
        share.max(self.least).min(self.most)
    }
}

/// What is aimed at. Floors that take up all there is are aimed at as they are.
fn aims(claims: &[Claim]) -> Vec<Bounds> {
    let exact: Vec<Bounds> = claims.iter().map(Claim::bounds).collect();
    let inside: Vec<Bounds> = exact.iter().map(|bounds| bounds.inside()).collect();
    let busy = inside.iter().zip(claims).filter(|(_, claim)| claim.is_busy);
    let floors = busy.fold(0_u64, |sum, (bounds, _)| sum.saturating_add(bounds.least));
    if floors <= PPM { inside } else { exact }
}

/// The shares in ppm, from 1; those of idle lanes say nothing. Where ceilings leave something over, shares add up to less than the
/// whole, and only their proportions count: nothing is left uncalled.
///
/// As flexible boxes are laid out: shares by weight; whoever passes a bound gets the bound, first those on the side that is off by more;
/// the rest is shared anew among the others, until nobody passes a bound.
pub(super) fn shares(claims: &[Claim]) -> Vec<u64> {
    let aims = aims(claims);
    let mut fixed: Vec<Option<u64>> = claims.iter().map(|claim| (!claim.is_busy).then_some(0)).collect();
    while fixed.iter().any(Option::is_none) {
        let taken = fixed.iter().flatten().fold(0_u64, |sum, share| sum.saturating_add(*share));
        let all = || claims.iter().zip(&aims).zip(&fixed);
        let open = || all().filter(|(_, fixed)| fixed.is_none()).map(|(claim, _)| claim);
        let weights = open().fold(0_u64, |sum, (claim, _)| sum.saturating_add(claim.weight.max(1).into()));
        let rest = PPM.saturating_sub(taken);
        let by_weight =
            |claim: &Claim| rest.saturating_mul(claim.weight.max(1).into()).checked_div(weights).unwrap_or(0);
        let (lacking, exceeding) = open().fold((0_u64, 0_u64), |(lacking, exceeding), (claim, aim)| {
            let (share, bound) = (by_weight(claim), aim.clamp(by_weight(claim)));
            (
                lacking.saturating_add(bound.saturating_sub(share)),
                exceeding.saturating_add(share.saturating_sub(bound)),
            )
        });
        let lanes = claims.iter().zip(&aims).zip(&mut fixed);
        for ((claim, aim), fixed) in lanes.filter(|(_, fixed)| fixed.is_none()) {
            let (share, bound) = (by_weight(claim), aim.clamp(by_weight(claim)));
            let is_settled = match lacking.cmp(&exceeding) {
                core::cmp::Ordering::Greater => bound > share,
                core::cmp::Ordering::Less => bound < share,
                core::cmp::Ordering::Equal => true,
            };
            if is_settled {
                *fixed = Some(bound);
            }
        }
    }
    fixed.into_iter().map(|share| share.unwrap_or(0).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(weight: u32, floor_pct: u32, ceiling_pct: u32) -> Claim {
        Claim { weight, floor_pct, ceiling_pct, is_busy: true }
    }

    fn idle(claim: Claim) -> Claim {
        Claim { is_busy: false, ..claim }
    }

    #[test]
    fn weights_share_within_bounds_and_the_rest_goes_to_the_others() {
        for (claims, want) in [
            (vec![claim(1, 0, 100), claim(3, 0, 100)], vec![250_000, 750_000]),
            (vec![claim(1, 32, 100), claim(9, 0, 100)], vec![340_000, 660_000]),
            (vec![claim(1, 0, 100), claim(9, 0, 64)], vec![400_000, 600_000]),
            (vec![claim(1, 0, 100), claim(1, 0, 100), claim(8, 0, 64)], vec![200_000, 200_000, 600_000]),
            (vec![claim(1, 16, 100), claim(1, 0, 100), claim(98, 0, 64)], vec![200_000, 200_000, 600_000]),
            (vec![claim(1, 60, 100), claim(1, 40, 100)], vec![600_000, 400_000]),
            (vec![claim(9, 0, 100), claim(1, 32, 33)], vec![680_000, 320_000]),
        ] {
            assert_eq!(shares(&claims), want, "{claims:?}");
        }
    }

    #[test]
    fn what_nobody_waits_for_flows_on() {
        assert_eq!(shares(&[idle(claim(1, 30, 100)), claim(1, 0, 100)])[1], 1_000_000);
        let capped = shares(&[idle(claim(1, 0, 100)), claim(1, 0, 20), claim(1, 0, 40)]);
        assert_eq!(capped[1..], [187_500, 375_000], "one to two, whatever is left over");
    }

    #[test]
    fn any_claims_settle_and_keep_floors_and_ceilings() {
        for seed in 0..2_000_u32 {
            let part = |shift: u32, of: u32| (seed.wrapping_mul(2_654_435_761) >> shift) % of;
            let claims = [
                claim(1 + part(0, 1_000), part(3, 30), 30 + part(5, 71)),
                claim(1 + part(7, 10), part(9, 30), 30 + part(11, 71)),
                claim(1 + part(13, 50), part(15, 40), 40 + part(17, 61)),
            ];
            let shares = shares(&claims);
            assert!(shares.iter().sum::<u64>() <= 1_000_003, "{claims:?}: {shares:?}");
            for (claim, share) in claims.iter().zip(&shares) {
                assert!(*share + 2 >= u64::from(claim.floor_pct) * 10_000, "{claims:?}: {shares:?}");
                assert!(*share <= u64::from(claim.ceiling_pct) * 10_000, "{claims:?}: {shares:?}");
            }
        }
    }
}
