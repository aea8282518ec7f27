//! Whom the client trusts where the service is behind TLS.

use crate::client::SetupError;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::sync::Arc;

/// The authorities of the system and those of `authorities_pem`. A system that has none is no error: where the service speaks
/// plain HTTP, none is needed.
pub(crate) fn trusting(authorities_pem: &[u8]) -> Result<ClientConfig, SetupError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let before = roots.len();
    for authority in CertificateDer::pem_slice_iter(authorities_pem) {
        let authority = authority.map_err(|_| SetupError::Authorities)?;
        roots.add(authority).map_err(|_| SetupError::Authorities)?;
    }
    if roots.len() == before && !authorities_pem.is_empty() {
        return Err(SetupError::Authorities);
    }
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}
