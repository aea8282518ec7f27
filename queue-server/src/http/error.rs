//! The one place where errors and refusals become HTTP.

use crate::{
    access::AccessRefusal,
    keys::PassKeyError,
    limits::{AskError, LimitsError, OverrideRefusal},
    store::StoreError,
};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use shared::{
    config::OverrideError,
    http::{
        language::Language,
        problem::Problem,
        ratelimit::{RateLimitFields, retry_after_s},
        reason::Reason,
        route::Unroutable,
    },
    room::{ActionRefusal, EnterRefusal, IssueRefusal, JoinRefusal, MoveRefusal, SessionRefusal},
    token::TicketError,
};
use std::{fmt::Display, time::Duration};
use tracing::error;

/// Why a call is not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    retry_after: Duration,
    allow: Option<&'static str>,
    policy: Option<String>,
    detail: Option<String>,
    /// What the limits said, for the `RateLimit` fields.
    fields: Option<Box<RateLimitFields>>,
}

impl Refusal {
    pub(super) fn new(reason: Reason) -> Self {
        Self { reason, retry_after: RETRY_AFTER, allow: None, policy: None, detail: None, fields: None }
    }

    pub(super) fn retry_after(self, retry_after: Duration) -> Self {
        Self { retry_after, ..self }
    }

    pub(super) fn policy(self, policy: String) -> Self {
        Self { policy: Some(policy), ..self }
    }

    /// What exactly is wrong, for the engineer who sent the request.
    pub(super) fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    pub(super) fn fields(self, fields: RateLimitFields) -> Self {
        Self { fields: Some(Box::new(fields)), ..self }
    }

    /// A bug: the log tells what it was, the client only that it was ours.
    pub(super) fn internal(error: &dyn Display) -> Self {
        error!(%error, "a request failed through a fault of this server");
        Self::new(Reason::Internal)
    }

    /// Why a ticket does not enter; `retry_waiting` is when somebody whose turn is to come should ask again.
    pub(super) fn enter(refusal: EnterRefusal, retry_waiting: Duration) -> Self {
        match refusal {
            EnterRefusal::Void => Self::new(Reason::TicketVoid),
            EnterRefusal::Moved => Self::new(Reason::TicketMoved),
            EnterRefusal::Spent => Self::new(Reason::TicketSpent),
            EnterRefusal::TurnExpired => Self::new(Reason::TurnExpired),
            EnterRefusal::Closed => Self::new(Reason::EventClosed),
            EnterRefusal::NotYourTurn => Self::new(Reason::NotYourTurn).retry_after(retry_waiting),
            EnterRefusal::Full { retry_after } => Self::new(Reason::DoorFull).retry_after(retry_after),
            EnterRefusal::Held(phase) => {
                Self::new(phase.reason().unwrap_or(Reason::EventPaused)).retry_after(retry_waiting)
            }
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(Problem::new(self.reason).status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// For pages, which do not carry it as the problem does: seconds, rounded up, at least one, where trying again helps.
    pub(super) fn retry_after_s(&self) -> Option<u64> {
        self.reason.is_retryable().then(|| retry_after_s(self.retry_after))
    }

    pub(super) fn response(&self, language: Language, request_id: &str) -> Response {
        let mut problem =
            Problem::new(self.reason).language(language).retry_after(self.retry_after).request_id(request_id);
        if let Some(methods) = self.allow {
            problem = problem.allow(methods);
        }
        if let Some(policy) = &self.policy {
            problem = problem.policy(policy);
        }
        if let Some(detail) = &self.detail {
            problem = problem.detail(detail);
        }
        let mut response = Response::new(Body::from(problem.body()));
        *response.status_mut() = self.status();
        // For the edge, which keeps every `Fairgate-*` field to itself.
        let code = HeaderValue::from_static(self.reason.code());
        response.headers_mut().insert(HeaderName::from_static("fairgate-reason"), code);
        for (name, value) in problem.headers() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        if let Some(fields) = &self.fields {
            set_fields(&mut response, fields);
        }
        response
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable => Self::new(Reason::Unconfirmed),
            StoreError::Overloaded => Self::new(Reason::Overloaded),
        }
    }
}

impl From<AccessRefusal> for Refusal {
    fn from(refusal: AccessRefusal) -> Self {
        Self::new(match refusal {
            AccessRefusal::Missing => Reason::AccessKeyMissing,
            AccessRefusal::Unknown => Reason::AccessKeyInvalid,
            AccessRefusal::Role => Reason::RoleMissing,
            AccessRefusal::Shop => Reason::ShopNotAllowed,
        })
    }
}

impl From<AskError> for Refusal {
    fn from(error: AskError) -> Self {
        Self::new(error.reason).detail(error.detail)
    }
}

impl From<LimitsError> for Refusal {
    fn from(error: LimitsError) -> Self {
        match error {
            LimitsError::Asked(error) => error.into(),
            LimitsError::Receipt => Self::new(Reason::ReceiptInvalid),
            LimitsError::ReceiptSpent => Self::new(Reason::ReceiptSpent),
            LimitsError::Overloaded => Self::new(Reason::Overloaded),
            LimitsError::Unavailable => Self::new(Reason::LimiterUnavailable),
            LimitsError::Misconfigured => Self::new(Reason::Misconfigured),
        }
    }
}

impl From<OverrideRefusal> for Refusal {
    fn from(refusal: OverrideRefusal) -> Self {
        let reason = match &refusal {
            OverrideRefusal::Target(OverrideError::NoSuchShop) => Reason::ShopUnknown,
            OverrideRefusal::Target(OverrideError::NoSuchPolicy) => Reason::PolicyUnknown,
            OverrideRefusal::Target(OverrideError::OfTheWholeSite) | OverrideRefusal::Settings(_) => {
                Reason::PolicyInvalid
            }
            OverrideRefusal::TooMany => Reason::BatchTooLarge,
            OverrideRefusal::NotDurable => Reason::Unconfirmed,
        };
        Self::new(reason).detail(refusal.to_string())
    }
}

impl From<ActionRefusal> for Refusal {
    fn from(refusal: ActionRefusal) -> Self {
        let reason = match refusal {
            ActionRefusal::NotNow(_) => Reason::ActionNotNow,
            ActionRefusal::CapacityOutOfRange => Reason::ActionInvalid,
            ActionRefusal::EpochsExhausted => Reason::EpochsExhausted,
        };
        Self::new(reason).detail(refusal.to_string())
    }
}

impl From<JoinRefusal> for Refusal {
    fn from(refusal: JoinRefusal) -> Self {
        Self::new(match refusal {
            JoinRefusal::NotOpenYet => Reason::NotOpenYet,
            JoinRefusal::SoldOut => Reason::OutOfStock,
            JoinRefusal::Closed => Reason::EventClosed,
            JoinRefusal::NumbersExhausted => Reason::RoomFull,
            JoinRefusal::BuyerLimit => Reason::BuyerLimit,
            JoinRefusal::CodeUnknown => Reason::CodeUnknown,
            JoinRefusal::CodeUsed => Reason::CodeUsed,
            JoinRefusal::NoSuchLane => Reason::Internal,
        })
    }
}

impl From<MoveRefusal> for Refusal {
    fn from(refusal: MoveRefusal) -> Self {
        Self::new(match refusal {
            MoveRefusal::NoPlace => Reason::TicketSpent,
            MoveRefusal::Inside => Reason::SessionStays,
            MoveRefusal::CodeUnknown => Reason::CodeUnknown,
        })
    }
}

impl From<IssueRefusal> for Refusal {
    fn from(refusal: IssueRefusal) -> Self {
        Self::new(Reason::ActionInvalid).detail(refusal.to_string())
    }
}

impl From<SessionRefusal> for Refusal {
    fn from(refusal: SessionRefusal) -> Self {
        Self::new(match refusal {
            SessionRefusal::Ended => Reason::SessionEnded,
            SessionRefusal::NoExtensionLeft => Reason::ExtensionsUsed,
        })
    }
}

impl From<TicketError> for Refusal {
    fn from(_: TicketError) -> Self {
        Self::new(Reason::TicketInvalid)
    }
}

impl From<PassKeyError> for Refusal {
    fn from(error: PassKeyError) -> Self {
        Self::internal(&error)
    }
}

impl From<Unroutable> for Refusal {
    fn from(unroutable: Unroutable) -> Self {
        Self { allow: unroutable.allow, ..Self::new(unroutable.reason) }
    }
}

/// When to try again where nothing says it better.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Puts the limits into the fields that clients read. No limits: no fields.
pub(super) fn set_fields(response: &mut Response, fields: &RateLimitFields) {
    for (name, value) in fields.headers() {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
}
