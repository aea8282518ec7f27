//! Whether a key may spend a cost now.
