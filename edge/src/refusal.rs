//! The one place where failures become refusals, and refusals become problem JSON.

use crate::reply::Reply;
use shared::gate::Bound;
use shared::http::cors::Caller;
use shared::http::language::Language;
use shared::http::page::RefusedPage;
use shared::http::problem::Problem;
use shared::http::reason::Reason;
use shared::http::route::Unroutable;
use std::time::Duration;
use uuid::Uuid;
use worker::console_error;
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{Request, Response};

/// Why a request is not answered as asked.
pub(crate) struct Refusal {
    problem: Problem,
    headers: Vec<(&'static str, String)>,
}

/// The queue server did not answer in time, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerUnreachable;

/// Why there is no reply of the shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginFault {
    Unreachable,
    TimedOut,
}

impl Refusal {
    /// A refusal of a gated request for `reason`, which tells where to wait.
    pub(crate) fn wait(reason: Reason, wait_url: String) -> Self {
        let Self { problem, headers } = Self::from(reason);
        Self { problem: problem.retry_after(WAIT_RETRY_AFTER).wait_url(wait_url), headers }
    }

    /// Adds fields to the reply.
    pub(crate) fn with_headers(mut self, headers: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.headers.extend(headers);
        self
    }

    /// Lets the pages of an allowed web origin read it.
    pub(crate) fn readable_by(self, caller: Caller<'_>) -> Self {
        self.with_headers(caller.headers())
    }

    pub(crate) fn reason(&self) -> Reason {
        self.problem.reason()
    }

    /// The reply, in the client's language.
    pub(crate) fn response(self, language: Language, request_id: &str) -> Result<Response, JsValue> {
        let problem = self.problem.language(language).request_id(request_id);
        let headers = problem.headers().into_iter().chain(self.headers);
        Reply::new(problem.status(), problem.body()).with(headers).response()
    }

    /// The reply to a navigation: a page that says it and leads back.
    pub(crate) fn page(
        self,
        language: Language,
        back_path: &str,
        request_id: &str,
    ) -> Result<Response, JsValue> {
        let problem = self.problem.language(language);
        let page = RefusedPage { problem: &problem, language, back_path, request_id };
        let headers = page.headers().into_iter().chain(self.headers);
        Reply::new(problem.status(), page.render()).with(headers).response()
    }

    /// Whether whoever looks at the shop meets it without having done anything odd.
    pub(crate) fn is_for_visitors(&self) -> bool {
        use Reason::{
            LimiterUnavailable, Locked, OriginTimeout, OriginUnreachable, RateLimited, ShopBusy, SkuBusy,
        };
        let known =
            [RateLimited, Locked, ShopBusy, SkuBusy, LimiterUnavailable, OriginUnreachable, OriginTimeout];
        known.contains(&self.reason())
    }

    /// The reply to a request that was not even read.
    pub(crate) fn unread_response(self, request: &Request) -> Result<Response, JsValue> {
        let language = request.headers().get("accept-language")?;
        self.response(Language::from_accept_language(language.as_deref()), &Uuid::new_v4().to_string())
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self { problem: Problem::new(reason).retry_after(RETRY_AFTER), headers: Vec::new() }
    }
}

impl From<Unroutable> for Refusal {
    fn from(unroutable: Unroutable) -> Self {
        let Self { problem, headers } = Self::from(unroutable.reason);
        let problem = match unroutable.allow {
            Some(methods) => problem.allow(methods),
            None => problem,
        };
        Self { problem, headers }
    }
}

impl From<Bound<'_>> for Refusal {
    fn from(bound: Bound<'_>) -> Self {
        let retry_after = bound.retry_after.unwrap_or(RETRY_AFTER);
        let headers = bound.fields.headers();
        let problem = Problem::new(bound.reason)
            .policy(bound.policy)
            .words(bound.words)
            .violated_policies(bound.fields.violated_policies)
            .retry_after(retry_after);
        Self { problem, headers }
    }
}

impl From<ServerUnreachable> for Refusal {
    fn from(ServerUnreachable: ServerUnreachable) -> Self {
        Reason::QueueUnreachable.into()
    }
}

impl From<OriginFault> for Refusal {
    fn from(fault: OriginFault) -> Self {
        match fault {
            OriginFault::Unreachable => Reason::OriginUnreachable.into(),
            OriginFault::TimedOut => Reason::OriginTimeout.into(),
        }
    }
}

/// What the runtime itself refuses is a bug of ours.
impl From<JsValue> for Refusal {
    fn from(error: JsValue) -> Self {
        console_error!("the runtime refused a call: {}", worker::Error::from(error));
        Reason::Internal.into()
    }
}

impl From<worker::Error> for Refusal {
    fn from(error: worker::Error) -> Self {
        console_error!("the runtime refused a call: {error}");
        Reason::Internal.into()
    }
}

/// For faults, which nobody can time.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// When somebody who should wait in line may press again.
const WAIT_RETRY_AFTER: Duration = Duration::from_secs(5);
