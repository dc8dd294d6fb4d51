//! The check of address and access before a server listens.

use std::net::IpAddr;

use thiserror::Error;

use super::Access;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum StartError {
    /// Other machines could reach the server, and it would accept every request.
    #[error(
        "{bind} is reachable from other machines and no token is required: set a token, a tokens file or an OAuth issuer, or listen on 127.0.0.1"
    )]
    Unprotected { bind: IpAddr },
}

/// Tells whether a server may listen on this address with this access. Without authentication it
/// may listen only on this machine.
pub fn check_start(bind: IpAddr, access: &Access) -> Result<(), StartError> {
    if access.is_open() && !bind.to_canonical().is_loopback() {
        return Err(StartError::Unprotected { bind });
    }
    Ok(())
}
