//! Tokens that the operator issued. Only their digests are stored.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use deliberate_core::{Clock as _, SystemClock, Timestamp};
use deliberate_toolkit::{Principal, ToolScope};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::tokens_file::{TokenProblem, TokensError};

/// The shortest token that is safe against guessing.
pub(super) const MIN_TOKEN_LEN: usize = 16;

/// The fewest different characters of a token. Sixteen random hexadecimal digits have fewer once in
/// thousands of tokens.
const MIN_DISTINCT_CHARS: usize = 6;

/// The principal name of the single token that allows everything.
const SINGLE_TOKEN_NAME: &str = "token";

/// The SHA-256 digest of a token.
pub(super) type TokenDigest = [u8; 32];

/// The accepted tokens with their principals.
#[derive(Clone, Default)]
pub struct Tokens {
    entries: Vec<TokenEntry>,
}

#[derive(Clone)]
struct TokenEntry {
    digest: TokenDigest,
    principal: Principal,
    /// When the token stops working.
    expires_at: Option<Timestamp>,
}

/// The accepted tokens of a running server, which can be replaced.
#[derive(Debug, Clone, Default)]
pub struct SharedTokens(Arc<RwLock<Arc<Tokens>>>);

impl From<Tokens> for SharedTokens {
    fn from(tokens: Tokens) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(tokens))))
    }
}

impl SharedTokens {
    /// Accepts these tokens from now on and no others.
    pub fn replace(&self, tokens: Tokens) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tokens);
    }

    /// Returns the tokens that are accepted now.
    pub fn current(&self) -> Arc<Tokens> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Tokens {
    /// Accepts one token that allows everything.
    pub fn single(token: &SecretString) -> Result<Self, TokensError> {
        let mut tokens = Self::default();
        let digest = token_digest(token).map_err(TokensError::Token)?;
        tokens
            .add(SINGLE_TOKEN_NAME, digest, ToolScope::All, None)
            .map_err(TokensError::Token)?;
        Ok(tokens)
    }

    /// Combines two sets of tokens. Fails if they share a name or a token.
    pub fn merge(mut self, others: Self) -> Result<Self, TokensError> {
        for entry in others.entries {
            let name = entry.principal.name.unwrap_or_default();
            self.add(&name, entry.digest, entry.principal.scope, entry.expires_at)
                .map_err(|problem| TokensError::Conflict {
                    name: name.to_string(),
                    problem,
                })?;
        }
        Ok(self)
    }

    /// The names of the principals.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter_map(|entry| entry.principal.name.as_deref())
    }

    pub(super) fn add(
        &mut self,
        name: &str,
        digest: TokenDigest,
        scope: ToolScope,
        expires_at: Option<Timestamp>,
    ) -> Result<(), TokenProblem> {
        if self.names().any(|taken| taken == name) {
            return Err(TokenProblem::DuplicateName);
        }
        if let Some(twin) = self.entries.iter().find(|entry| entry.digest == digest) {
            let twin = twin.principal.name.as_deref().unwrap_or_default();
            return Err(TokenProblem::DuplicateToken {
                twin: twin.to_owned(),
            });
        }
        self.entries.push(TokenEntry {
            digest,
            principal: Principal {
                name: Some(Arc::from(name)),
                scope,
            },
            expires_at,
        });
        Ok(())
    }

    /// The principal of a token that has not expired. It compares with every token in constant time, so that the
    /// duration reveals nothing.
    pub(super) fn owner(&self, token: &str) -> Option<Principal> {
        let digest: TokenDigest = Sha256::digest(token.as_bytes()).into();
        let mut found = 0_u64;
        for (entry, place) in self.entries.iter().zip(1_u64..) {
            let same: Choice = entry.digest.ct_eq(&digest);
            found.conditional_assign(&place, same);
        }
        let place = usize::try_from(found.checked_sub(1)?).ok()?;
        let entry = self.entries.get(place)?;
        let is_expired = entry
            .expires_at
            .is_some_and(|expires_at| expires_at <= SystemClock.now());
        (!is_expired).then(|| entry.principal.clone())
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

/// Hashes a token after checking its form and length.
pub(super) fn token_digest(token: &SecretString) -> Result<TokenDigest, TokenProblem> {
    let token = token.expose_secret();
    if token.chars().count() < MIN_TOKEN_LEN {
        return Err(TokenProblem::TooShort);
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenProblem::NotAscii);
    }
    if is_guessable(token.as_bytes()) {
        return Err(TokenProblem::Guessable);
    }
    Ok(Sha256::digest(token.as_bytes()).into())
}

/// Tells whether a token has few different characters, repeats a short text or counts up or down.
fn is_guessable(token: &[u8]) -> bool {
    let distinct: BTreeSet<u8> = token.iter().copied().collect();
    let repeats = (1..=token.len() / 2).any(|period| {
        let later = token.iter().skip(period);
        token.iter().zip(later).all(|(one, other)| one == other)
    });
    let neighbors = token.iter().zip(token.iter().skip(1));
    let steps = neighbors.filter(|(one, next)| one.abs_diff(**next) <= 1);
    let counts = steps.count() * 4 >= token.len() * 3;
    distinct.len() < MIN_DISTINCT_CHARS || repeats || counts
}
