//! New tokens, and the lines that let the server know them.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::tokens_file::{TokenProblem, is_valid_name, is_valid_pattern};

/// Marks a token as one of ours, for those who search texts for lost secrets.
const TOKEN_PREFIX: &str = "dlb_";

/// The system gave no random bytes.
#[derive(Debug, Error)]
#[error("the system gives no random bytes, so no token was made; try again")]
pub struct RandomnessError;

/// A token that nobody has yet.
#[derive(Debug)]
pub struct NewToken(SecretString);

impl NewToken {
    /// Makes one of 256 random bits.
    pub fn new() -> Result<Self, RandomnessError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|_| RandomnessError)?;
        let digits = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        Ok(Self(SecretString::from(format!("{TOKEN_PREFIX}{digits}"))))
    }

    /// The token itself, to be shown once.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The lines for the tokens file. They hold the digest, from which the token can't be had.
    pub fn to_toml(&self, name: &str, tools: &[String]) -> Result<String, TokenProblem> {
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
            // Writing to a string can't fail.
            let _ = write!(lines, "{byte:02x}");
        }
        lines.push_str("\"\n");
        if !tools.is_empty() {
            let tools: Vec<_> = tools.iter().map(|tool| format!("\"{tool}\"")).collect();
            let _ = writeln!(lines, "tools = [{}]", tools.join(", "));
        }
        Ok(lines)
    }
}
