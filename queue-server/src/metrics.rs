//! What the server counts, in the text format of Prometheus.

use crate::limits::Home;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use shared::{
    fault_row::FaultRow, http::reason::Reason, ids::EventId, room::Facts, time::Timestamp,
    token::edge_signature::EdgeSignatureError, wire::LimitReport,
};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Labels hold names from the configuration and from tables in the code, never a value of a request.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    joins: Family<OutcomeLabels, Counter>,
    shed_joins: Counter,
    redemptions: Family<OutcomeLabels, Counter>,
    edge_outcomes: Family<OutcomeLabels, Counter>,
    edge_refusals: Family<RefusalLabels, Counter>,
    edge_refusal_row: Mutex<FaultRow>,
    sessions: Family<EventLabels, Gauge>,
    capacity: Family<EventLabels, Gauge>,
    waiting: Family<EventLabels, Gauge>,
    called: Family<EventLabels, Gauge>,
    tick_seconds: Family<EventLabels, Histogram, fn() -> Histogram>,
    limits: Family<LimitLabels, Counter>,
    near_limits: Family<PolicyLabels, Counter>,
    limit_fallbacks: Counter,
    limit_store: LimitStoreGauges,
    leading_term: Gauge,
}

/// Read from the store of the limits when somebody asks.
#[derive(Default)]
struct LimitStoreGauges {
    keys: Gauge,
    unrecorded_checks: Gauge,
    unsaved_answers: Gauge,
    failures: Gauge,
    is_up: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    policy: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabels {
    policy: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    why: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    event: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    event: String,
}

impl Metrics {
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("fairgate"),
            requests: Family::default(),
            joins: Family::default(),
            shed_joins: Counter::default(),
            redemptions: Family::default(),
            edge_outcomes: Family::default(),
            edge_refusals: Family::default(),
            edge_refusal_row: Mutex::default(),
            sessions: Family::default(),
            capacity: Family::default(),
            waiting: Family::default(),
            called: Family::default(),
            tick_seconds: Family::new_with_constructor(tick_histogram),
            limits: Family::default(),
            near_limits: Family::default(),
            limit_fallbacks: Counter::default(),
            limit_store: LimitStoreGauges::default(),
            leading_term: Gauge::default(),
        };
        metrics.register();
        // So that they are there before the first one: an alert on what does not exist is silent.
        for why in REFUSALS {
            drop(metrics.edge_refusals.get_or_create(&RefusalLabels { why }));
        }
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests by route and status", self.requests.clone());
        registry.register("joins", "Joins by outcome", self.joins.clone());
        registry.register(
            "shed_joins",
            "Joins that were refused because too many were being answered",
            self.shed_joins.clone(),
        );
        registry.register("redemptions", "Redemptions by outcome", self.redemptions.clone());
        registry.register("edge_outcomes", "Outcomes that the edges reported", self.edge_outcomes.clone());
        registry.register(
            "edge_refusals",
            "Calls in an edge's name whose signature does not hold",
            self.edge_refusals.clone(),
        );
        registry.register("sessions", "Sessions counted against capacity", self.sessions.clone());
        registry.register("capacity", "Most sessions at once", self.capacity.clone());
        registry.register("waiting", "Live numbers not called yet", self.waiting.clone());
        registry.register(
            "called",
            "Called numbers inside turn_grace that have not come",
            self.called.clone(),
        );
        let tick_seconds = self.tick_seconds.clone();
        registry.register_with_unit("tick", "Time one tick took", Unit::Seconds, tick_seconds);
        registry.register(
            "limit_decisions",
            "Decisions on limits by policy and outcome",
            self.limits.clone(),
        );
        registry.register(
            "limit_near",
            "Requests that passed and left a fifth of the quota or less",
            self.near_limits.clone(),
        );
        registry.register(
            "limit_fallbacks",
            "Checks that were decided without the store of the limits",
            self.limit_fallbacks.clone(),
        );
        registry.register(
            "leading_term",
            "Term whose rooms this server has, 0: another server leads, or it is the only one",
            self.leading_term.clone(),
        );
        self.limit_store.register(registry);
    }

    /// `outcome` is `allowed`, `refused`, `undecided`, or one of the first two behind `shadow_`.
    pub fn note_limit(&self, policy: &str, outcome: &'static str) {
        self.limits.get_or_create(&LimitLabels { policy: policy.to_owned(), outcome }).inc();
    }

    pub fn note_near_limit(&self, policy: &str) {
        self.near_limits.get_or_create(&PolicyLabels { policy: policy.to_owned() }).inc();
    }

    /// What limits decided at an edge, which has its own homes of keys.
    pub fn note_edge_limits(&self, report: &LimitReport) {
        let LimitReport { policy, counts } = report;
        let outcomes = [
            ("allowed", counts.allowed),
            ("refused", counts.refused),
            ("shadow_allowed", counts.shadow_allowed),
            ("shadow_refused", counts.shadow_refused),
            ("undecided", counts.undecided),
        ];
        for (outcome, count) in outcomes.into_iter().filter(|(_, count)| *count > 0) {
            self.limits.get_or_create(&LimitLabels { policy: policy.clone(), outcome }).inc_by(count);
        }
        if counts.near > 0 {
            self.near_limits.get_or_create(&PolicyLabels { policy: policy.clone() }).inc_by(counts.near);
        }
    }

    pub fn note_limit_fallback(&self) {
        self.limit_fallbacks.inc();
    }

    pub fn note_limit_home(&self, home: &Home) {
        let (store, gauges) = (home.process(), &self.limit_store);
        let (failures, is_up) = home.failures();
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        gauges.keys.set(i64::try_from(store.len()).unwrap_or(i64::MAX));
        gauges.unrecorded_checks.set(number(store.unrecorded_checks()));
        gauges.unsaved_answers.set(number(store.unsaved_answers()));
        gauges.failures.set(number(failures));
        gauges.is_up.set(i64::from(is_up));
    }

    pub fn note_leading(&self, term: u64) {
        self.leading_term.set(i64::try_from(term).unwrap_or(i64::MAX));
    }

    pub fn note_request(&self, route: &'static str, status: u16) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
    }

    /// `outcome` is `joined`, `existed`, `entered` or a reason code.
    pub fn note_join(&self, event: &EventId, outcome: &'static str) {
        self.joins.get_or_create(&outcome_of(event, outcome)).inc();
    }

    pub fn note_shed_join(&self) {
        self.shed_joins.inc();
    }

    /// `outcome` is `entered` or a reason code.
    pub fn note_redemption(&self, event: &EventId, outcome: &'static str) {
        self.redemptions.get_or_create(&outcome_of(event, outcome)).inc();
    }

    pub fn note_edge_outcome(&self, event: &EventId, reason: Reason, count: u64) {
        self.edge_outcomes.get_or_create(&outcome_of(event, reason.code())).inc_by(count);
    }

    /// A call in an edge's name was refused; its number in the row of such calls where it deserves a line in the log.
    pub fn note_edge_refusal(&self, error: EdgeSignatureError, now: Timestamp) -> Option<u64> {
        let [malformed, unknown_key, clock, forged] = REFUSALS;
        let why = match error {
            EdgeSignatureError::Malformed => malformed,
            EdgeSignatureError::UnknownKey => unknown_key,
            EdgeSignatureError::OutsideWindow => clock,
            EdgeSignatureError::Forged => forged,
        };
        self.edge_refusals.get_or_create(&RefusalLabels { why }).inc();
        self.edge_refusal_row.lock().unwrap_or_else(PoisonError::into_inner).note(now)
    }

    pub fn note_tick(&self, event: &EventId, facts: &Facts, took: Duration) {
        let labels = EventLabels { event: event.to_string() };
        let waiting = facts.lanes.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.waiting));
        let cohorts = facts.lanes.iter().flat_map(|lane| &lane.cohorts);
        let called = cohorts.fold(0_u32, |sum, cohort| sum.saturating_add(cohort.missing()));
        self.sessions.get_or_create(&labels).set(facts.sessions.into());
        self.capacity.get_or_create(&labels).set(facts.capacity.into());
        self.waiting.get_or_create(&labels).set(i64::try_from(waiting).unwrap_or(i64::MAX));
        self.called.get_or_create(&labels).set(called.into());
        self.tick_seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// All of it as text.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl LimitStoreGauges {
    fn register(&self, registry: &mut Registry) {
        registry.register("limit_keys", "Keys recorded in this process", self.keys.clone());
        registry.register(
            "limit_unrecorded_checks",
            "Checks that passed unrecorded because every entry was alive",
            self.unrecorded_checks.clone(),
        );
        registry.register(
            "limit_unsaved_answers",
            "Answers about locks and long quotas that a crash would take back",
            self.unsaved_answers.clone(),
        );
        registry.register(
            "limit_store_failures",
            "Calls that the store of the limits did not answer",
            self.failures.clone(),
        );
        registry.register(
            "limit_store_up",
            "Whether the store of the limits is called as usual",
            self.is_up.clone(),
        );
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn outcome_of(event: &EventId, outcome: &'static str) -> OutcomeLabels {
    OutcomeLabels { event: event.to_string(), outcome }
}

const REFUSALS: [&str; 4] = ["malformed", "unknown_key", "clock", "forged"];

fn tick_histogram() -> Histogram {
    Histogram::new([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5])
}
