//! The cryptography of TLS, which a process chooses once.

/// Chooses it, unless that was done. `reqwest` asks for one even where it speaks plain HTTP, as soon as any crate of the build
/// has its TLS switched on.
pub(crate) fn provide() {
    // The first one counts, and all are the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
