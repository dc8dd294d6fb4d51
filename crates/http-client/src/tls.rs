//! TLS: `ring` for cryptography and the system's certificates, for all outbound connections.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// The only protocol that the HTTP clients speak.
const HTTP_PROTOCOL: &[u8] = b"http/1.1";

/// Selects `ring` for TLS that others configure. The first call in the process counts; later ones
/// do nothing.
pub fn install_crypto() {
    // An error means that a crypto provider is installed already.
    let _ = ring::default_provider().install_default();
}

/// Returns the TLS configuration of this process. The system's certificates are loaded once, with
/// the first use; a failure to load them is not stored.
pub fn tls_config() -> Result<Arc<ClientConfig>, rustls::Error> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(Arc::clone(config));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(Arc::clone(CONFIG.get_or_init(|| Arc::new(config))))
}

/// Returns the configuration for HTTP clients, which name their protocol.
pub(crate) fn http_tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::clone(&*tls_config()?);
    config.alpn_protocols = vec![HTTP_PROTOCOL.to_vec()];
    Ok(config)
}
