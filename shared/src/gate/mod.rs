//! What to do with a request: the decisions of the edge, in the order in which it makes them.
//!
//! | step | decided by | answer |
//! |---|---|---|
//! | what is it | [`route::find`](crate::http::route::find) | a call of Fairgate, a gated mutation, anything else, or a refusal |
//! | who asks | [`Buyer::read`] | address, device, tickets and passes |
//! | too fast | [`Plan`], [`judge`], [`Ledger`] | which keys to charge, in which stages and homes; the refusal; what is given back |
//! | what is it about | [`sku::extract`](crate::http::sku::extract) | the SKU, and by it the event |
//! | may it go on | [`admit`] | on with a pass, in by one call to the queue server, or wait |
//! | did that call open | [`after_asking`] | on with the new pass, on without proof, or wait |
//! | how did it end | [`outcome_of`], [`session_word`] | what the queue server is told |
//!
//! The host only performs: it holds the memory ([`SnapshotSlot`], [`EndedPlaces`], [`Reports`]), reads the clock once a
//! request, and sends what these functions say.

mod admission;
mod buyer;
mod ended;
mod forwarding;
mod limit_counts;
mod limits;
mod outcome;
mod renewal;
mod reports;
mod snapshots;

pub use admission::{
    Admission, Asked, Entered, HeldPass, PASS_GRACE, PassView, admit, after_asking, find_pass,
};
pub use buyer::{Buyer, COOKIE_BYTES_MAX, TicketFound};
pub use ended::{EndedPlaces, PLACES_MAX};
pub use forwarding::{
    REPLY_TIME_MAX, fairgate_cookies, hides_method, is_disguised, is_for_this_hop_only, is_ours,
    overrides_method, return_path_of, speaks_as_proxy,
};
pub use limit_counts::LimitTally;
pub use limits::{
    Bound, Home, HomeCall, HomeCheck, Ledger, Limit, MEMBER_BYTES_MAX, Plan, Stage, Subject, Verdict,
    by_home, judge, limit_of, permits_end_soon, poll_limit, refused_already,
};
pub use outcome::{outcome_of, session_word};
pub use renewal::{Look, RENEWAL_TIME_MAX, Renewal};
pub use reports::{
    Batch, OriginEnd, POLLS_PER_REPORT_MAX, REPORT_EVERY, Reports, SESSIONS_WATCHED_MAX, WORDS_MAX,
    WORDS_PER_REPORT_MAX,
};
pub use snapshots::{
    SNAPSHOT_FRESH_FOR, SNAPSHOT_IDLE_AFTER, SNAPSHOT_KEPT_FOR, SNAPSHOTS_IN_USE, SnapshotSlot,
};
