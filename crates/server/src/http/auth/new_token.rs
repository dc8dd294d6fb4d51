//! Generates tokens and the lines of the tokens file for them.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use deliberate_core::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::tokens_file::{TokenProblem, is_valid_name, is_valid_pattern};

/// Marks a token as one of this server, for secret scanners.
const TOKEN_PREFIX: &str = "dlb_";

/// The operating system provided no random bytes.
#[derive(Debug, Error)]
#[error("the operating system provided no random bytes, so no token was created; try again")]
pub struct RandomnessError;

/// A newly generated token.
#[derive(Debug)]
pub struct NewToken(SecretString);

impl NewToken {
    /// Generates a token of 256 random bits.
    pub fn new() -> Result<Self, RandomnessError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|_| RandomnessError)?;
        let digits = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        Ok(Self(SecretString::from(format!("{TOKEN_PREFIX}{digits}"))))
    }

    /// The token itself, to be shown only once.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The lines for the tokens file. They contain the digest, from which the token cannot be
    /// recovered.
    pub fn to_toml(
        &self,
        name: &str,
        tools: &[String],
        expires_at: Option<Timestamp>,
    ) -> Result<String, TokenProblem> {
        if !is_valid_name(name) {
            return Err(TokenProblem::WrongName);
        }
        if !tools.iter().all(|pattern| is_valid_pattern(pattern)) {
            return Err(TokenProblem::WrongPattern);
        }
        let mut lines = if name.contains('.') {
            format!("[\"{name}\"]\n")
        } else {
            format!("[{name}]\n")
        };
        lines.push_str("sha256 = \"");
        for byte in Sha256::digest(self.expose().as_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(lines, "{byte:02x}");
        }
        lines.push_str("\"\n");
        if !tools.is_empty() {
            let tools: Vec<_> = tools.iter().map(|tool| format!("\"{tool}\"")).collect();
            let _ = writeln!(lines, "tools = [{}]", tools.join(", "));
        }
        if let Some(expires_at) = expires_at {
            let _ = writeln!(lines, "expires = {expires_at}");
        }
        Ok(lines)
    }
}
