//! Whom the client trusts where the service is behind TLS.

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::sync::Arc;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the authorities are not certificates in PEM")]
    Authorities,
    #[error("TLS cannot be set up: {0}")]
    Versions(#[from] rustls::Error),
}

/// Asks with a body, over TLS where the address says `https`.
pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

pub(crate) fn client_trusting(authorities_pem: &[u8]) -> Result<HttpClient, TlsError> {
    let tls = HttpsConnectorBuilder::new().with_tls_config(trusting(authorities_pem)?);
    Ok(Client::builder(TokioExecutor::new()).build(tls.https_or_http().enable_http1().build()))
}

/// The authorities of the system and those of `authorities_pem`. A system that has none is no error: where the service speaks
/// plain HTTP, none is needed.
fn trusting(authorities_pem: &[u8]) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let before = roots.len();
    for authority in CertificateDer::pem_slice_iter(authorities_pem) {
        let authority = authority.map_err(|_| TlsError::Authorities)?;
        roots.add(authority).map_err(|_| TlsError::Authorities)?;
    }
    if roots.len() == before && !authorities_pem.is_empty() {
        return Err(TlsError::Authorities);
    }
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}
