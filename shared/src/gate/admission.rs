//! Whether a gated request may go on to the shop.

use super::EndedPlaces;
use crate::http::cors::Caller;
use crate::http::reason::Reason;
use crate::ids::{EventId, Place};
use crate::time::Timestamp;
use crate::token::pass::jwt_of;
use crate::token::{EdgeKeys, PassClaims, PassError};
use crate::wire::{Phase, Snapshot};
use core::time::Duration;

/// How long a pass is honoured past its end while the queue server cannot be reached to renew it. JWT libraries allow a
/// minute of clock difference by default, so most shops honour it too.
pub const PASS_GRACE: Duration = Duration::from_secs(60);

/// What passes are checked against.
#[derive(Clone, Copy, Debug)]
pub struct PassView<'a> {
    /// The edge's keys.
    pub keys: &'a EdgeKeys,
    /// The event that sells the SKU.
    pub event: &'a EventId,
    /// The shop's id, the audience of its passes.
    pub shop_id: &'a str,
    /// Sessions that ended before their pass did.
    pub ended: &'a EndedPlaces,
    /// The last snapshot, if there is one.
    pub snapshot: Option<&'a Snapshot>,
    /// The time of the request.
    pub now: Timestamp,
    /// The same moment by the queue server's clock. A pass is over when either clock says so: a session ends by the
    /// server's, and after a fault of that clock the edge's may be right.
    pub server_time: Timestamp,
    /// The queue server is out of reach, so that no pass can be renewed.
    pub is_server_away: bool,
}

/// A pass that lets its holder on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldPass<'r> {
    /// The JWT, for the shop.
    pub jwt: &'r str,
    /// The place of its session.
    pub place: Place,
    /// Less than half of its life is left: the request renews it by the way.
    pub renews: bool,
}

/// What to do with a gated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission<'r> {
    /// On to the shop with this pass.
    Pass(HeldPass<'r>),
    /// Nobody seems to wait: ask the queue server to join and enter in one call.
    Ask,
    /// Not now: the waiting page, or a refusal with this reason.
    Wait(Reason),
}

/// The first of `passes` that lets its holder on.
pub fn find_pass<'r>(view: &PassView<'_>, passes: &[&'r str]) -> Option<HeldPass<'r>> {
    passes.iter().find_map(|cookie| {
        let claims = match view.keys.open_pass(cookie, view.event, view.latest()) {
            Ok(claims) => claims,
            Err(PassError::Expired(claims)) if view.is_in_grace(&claims) => *claims,
            Err(_) => return None,
        };
        let place = claims.jti.place;
        let is_held = claims.aud == view.shop_id && !view.ended.contains(place);
        let jwt = jwt_of(cookie).filter(|_| is_held)?;
        Some(HeldPass { jwt, place, renews: !view.is_server_away && is_half_over(&claims, view.latest()) })
    })
}

/// What to do with a gated request that presents `passes`.
///
/// A page of another site may send its visitors' browsers here without their knowing. It takes no places for them: they are shown the
/// waiting page, which joins where they see it.
pub fn admit<'r>(view: &PassView<'_>, passes: &[&'r str], caller: Caller<'_>) -> Admission<'r> {
    if let Some(pass) = find_pass(view, passes) {
        return Admission::Pass(pass);
    }
    let Some(snapshot) = view.snapshot else { return Admission::Wait(Reason::SnapshotUnavailable) };
    match snapshot.phase {
        Phase::Open | Phase::Passthrough if caller == Caller::Foreign => {
            Admission::Wait(Reason::QueueRequired)
        }
        Phase::Passthrough => Admission::Ask,
        Phase::Open if snapshot.session_free => Admission::Ask,
        Phase::Open | Phase::Lobby | Phase::Drawing => Admission::Wait(Reason::QueueRequired),
        phase => Admission::Wait(phase.reason().unwrap_or(Reason::QueueRequired)),
    }
}

/// What the queue server said to a request to join and enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'r> {
    /// It let the buyer in with this pass cookie.
    Entered(&'r str),
    /// It gave the buyer a place in line.
    InLine,
    /// It gave no place, for a reason of this buyer or of the event.
    Refused(Reason),
    /// It did not answer.
    Unreachable,
}

/// What to do with a gated request after the queue server was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered<'r> {
    /// On to the shop with this pass.
    Pass(HeldPass<'r>),
    /// On to the shop without proof, because there is no need to queue and nobody to sign one: counted, and over with
    /// the fault.
    Unproved,
    /// The waiting page, or a refusal with this reason.
    Wait(Reason),
}

/// What the answer to [`Admission::Ask`] means.
pub fn after_asking<'r>(view: &PassView<'_>, asked: Asked<'r>) -> Entered<'r> {
    match asked {
        Asked::Entered(cookie) => {
            find_pass(view, &[cookie]).map_or(Entered::Wait(Reason::QueueRequired), Entered::Pass)
        }
        Asked::InLine => Entered::Wait(Reason::QueueRequired),
        Asked::Refused(reason) => Entered::Wait(reason),
        Asked::Unreachable if view.is_passthrough() => Entered::Unproved,
        Asked::Unreachable => Entered::Wait(Reason::QueueUnreachable),
    }
}

impl PassView<'_> {
    fn is_passthrough(&self) -> bool {
        self.snapshot.is_some_and(|snapshot| snapshot.phase == Phase::Passthrough)
    }

    fn latest(&self) -> Timestamp {
        self.now.max(self.server_time)
    }

    fn is_in_grace(&self, claims: &PassClaims) -> bool {
        self.is_server_away && self.latest().as_secs() < claims.exp.saturating_add(PASS_GRACE.as_secs())
    }
}

fn is_half_over(claims: &PassClaims, now: Timestamp) -> bool {
    let life_s = claims.exp.saturating_sub(claims.iat);
    claims.exp.saturating_sub(now.as_secs()) < life_s.div_ceil(2)
}
