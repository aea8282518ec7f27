//! Checks that need the whole file.
