//! One home and the way to it: leases first, then one call.

use crate::clock;
use crate::incoming::Incoming;
use crate::isolate::Isolate;
use shared::flat;
use shared::gate::{Home, HomeCall, HomeCheck, Limit};
use shared::limiter::Decision;
use shared::limiter::check::{Charge, CheckRequest};
use shared::limiter::concurrency::Holder;
use shared::limiter::home::{Ask, HomeReply, HomeRequest, REFUNDS_MAX};
use shared::time::Timestamp;
use std::rc::Rc;
use worker::js_sys::Uint8Array;
use worker::web_sys::{AbortSignal, Request, RequestInit};
use worker::{Env, Result};

/// What one home decided.
pub(super) struct Answered {
    /// By place in the stage's list; what came after a refusal was not asked.
    pub(super) decisions: Vec<(usize, Decision)>,
    /// When, by the home's clock.
    pub(super) taken_at: Timestamp,
}

/// What it takes to reach homes, also after the request has ended.
pub(super) struct HomeLink {
    env: Env,
    isolate: Rc<Isolate>,
}

/// Asks the home of a call, unless leases answer; `None` when it fails, is slow, or failed a moment ago.
pub(super) async fn ask(
    link: &HomeLink,
    call: &HomeCall<'_>,
    limits: &[Limit<'_>],
    holder: Holder,
) -> Option<Answered> {
    let began = clock::now();
    let leased = leased_charges(call, limits);
    if let Some(charges) = &leased {
        let mut books = link.isolate.memory.limits.leases.borrow_mut();
        let book = flat::entry(&mut *books, &call.home.to_string());
        book.note(charges, began);
        if let Some(taken) = book.take(charges, began) {
            return Some(Answered::of(call, taken.decisions, taken.taken_at));
        }
    }
    let request = link.request(call, limits, holder, leased.as_deref(), began)?;
    let home = call.home.to_string();
    let reply = link.call(&home, &request).await?;
    let mut answered = Answered::new(call, &reply);
    if let Some(charges) = &leased {
        link.take_leases(&home, charges, &reply, began, &mut answered);
    }
    Some(answered)
}

/// How a key stands at its home, and by whose clock; nothing is taken. `None`: the home does not answer.
pub(crate) async fn look(incoming: &Incoming, home: &str, charge: Charge) -> Option<(Timestamp, Decision)> {
    let peek = CheckRequest::new(vec![Charge { cost: 0, ..charge }]).ok()?;
    let request = HomeRequest { asks: vec![Ask::binding(peek)], ..HomeRequest::default() };
    let reply = HomeLink::of(incoming).call(home, &request).await?;
    Some((reply.taken_at, *reply.answers.first()?.check.decisions.first()?))
}

/// The charges of a call that leases may answer: those of a home that many share, when all of its limits are leased.
fn leased_charges(call: &HomeCall<'_>, limits: &[Limit<'_>]) -> Option<Vec<Charge>> {
    let ([HomeCheck { indices, .. }], Home::Shop(_) | Home::Site) = (call.checks.as_slice(), call.home)
    else {
        return None;
    };
    let charge = |index: &usize| limits.get(*index).filter(|limit| limit.lease && limit.is_enforced());
    indices.iter().map(|index| Some(charge(index)?.charge)).collect()
}

impl Answered {
    fn new(call: &HomeCall<'_>, reply: &HomeReply) -> Self {
        let answers = call.checks.iter().zip(&reply.answers);
        let decisions = answers.flat_map(|(check, answer)| {
            check.indices.iter().copied().zip(answer.check.decisions.iter().copied())
        });
        Self { decisions: decisions.collect(), taken_at: reply.taken_at }
    }

    /// The decisions on the one check of a call.
    fn of(call: &HomeCall<'_>, decisions: Vec<Decision>, taken_at: Timestamp) -> Self {
        let indices = call.checks.iter().flat_map(|check| check.indices.iter().copied());
        Self { decisions: indices.zip(decisions).collect(), taken_at }
    }
}

impl HomeLink {
    pub(super) fn of(incoming: &Incoming) -> Self {
        Self { env: incoming.env.clone(), isolate: Rc::clone(&incoming.isolate) }
    }

    /// Tells a home something to which it answers nothing of interest. What is lost comes back by itself.
    pub(super) async fn tell(&self, home: &str, request: &HomeRequest) {
        let _reply = self.call(home, request).await;
    }

    fn request(
        &self,
        call: &HomeCall<'_>,
        limits: &[Limit<'_>],
        holder: Holder,
        leased: Option<&[Charge]>,
        now: Timestamp,
    ) -> Option<HomeRequest> {
        let mut request = HomeRequest::default();
        for check in &call.checks {
            // Limits of one plan have different keys, and are no more than a check holds.
            let asked = check.request(limits).ok()?.held_by(holder);
            request.asks.push(Ask { is_binding: check.is_enforced(), ..Ask::binding(asked) });
        }
        if let (Some(charges), [ask]) = (leased, request.asks.as_mut_slice()) {
            let mut books = self.isolate.memory.limits.leases.borrow_mut();
            let book = flat::entry(&mut *books, &call.home.to_string());
            request.refunds = book.returns(now, REFUNDS_MAX);
            ask.wanted = book.wanted(charges, now);
        }
        Some(request)
    }

    /// One call. A home that failed is left alone for a moment, so that requests do not wait for it one by one.
    async fn call(&self, home: &str, request: &HomeRequest) -> Option<HomeReply> {
        let memory = &self.isolate.memory.limits;
        if memory.has_failed_lately(home, clock::now()) {
            return None;
        }
        match self.send(home, request).await {
            Ok(reply) => {
                memory.note_answer(home);
                Some(reply)
            }
            Err(error) => {
                memory.note_failure(home, clock::now(), &error);
                None
            }
        }
    }

    async fn send(&self, home: &str, request: &HomeRequest) -> Result<HomeReply> {
        let bytes = request.to_bytes().map_err(|error| error.to_string())?;
        let stub = self.env.durable_object("LIMITER")?.get_by_name(home)?;
        let init = RequestInit::new();
        init.set_method("POST");
        init.set_body(&Uint8Array::from(bytes.as_slice()));
        init.set_signal(Some(&AbortSignal::timeout_with_u32(BUDGET_MS)));
        let message = Request::new_with_str_and_init("http://limiter/", &init)?;
        let mut response = stub.fetch_with_request(message.into()).await?;
        if response.status_code() != 200 {
            return Err(format!("status {}", response.status_code()).into());
        }
        let reply = response.bytes().await?;
        HomeReply::from_bytes(&reply, request).map_err(|error| error.to_string().into())
    }

    /// Keeps the leases that came along. A refused request may find one that another has brought meanwhile.
    fn take_leases(
        &self,
        home: &str,
        charges: &[Charge],
        reply: &HomeReply,
        began: Timestamp,
        answered: &mut Answered,
    ) {
        let Some(answer) = reply.answers.first() else { return };
        let now = clock::now();
        let mut books = self.isolate.memory.limits.leases.borrow_mut();
        let Some(book) = books.get_mut(home) else { return };
        for (charge, grant) in charges.iter().zip(&answer.grants) {
            book.hold(charge, *grant, began, now);
        }
        if answer.check.refusal().is_none() {
            return;
        }
        if let Some(taken) = book.take(charges, now) {
            let indices = answered.decisions.iter().map(|(index, _)| *index);
            answered.decisions = indices.zip(taken.decisions).collect();
            answered.taken_at = taken.taken_at;
            return;
        }
        for ((_, decision), charge) in answered.decisions.iter_mut().zip(charges) {
            *decision = book.paused(charge, *decision, now);
        }
    }
}

/// A limiter answers within milliseconds; a buyer does not wait longer than this for one that does not.
const BUDGET_MS: u32 = 500;
