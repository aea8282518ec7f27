//! What a configuration may say, and most likely does not mean.

use super::{Config, RouteConfig, RouteKind, ShopConfig};

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
        let ungated = DEMO.split("[[shop]]").nth(2).unwrap().split("[[event]]").next().unwrap();
        let without_routes = ungated.split("[[shop.route]]").next().unwrap();
        check(ungated, without_routes, &["event beta-drop: shop beta has no gated route"]);
    }
}
