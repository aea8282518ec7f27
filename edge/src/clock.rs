//! The time, as the runtime tells it: in milliseconds, and standing still between I/O.

use shared::time::Timestamp;
use worker::Date;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(Date::now().as_millis())
}
