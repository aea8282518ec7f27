//! Invitation codes: issuing and counting them.

use super::{call::Call, error::Refusal, guard::named, limits::json_body, operator::room, reply::json};
use crate::{access::Role, app::App, codes, rooms::ActiveRoom};
use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
    routing::get,
};
use serde::{Deserialize, Serialize};
use shared::{
    http::reason::Reason,
    ids::{CodeHash, LaneId},
    room::CodeCount,
};
use std::sync::Arc;
use tracing::info;

/// Codes of one call.
const CODES_MAX: u32 = 1_000;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/events/{event}/codes", get(counts).post(issue))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    lane: String,
    /// Codes to issue.
    count: u32,
    /// Buyers that each lets in.
    #[serde(default = "one")]
    uses: u32,
}

fn one() -> u32 {
    1
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Issued {
    /// Shown here and nowhere again: only their hashes are kept.
    codes: Vec<String>,
    lane: LaneCodes,
}

#[derive(Serialize)]
struct Counts {
    lanes: Vec<LaneCodes>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LaneCodes {
    lane: String,
    codes: u32,
    uses: u32,
    held: u32,
    spent: u32,
    uses_max: u32,
}

impl LaneCodes {
    fn of(room: &ActiveRoom, lane: LaneId, count: CodeCount) -> Self {
        let CodeCount { codes, uses, held, spent, uses_max } = count;
        Self { lane: room.lane_name(lane).to_owned(), codes, uses, held, spent, uses_max }
    }
}

/// `GET /v1/events/{event}/codes`
async fn counts(State(app): State<Arc<App>>, Path(event): Path<String>, call: Call) -> Response {
    let answer = async {
        let (room, _) = room(&app, &call, &event, Role::Read)?;
        let mut lanes = Vec::new();
        for lane in (0..room.settings.lanes.len()).map(LaneId::at) {
            let count = room.store.code_count(lane).await?;
            lanes.extend(count.map(|count| LaneCodes::of(room, lane, count)));
        }
        json(StatusCode::OK, &Counts { lanes })
    };
    named("event_codes", call.answer(answer.await))
}

/// `POST /v1/events/{event}/codes`
async fn issue(State(app): State<Arc<App>>, Path(event): Path<String>, call: Call) -> Response {
    let answer = async {
        let (room, by) = room(&app, &call, &event, Role::Operate)?;
        let Batch { lane, count, uses } = json_body(&call)?;
        if !(1..=CODES_MAX).contains(&count) {
            return Err(Refusal::new(Reason::ActionInvalid).detail(format!("count is 1 to {CODES_MAX}")));
        }
        let unknown = || Refusal::new(Reason::ActionInvalid).detail("the event has no such lane");
        let lane = room.lane_named(&lane).ok_or_else(unknown)?;
        let minted: Result<Vec<String>, _> = (0..count).map(|_| codes::mint()).collect();
        let minted = minted.map_err(|error| Refusal::internal(&error))?;
        let hashes: Vec<CodeHash> = minted.iter().filter_map(|code| codes::hash(&room.event, code)).collect();
        let counted = room.store.issue_codes(lane, uses, hashes).await??;
        info!(event = %room.event, by, lane = room.lane_name(lane), count, uses, "codes are issued");
        json(StatusCode::CREATED, &Issued { codes: minted, lane: LaneCodes::of(room, lane, counted) })
    };
    named("event_codes_issue", call.answer(answer.await))
}
