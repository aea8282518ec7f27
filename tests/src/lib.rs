//! Harness: guards that start and stop the real parts.
