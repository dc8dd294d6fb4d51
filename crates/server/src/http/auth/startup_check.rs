//! What must be settled before a server listens.

use std::net::IpAddr;

use thiserror::Error;

use super::Access;

/// Why a server may not start as it is set up.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StartError {
    /// Others could reach it, and anyone could use it.
    #[error(
        "{bind} can be reached from other machines and nobody is asked for a token: set a token, a tokens file or an OAuth issuer, or listen on 127.0.0.1"
    )]
    Unprotected {
        /// The address that was to be listened on.
        bind: IpAddr,
    },
}

/// Whether a server may listen on this address with this access. Without tokens it may be
/// reached from this machine only.
pub fn check_start(bind: IpAddr, access: &Access) -> Result<(), StartError> {
    if access.is_open() && !bind.to_canonical().is_loopback() {
        return Err(StartError::Unprotected { bind });
    }
    Ok(())
}
