//! What a configuration may say, and most likely does not mean.

use super::{Config, RouteConfig, RouteKind, ShopConfig};
use crate::gate::REPLY_TIME_MAX;
use crate::http::body::BODY_TIME_MAX;
use crate::limiter::Policy;

impl Config {
    /// Sentences about settings that are legal and most likely a mistake.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for everybody in self.site.trusted_proxies.iter().filter(|network| network.prefix_len() == 0) {
            warnings.push(format!(
                "site.trusted_proxies holds {everybody}: whoever connects may choose the address that limits count by; \
                 name your proxies"
            ));
        }
        for shop in &self.shops {
            if self.shop_of_host(shop.origin.authority()).is_some() {
                warnings.push(format!(
                    "shop {}: its origin {} is a host of the edge itself: outside of Cloudflare's routes the edge would \
                     ask itself without end",
                    shop.id, shop.origin
                ));
            }
            warnings.extend(idle_bypasses(shop));
            warnings.extend(short_permits(shop));
        }
        for event in &self.events {
            let is_gated = self.shop(&event.shop_id).is_some_and(|shop| gated(shop).next().is_some());
            if !is_gated {
                warnings.push(format!(
                    "event {}: shop {} has no gated route, so nobody needs a pass and nobody waits",
                    event.id, event.shop_id
                ));
            }
        }
        warnings
    }
}

/// Permits that may end while what they stand for goes on.
fn short_permits(shop: &ShopConfig) -> Vec<String> {
    let lists = shop.routes.iter().map(|route| &route.limits).chain([&shop.limits]);
    let mut warnings = Vec::new();
    for policy in lists.flatten().flat_map(|choice| &choice.policies) {
        let Policy::Concurrency(permits) = policy.limiter else { continue };
        let (life, longest) = (permits.life(), BODY_TIME_MAX.saturating_add(REPLY_TIME_MAX));
        let warning = format!(
            "shop {}: permits of {} end after {} s, and a request may take {} s; then more than {} are at the shop",
            shop.id,
            policy.name,
            life.as_secs(),
            longest.as_secs(),
            permits.permits()
        );
        if life < longest && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

fn gated(shop: &ShopConfig) -> impl Iterator<Item = &RouteConfig> {
    shop.routes.iter().filter(|route| matches!(route.kind, RouteKind::Gated { .. }))
}

/// Bypasses of what is gated, which open no gate.
fn idle_bypasses(shop: &ShopConfig) -> Vec<String> {
    let bypasses = shop.routes.iter().filter(|route| route.kind == RouteKind::Bypass);
    let pairs = bypasses.flat_map(|bypass| gated(shop).map(move |gated| (bypass, gated)));
    let share = |bypass: &RouteConfig, gated: &RouteConfig| {
        gated.methods.is_empty() || gated.methods.iter().any(|method| bypass.accepts(method))
    };
    pairs
        .filter(|(bypass, gated)| bypass.pattern.overlaps(&gated.pattern) && share(bypass, gated))
        .map(|(bypass, gated)| {
            format!(
                "shop {}: the bypass {} opens nothing where {} is gated, because the gate comes first",
                shop.id, bypass.id, gated.id
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: &str = include_str!("../../../tests/demo/fairgate.toml");

    #[track_caller]
    fn check(replaced: &str, by: &str, expected: &[&str]) {
        assert!(DEMO.contains(replaced));
        let warnings = Config::parse("f", &DEMO.replace(replaced, by)).unwrap().warnings();
        assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.contains(expected), "{warning}");
        }
    }

    #[test]
    fn what_is_most_likely_a_mistake_is_told() {
        check("", "", &[]);
        let trusted = "trusted_proxies = []";
        check(trusted, "trusted_proxies = [\"10.0.0.0/8\", \"0.0.0.0/0\"]", &["holds 0.0.0.0/0"]);
        check(trusted, "trusted_proxies = [\"::/0\"]", &["holds ::/0"]);
        check(
            "path = \"/health\"",
            "path = \"/CART//items\"",
            &["the bypass /cart/items opens nothing where POST /cart/items"],
        );
        check(
            "origin = \"http://127.0.0.1:8702\"",
            "origin = \"http://LOCALHOST:8700\"",
            &["shop alpha: its origin http://localhost:8700", "shop beta: its origin"],
        );
        let limited = |life_s: u32| {
            format!(
                "path = \"/health\"\nlimits = [\"places\"]\n\n[[policy]]\nname = \"places\"\nkey = \"shop\"\n\
                 algorithm = \"concurrency\"\npermits = 5\nlife_s = {life_s}\n"
            )
        };
        let open = "path = \"/health\"\nbypass = true\n";
        check(
            open,
            &limited(39),
            &["permits of places end after 39 s, and a request may take 40 s; then more than 5"],
        );
        check(open, &limited(40), &[]);
        let ungated = DEMO.split("[[shop]]").nth(2).unwrap().split("[[event]]").next().unwrap();
        let without_routes = ungated.split("[[shop.route]]").next().unwrap();
        check(ungated, without_routes, &["event beta-drop: shop beta has no gated route"]);
    }
}
