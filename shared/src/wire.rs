//! The JSON of the HTTP contract (see `docs/protocol.md`).
