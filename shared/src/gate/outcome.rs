//! How a gated request ended, as the shop's reply tells it.

use crate::http::reason::Reason;
use crate::wire::Word;

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
/// use shared::gate::session_word;
/// use shared::wire::Word;
/// assert_eq!(session_word(" Finish "), Some(Word::Finish));
/// assert_eq!(session_word("stay"), None);
/// ```
pub fn session_word(field: &str) -> Option<Word> {
    match field.trim().to_ascii_lowercase().as_str() {
        "finish" => Some(Word::Finish),
        "revoke" => Some(Word::Revoke),
        "extend" => Some(Word::Extend),
        _ => None,
    }
}
