//! `[[origin]]`: a shop's own server whose health decides how many sessions its rooms let in.

use super::section::Section;
use super::unique::Unique;
use super::{ShopConfig, WebOrigin};
use crate::origin::OriginSettings;
use core::time::Duration;

/// One watched server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginConfig {
    /// The `origin` of at least one shop.
    pub url: WebOrigin,
    /// What it is meant to bear.
    pub settings: OriginSettings,
}

impl OriginConfig {
    pub(super) fn read_all(root: &mut Section<'_>, shops: &[ShopConfig]) -> Vec<Self> {
        let mut names = Unique::new();
        let mut origins = Vec::new();
        for mut section in root.tables("origin", ORIGINS_MAX) {
            let value = section.required("url", "\"<the origin of a [[shop]]>\"");
            let url = value.as_ref().and_then(|value| value.parsed(WebOrigin::parse));
            let target_latency_ms = section.number("target_latency_ms", 1..=30_000);
            let capacity_max = section.number("capacity", 1..=1_000_000);
            let capacity_min = section.number_or("capacity_min", 1..=capacity_max.max(1), 1);
            if let (Some(value), Some(url)) = (value, url) {
                if !shops.iter().any(|shop| shop.origin == url) {
                    value.error("no [[shop]] has this origin");
                }
                names.claim(&url.as_str(), &value);
                let target_latency = Duration::from_millis(target_latency_ms.into());
                let settings = OriginSettings { target_latency, capacity_min, capacity_max };
                origins.push(Self { url, settings });
            }
            section.finish();
        }
        origins
    }
}

const ORIGINS_MAX: usize = 100;
