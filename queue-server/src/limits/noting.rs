//! What is counted and logged of every check.

use super::{asked::Asked, live::InForce, outcome::Said, refusals::RefusalNote, service::Limits};
use data_encoding::HEXLOWER;
use shared::{config::PolicyMode, gate::Limit, limiter::Decision};
use std::time::Duration;
use tracing::info;

impl Limits {
    /// Counts and logs what every limit said.
    pub(super) fn note(&self, in_force: &InForce, asked: &Asked<'_>, said: &Said<'_>) {
        for (limit, decision) in said.limits.iter().zip(&said.decisions) {
            let is_shadow = limit.mode == PolicyMode::Shadow;
            let outcome = match (decision, is_shadow) {
                (None, _) => "undecided",
                (Some(Decision::Allowed { .. }), false) => "allowed",
                (Some(Decision::Allowed { .. }), true) => "shadow_allowed",
                (Some(Decision::Denied { .. }), false) => "refused",
                (Some(Decision::Denied { .. }), true) => "shadow_refused",
            };
            self.metrics.note_limit(limit.name, outcome);
            match decision {
                Some(decision) if limit.is_near(decision) => self.metrics.note_near_limit(limit.name),
                Some(Decision::Denied { retry_after, .. }) => {
                    self.note_refusal(in_force, asked, limit, said, *retry_after);
                }
                _ => {}
            }
        }
        if said.is_fallback {
            self.metrics.note_limit_fallback();
        }
    }

    fn note_refusal(
        &self,
        in_force: &InForce,
        asked: &Asked<'_>,
        limit: &Limit<'_>,
        said: &Said<'_>,
        retry_after: Option<Duration>,
    ) {
        let is_shadow = limit.mode == PolicyMode::Shadow;
        let counts_by = in_force.config.shop(&asked.shop.id).and_then(|shop| shop.policy(limit.name));
        info!(
            shop = asked.shop.id,
            policy = limit.name,
            key = HEXLOWER.encode(&limit.charge.key.0),
            counts_by = counts_by.map(|policy| policy.key.to_string()),
            cost = asked.cost,
            wait_ms = retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            is_shadow,
            "a limit refuses"
        );
        self.refusals.note(RefusalNote {
            at: said.now,
            key: limit.charge.key,
            policy: limit.name.to_owned(),
            cost: asked.cost,
            retry_after,
            is_shadow,
        });
    }
}
