//! Typed reading of one TOML table.
