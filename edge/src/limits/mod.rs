//! Performs the limits of a request: asks the homes of each stage at once, remembers what was taken, and gives it back
//! where a later stage refuses or the shop did no work.

mod home;
mod member;
pub(crate) mod memory;
mod refusals;
mod sieve;

use crate::clock;
use crate::incoming::Incoming;
use crate::refusal::Refusal;
use crate::reporting;
use futures_util::future::join_all;
pub(crate) use home::look;
use home::{Answered, HomeLink};
use memory::LimitMemory;
use shared::config::{RouteConfig, ShopConfig};
use shared::flat::{self, LiteMap};
use shared::gate::{
    Bound, Buyer, Home, HomeCall, HomeCheck, Ledger, Limit, Plan, Stage, Subject, Verdict, by_home, judge,
    permits_end_soon, refused_already,
};
use shared::http::ratelimit::{LimitFields, QuotaReport, rate_limit_fields};
use shared::http::sku::Sku;
use shared::limiter::concurrency::Holder;
use shared::limiter::home::{Give, HomeRequest};
use shared::limiter::lease::Refund;
use shared::limiter::{Decision, Policy};
use uuid::Uuid;
use worker::Delay;

/// The limits of one request, from its first stage to its end.
pub(crate) struct Limits<'a> {
    incoming: &'a Incoming,
    plan: Plan<'a>,
    subject: Subject<'a>,
    ledger: Ledger<'a>,
    /// What each enforced limit said, for the fields of the reply.
    told: Vec<(Limit<'a>, Decision)>,
    /// Who holds this request's permits.
    holder: Holder,
    permits: Vec<(Home<'a>, Give)>,
}

impl<'a> Limits<'a> {
    /// What limits a request to the shop.
    pub(crate) async fn of_request(
        incoming: &'a Incoming,
        shop: &'a ShopConfig,
        route: Option<&'a RouteConfig>,
        buyer: &Buyer<'a>,
    ) -> Self {
        let plan = Plan::of_request(shop, route, buyer);
        let member = member::proved(incoming, shop, &plan).await;
        Self::new(incoming, plan, Subject { member, ..buyer.subject(shop, route) })
    }

    /// What limits a join.
    pub(crate) async fn of_join(incoming: &'a Incoming, shop: &'a ShopConfig, buyer: &Buyer<'a>) -> Self {
        let plan = Plan::of_join(&incoming.isolate.config, buyer);
        let member = member::proved(incoming, shop, &plan).await;
        Self::new(incoming, plan, Subject { member, ..buyer.subject(shop, None) })
    }

    /// Nothing, whoever asks.
    pub(crate) fn none(incoming: &'a Incoming) -> Self {
        Self::new(incoming, Plan::of(&[]), Subject::default())
    }

    fn new(incoming: &'a Incoming, plan: Plan<'a>, subject: Subject<'a>) -> Self {
        let (ledger, holder) = (Ledger::default(), Holder(*Uuid::new_v4().as_bytes()));
        Self { incoming, plan, subject, ledger, told: Vec::new(), holder, permits: Vec::new() }
    }

    /// The SKU has been read: what counts by it, and a SKU's own numbers, hold from now on.
    pub(crate) fn know_sku(&mut self, sku: Sku) {
        self.subject.sku = Some(sku);
    }

    pub(crate) fn incoming(&self) -> &'a Incoming {
        self.incoming
    }

    /// Takes what the request costs in these stages, or refuses it and gives back what it took before.
    pub(crate) async fn take(&mut self, stages: &[Stage]) -> Result<(), Refusal> {
        for stage in stages {
            let limits = self.plan.limits(*stage, &self.subject);
            if limits.is_empty() {
                continue;
            }
            if let Err(refusal) = self.take_stage(*stage, &limits).await {
                self.give_back();
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Gives back everything that was taken: a later stage refused, or the shop did no work. Never after the shop was
    /// called.
    pub(crate) fn give_back(&mut self) {
        let refunds = std::mem::take(&mut self.ledger).refunds();
        self.send_back(refunds);
    }

    /// Leaves the permits to end with their lives: what they stand for may be going on.
    pub(crate) fn leave_permits(&mut self) {
        self.permits.clear();
    }

    /// `RateLimit` and `RateLimit-Policy` for the reply to a request that went on; none where nothing limited it.
    pub(crate) fn fields(&self) -> Vec<(&'static str, String)> {
        let reports: Vec<QuotaReport<'_>> = self
            .told
            .iter()
            .map(|(limit, decision)| QuotaReport { name: limit.name, policy: &limit.charge.policy, decision })
            .collect();
        rate_limit_fields(self.limit_fields(), &reports).headers()
    }

    fn limit_fields(&self) -> LimitFields {
        self.incoming.isolate.config.site.limit_fields
    }

    async fn take_stage(&mut self, stage: Stage, limits: &[Limit<'a>]) -> Result<(), Refusal> {
        let remembered = refusals::known(self.incoming, limits);
        if let Some(bound) = refused_already(self.limit_fields(), limits, &remembered) {
            reporting::note_limits(self.incoming, limits, &remembered);
            return Err(self.refused(bound));
        }
        if stage == Stage::Personal {
            sieve::check(self.incoming, limits).await?;
        }
        let calls = by_home(limits);
        let link = HomeLink::of(self.incoming);
        let asked = calls.iter().map(|call| home::ask(&link, call, limits, self.holder));
        let mut decisions = vec![None; limits.len()];
        for (call, answer) in calls.iter().zip(join_all(asked).await) {
            if let Some(answered) = answer {
                self.note(call, limits, answered, &mut decisions);
            } else {
                // Nobody knows whether it took some; to give back what nobody holds changes nothing.
                self.hold_permits(call, call.checks.iter(), limits);
                self.memory().decide_locally(call, limits, &mut decisions, clock::now());
            }
        }
        let verdict = judge(self.limit_fields(), limits, &permits_end_soon(limits, &decisions));
        self.memory().note_verdict(&verdict);
        reporting::note_limits(self.incoming, limits, &decisions);
        self.go_on(limits, &decisions, verdict).await
    }

    /// Notes what one home decided, and what it took.
    fn note(
        &mut self,
        call: &HomeCall<'a>,
        limits: &[Limit<'a>],
        answered: Answered,
        decisions: &mut [Option<Decision>],
    ) {
        let mut taken = vec![None; limits.len()];
        for (index, decision) in answered.decisions {
            if let (Some(all), Some(own)) = (decisions.get_mut(index), taken.get_mut(index)) {
                (*all, *own) = (Some(decision), Some(decision));
            }
        }
        refusals::remember(self.incoming, limits, &taken);
        self.memory().keep_warm(limits, &taken, clock::now());
        self.ledger.note(limits, &taken, answered.taken_at);
        let is_taken = |index: &usize| {
            taken.get(*index).copied().flatten().is_some_and(|decision| decision.is_allowed())
        };
        let taken = call.checks.iter().filter(|check| check.indices.iter().all(is_taken));
        self.hold_permits(call, taken, limits);
    }

    /// Notes the permits of these checks, which go back with the request's end.
    fn hold_permits<'c>(
        &mut self,
        call: &HomeCall<'a>,
        checks: impl Iterator<Item = &'c HomeCheck>,
        limits: &[Limit<'a>],
    ) {
        let indices = checks.flat_map(|check| &check.indices);
        let charges = indices.filter_map(|index| Some(limits.get(*index)?.charge));
        let permits = charges.filter(|charge| matches!(charge.policy, Policy::Concurrency(_)));
        let holder = self.holder;
        self.permits.extend(permits.map(|charge| (call.home, Give { charge, holder })));
    }

    /// Refuses, or lets the request go on when its turn in a leaky queue has come.
    async fn go_on(
        &mut self,
        limits: &[Limit<'a>],
        decisions: &[Option<Decision>],
        verdict: Verdict<'a>,
    ) -> Result<(), Refusal> {
        if let Some(bound) = verdict.refusal {
            return Err(self.refused(bound));
        }
        let told = limits.iter().zip(decisions).filter(|(limit, _)| limit.is_enforced());
        self.told.extend(told.filter_map(|(limit, decision)| Some((*limit, (*decision)?))));
        if !verdict.delay.is_zero() {
            Delay::from(verdict.delay).await;
        }
        Ok(())
    }

    fn refused(&self, bound: Bound<'_>) -> Refusal {
        self.memory().log_refusal(&bound, &self.incoming.request_id, clock::now());
        bound.into()
    }

    fn memory(&self) -> &LimitMemory {
        &self.incoming.isolate.memory.limits
    }

    /// What goes back, permits too: one call for each home.
    fn send_back(&mut self, refunds: LiteMap<Home<'a>, Vec<Refund>>) {
        let refunds = refunds.into_iter();
        let mut requests = flat::map(
            refunds.map(|(home, refunds)| (home, HomeRequest { refunds, ..HomeRequest::default() })),
        );
        for (home, give) in std::mem::take(&mut self.permits) {
            flat::entry(&mut requests, &home).gives.push(give);
        }
        for (home, request) in requests {
            self.send_beside(home, request);
        }
    }

    fn send_beside(&self, home: Home<'_>, request: HomeRequest) {
        let (link, home) = (HomeLink::of(self.incoming), home.to_string());
        self.incoming.beside(async move { link.tell(&home, &request).await });
    }
}

/// However a request ends, its permits go back: when the head of the shop's reply is there. The runtime streams the body
/// by itself, and a client that reads slowly keeps no place of those who wait.
impl Drop for Limits<'_> {
    fn drop(&mut self) {
        self.send_back(LiteMap::new());
    }
}

/// What everybody shares is asked last, for what goes on to the shop.
pub(crate) const SHARED_STAGES: [Stage; 2] = [Stage::Shop, Stage::Site];
