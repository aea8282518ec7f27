//! Which routes are limited by what, and which by nothing.

use super::words::{key_in_words, span, sustained};
use super::{Config, KeyPart, LimitChoice, PolicyConfig, PolicyMode, RouteConfig, RouteKind, ShopConfig};
use core::cmp::Ordering;
use core::fmt;
use std::sync::Arc;

/// What limits one route of a shop, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteCoverage {
    /// The shop.
    pub shop_id: String,
    /// The route's id; `None` for every request that no route names.
    pub route_id: Option<String>,
    /// What else is done with such a request.
    pub kind: CoverageKind,
    /// Whether anything refuses such a request.
    pub is_limited: bool,
    /// Each limit in one sentence.
    pub limits: Vec<String>,
    /// What binds in the long run: one caller, and everybody together.
    pub binding: Vec<String>,
    /// What is not limited, though somebody might think so.
    pub gaps: Vec<String>,
}

/// What is done with a request besides limiting it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageKind {
    /// It needs a pass.
    Gated,
    /// It goes to the shop.
    Open,
    /// It goes to the shop uncounted, whoever asks.
    Bypassed,
}

impl CoverageKind {
    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gated => "gated",
            Self::Open => "open",
            Self::Bypassed => "bypassed",
        }
    }
}

impl Config {
    /// What limits each route, in the order of the file, and for each shop what limits all other requests.
    pub fn coverage(&self) -> Vec<RouteCoverage> {
        let of_shop = |shop: &ShopConfig| {
            let routes = shop.routes.iter().map(|route| cover(shop, Some(route)));
            routes.chain([cover(shop, None)]).collect::<Vec<_>>()
        };
        self.shops.iter().flat_map(of_shop).collect()
    }
}

fn cover(shop: &ShopConfig, route: Option<&RouteConfig>) -> RouteCoverage {
    let limits = route.map_or(&shop.limits, |route| &route.limits);
    let kind = match route.map(|route| &route.kind) {
        Some(RouteKind::Gated { .. }) => CoverageKind::Gated,
        Some(RouteKind::Bypass) => CoverageKind::Bypassed,
        Some(RouteKind::Limited) | None => CoverageKind::Open,
    };
    RouteCoverage {
        shop_id: shop.id.clone(),
        route_id: route.map(|route| route.id.clone()),
        kind,
        is_limited: enforced(limits).next().is_some(),
        limits: limits.iter().map(choice_in_words).collect(),
        binding: binding(limits),
        gaps: if kind == CoverageKind::Bypassed { Vec::new() } else { gaps(shop, limits) },
    }
}

fn choice_in_words(choice: &LimitChoice) -> String {
    let words: Vec<String> = choice.policies.iter().map(|policy| policy.in_words()).collect();
    match words.as_slice() {
        [one] => one.clone(),
        several => format!("the first that applies of: {}", several.join(" ")),
    }
}

/// The enforced policy that lets the least through in the long run, of those about one caller and of the others.
fn binding(limits: &[LimitChoice]) -> Vec<String> {
    let tightest = |is_personal: bool| {
        let policies = limits.iter().filter_map(loosest);
        policies
            .filter(|policy| policy.key.is_personal() == is_personal)
            .min_by(|a, b| compare_sustained(a, b))
    };
    let who = [(true, "one caller"), (false, "everybody together")];
    let words = |(is_personal, who): (bool, &str)| {
        let policy = tightest(is_personal)?;
        let (cost, time) = sustained(&policy.limiter)?;
        Some(format!("{who}: {cost} each {}, by {}", span(time), policy.name))
    };
    who.into_iter().filter_map(words).collect()
}

/// Of policies of which one applies, the one that lets most through; `None` where one of them refuses nobody.
fn loosest(choice: &LimitChoice) -> Option<&PolicyConfig> {
    let policies = choice.policies.iter().map(AsRef::as_ref);
    let is_firm = policies.clone().all(|policy: &PolicyConfig| policy.mode == PolicyMode::Enforced);
    policies.max_by(|a, b| compare_sustained(a, b)).filter(|_| is_firm)
}

fn compare_sustained(a: &PolicyConfig, b: &PolicyConfig) -> Ordering {
    let rate = |policy: &PolicyConfig| {
        sustained(&policy.limiter).map(|(cost, time)| (u128::from(cost), time.as_micros()))
    };
    match (rate(a), rate(b)) {
        (Some((a_cost, a_us)), Some((b_cost, b_us))) => {
            a_cost.saturating_mul(b_us).cmp(&b_cost.saturating_mul(a_us))
        }
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// The choices that refuse whichever of their policies applies.
fn enforced(limits: &[LimitChoice]) -> impl Iterator<Item = &[Arc<PolicyConfig>]> {
    let policies = limits.iter().map(|choice| choice.policies.as_slice());
    policies.filter(|policies| policies.iter().all(|policy| policy.mode == PolicyMode::Enforced))
}

fn gaps(shop: &ShopConfig, limits: &[LimitChoice]) -> Vec<String> {
    let enforced: Vec<&[Arc<PolicyConfig>]> = enforced(limits).collect();
    if enforced.is_empty() {
        return vec!["nothing refuses such a request, however often it comes".to_owned()];
    }
    let mut gaps = Vec::new();
    if !enforced.iter().any(|policies| policies.last().is_some_and(|policy| counts_everybody(policy))) {
        let keys: Vec<String> = enforced
            .iter()
            .flat_map(|policies| policies.iter())
            .map(|policy| key_in_words(&policy.key))
            .collect();
        gaps.push(format!("a request is limited only by {}: without it, by nothing", keys.join(", ")));
    }
    // Of a list only the last is taken without its key.
    let mut last = enforced.iter().filter_map(|policies| policies.last());
    let by_member = last.find(|policy| policy.key.has(KeyPart::Member));
    if let (Some(policy), None) = (by_member, &shop.members) {
        let name = &policy.name;
        gaps.push(format!("edges know no members, so {name} counts by device there: write [shop.members]"));
    }
    gaps
}

/// Whether no request can do without a key of this policy: what clients present they may leave out.
fn counts_everybody(policy: &PolicyConfig) -> bool {
    let may_be_missing = |part: &KeyPart| matches!(part, KeyPart::Client | KeyPart::Device);
    !policy.key.parts().iter().any(may_be_missing)
}

impl fmt::Display for RouteCoverage {
    /// One line for the route, then one for each limit (`-`), for what binds (`=`) and for each gap (`!`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            CoverageKind::Gated => "needs a pass",
            CoverageKind::Open => "goes to the shop",
            CoverageKind::Bypassed => "bypassed: goes to the shop uncounted",
        };
        let route = self.route_id.as_deref().unwrap_or("everything else");
        write!(f, "{} {route}: {kind}", self.shop_id)?;
        if self.limits.is_empty() && self.kind != CoverageKind::Bypassed {
            f.write_str(", limited by nothing")?;
        }
        for limit in &self.limits {
            write!(f, "\n  - {limit}")?;
        }
        if !self.binding.is_empty() {
            write!(f, "\n  = in the long run {}", self.binding.join("; "))?;
        }
        for gap in self.gaps.iter().filter(|_| !self.limits.is_empty()) {
            write!(f, "\n  ! {gap}")?;
        }
        Ok(())
    }
}
