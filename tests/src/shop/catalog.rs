//! What the two shops sell.

use axum::http::HeaderMap;

/// One of the two shops.
#[derive(Debug, PartialEq, Eq)]
pub struct ShopFront {
    /// Shop id, as in `fairgate.toml`: the audience of its passes.
    pub id: &'static str,
    pub title: &'static str,
    pub products: &'static [Product],
}

/// One product.
#[derive(Debug, PartialEq, Eq)]
pub struct Product {
    pub sku: &'static str,
    pub title: &'static str,
    pub price_cents: u32,
    /// Event whose pass is demanded before this goes into a cart.
    pub event: Option<&'static str>,
}

impl ShopFront {
    /// The shop that the buyer's host names: by its first label, alpha unless it says beta.
    pub fn of(headers: &HeaderMap) -> &'static Self {
        let host = ["x-forwarded-host", "host"]
            .iter()
            .find_map(|name| headers.get(*name)?.to_str().ok())
            .unwrap_or_default();
        let label = host.split(['.', ':']).next().unwrap_or_default();
        SHOPS.iter().find(|shop| shop.id == label).unwrap_or(&SHOPS[0])
    }

    pub fn product(&self, sku: &str) -> Option<&'static Product> {
        self.products.iter().find(|product| product.sku == sku)
    }
}

pub const SHOPS: [ShopFront; 2] = [
    ShopFront {
        id: "alpha",
        title: "Alpha Records",
        products: &[
            Product { sku: "A-1", title: "First pressing", price_cents: 4_500, event: Some("drop") },
            Product { sku: "A-2", title: "Signed poster", price_cents: 3_000, event: Some("drop") },
            Product { sku: "A-3", title: "Tote bag", price_cents: 1_200, event: None },
        ],
    },
    ShopFront {
        id: "beta",
        title: "Beta Ceramics",
        products: &[
            Product { sku: "B-1", title: "Moon jar", price_cents: 12_000, event: Some("beta-drop") },
            Product { sku: "B-2", title: "Tea bowl", price_cents: 2_800, event: None },
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_label_names_the_shop() {
        let check = |host: &str, shop: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", "127.0.0.1:8702".parse().unwrap());
            headers.insert("x-forwarded-host", host.parse().unwrap());
            assert_eq!(ShopFront::of(&headers).id, shop, "{host}");
        };
        check("localhost:8700", "alpha");
        check("alpha.localhost:8700", "alpha");
        check("beta.localhost:8700", "beta");
        check("betamax.localhost", "alpha");
        assert_eq!(ShopFront::of(&HeaderMap::new()).id, "alpha");
    }
}
