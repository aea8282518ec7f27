//! The one source of chance in a Worker.

use shared::limiter::key::TableSeed;
use uuid::Uuid;

/// A layout of a table that nobody outside can know.
pub(crate) fn table_seed() -> TableSeed {
    TableSeed(*Uuid::new_v4().as_bytes())
}
