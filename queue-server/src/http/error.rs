//! The one place where errors and refusals become HTTP.

use crate::{keys::PassKeyError, store::StoreError};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use shared::{
    http::{language::Language, problem::Problem, reason::Reason, route::Unroutable},
    room::{EnterRefusal, JoinRefusal, SessionRefusal},
    token::TicketError,
    wire::Phase,
};
use std::{fmt::Display, time::Duration};
use tracing::error;

/// Why a call is not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    retry_after: Duration,
    allow: Option<&'static str>,
}

impl Refusal {
    pub(super) fn new(reason: Reason) -> Self {
        Self { reason, retry_after: RETRY_AFTER, allow: None }
    }

    pub(super) fn retry_after(self, retry_after: Duration) -> Self {
        Self { retry_after, ..self }
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
            EnterRefusal::Spent => Self::new(Reason::TicketSpent),
            EnterRefusal::TurnExpired => Self::new(Reason::TurnExpired),
            EnterRefusal::Closed => Self::new(Reason::EventClosed),
            EnterRefusal::NotYourTurn => Self::new(Reason::NotYourTurn).retry_after(retry_waiting),
            EnterRefusal::Full { retry_after } => Self::new(Reason::DoorFull).retry_after(retry_after),
            EnterRefusal::Held(phase) => Self::new(held_by(phase)).retry_after(retry_waiting),
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(Problem::new(self.reason).status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// For pages, which do not carry it as the problem does: seconds, rounded up, at least one, where trying again helps.
    pub(super) fn retry_after_s(&self) -> Option<u64> {
        let seconds = self.retry_after.as_nanos().div_ceil(1_000_000_000);
        self.reason.is_retryable().then(|| u64::try_from(seconds).unwrap_or(u64::MAX).max(1))
    }

    pub(super) fn response(&self, language: Language, request_id: &str) -> Response {
        let mut problem =
            Problem::new(self.reason).language(language).retry_after(self.retry_after).request_id(request_id);
        if let Some(methods) = self.allow {
            problem = problem.allow(methods);
        }
        let mut response = Response::new(Body::from(problem.body()));
        *response.status_mut() = self.status();
        for (name, value) in problem.headers() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

fn held_by(phase: Phase) -> Reason {
    match phase {
        Phase::Scheduled | Phase::Lobby | Phase::Drawing => Reason::NotOpenYet,
        Phase::SoldOut => Reason::OutOfStock,
        Phase::Closed => Reason::EventClosed,
        Phase::Open | Phase::Paused | Phase::Passthrough => Reason::EventPaused,
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

impl From<JoinRefusal> for Refusal {
    fn from(refusal: JoinRefusal) -> Self {
        Self::new(match refusal {
            JoinRefusal::NotOpenYet => Reason::NotOpenYet,
            JoinRefusal::SoldOut => Reason::OutOfStock,
            JoinRefusal::Closed => Reason::EventClosed,
            JoinRefusal::NumbersExhausted => Reason::RoomFull,
            JoinRefusal::BuyerLimit => Reason::BuyerLimit,
            JoinRefusal::NoSuchLane => Reason::Internal,
        })
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
