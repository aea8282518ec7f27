//! How a gated request ended, as the shop's reply tells it.

use crate::http::reason::Reason;
use crate::wire::EndKind;

/// What the shop's status says about the add-to-cart.
///
/// ```
/// use shared::gate::outcome_of;
/// assert_eq!(outcome_of(303).code(), "CART_ACCEPTED");
/// assert_eq!(outcome_of(409).code(), "CART_REJECTED");
/// ```
pub const fn outcome_of(status: u16) -> Reason {
    match status {
        ..400 => Reason::CartAccepted,
        400..500 => Reason::CartRejected,
        500.. => Reason::CartFailed,
    }
}

/// What the shop's `Fairgate-Session` field asks for; `None` for any other word.
///
/// ```
/// use shared::gate::session_end;
/// use shared::wire::EndKind;
/// assert_eq!(session_end(" Finish "), Some(EndKind::Finish));
/// assert_eq!(session_end("extend"), None);
/// ```
pub fn session_end(field: &str) -> Option<EndKind> {
    match field.trim().to_ascii_lowercase().as_str() {
        "finish" => Some(EndKind::Finish),
        "revoke" => Some(EndKind::Revoke),
        _ => None,
    }
}
