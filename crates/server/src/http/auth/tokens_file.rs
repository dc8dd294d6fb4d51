//! Reads the tokens file: one table per principal with the token or its digest and the allowed
//! tools.
//!
//! Errors name the file, table and key and never repeat the contents of the file.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use deliberate_core::{Timestamp, ellipsize};
use deliberate_toolkit::ToolScope;
use secrecy::SecretString;
use thiserror::Error;
use toml::{Table, Value};

use super::tokens::{MIN_TOKEN_LEN, TokenDigest, Tokens, token_digest};

const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The longest name of a principal.
const MAX_NAME_LEN: usize = 64;

#[derive(Debug, Error)]
pub enum TokensError {
    #[error("the tokens file {} cannot be read: {source}; check the path and its permissions", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Other users of the machine can read or change the file.
    #[error("other users can read or change the tokens file {0}; run \"chmod 600 {0}\", or mount it with mode 0440", path.display())]
    NotPrivate { path: PathBuf },
    /// The file is too large to be a tokens file.
    #[error("the tokens file {} is larger than 1 MiB; is it the right file?", path.display())]
    TooLarge { path: PathBuf },
    #[error("line {line} of the tokens file {} is not TOML; each holder is a table, as in [alice]", path.display())]
    NotToml {
        path: PathBuf,
        /// The line of the error.
        line: usize,
    },
    /// The file contains no token.
    #[error("the tokens file {} contains no token; add one with \"deliberate token new <name>\"", path.display())]
    Empty { path: PathBuf },
    /// A table has a fault.
    #[error("in the tokens file {}, [{name}]: {problem}", path.display())]
    Entry {
        path: PathBuf,
        name: String,
        problem: TokenProblem,
    },
    /// The single token cannot be used.
    #[error("the token: {0}")]
    Token(TokenProblem),
    /// Two sets of tokens share a name or a token.
    #[error("the token of {name}: {problem}")]
    Conflict { name: String, problem: TokenProblem },
}

/// A fault of a token or its table.
#[derive(Debug, Error)]
pub enum TokenProblem {
    #[error(
        "`token` is shorter than {MIN_TOKEN_LEN} characters; create one with \"deliberate token new <name>\""
    )]
    TooShort,
    #[error("`token` is easy to guess; create one with \"deliberate token new <name>\"")]
    Guessable,
    #[error(
        "`token` contains spaces or characters that a header cannot carry; use ASCII letters and digits"
    )]
    NotAscii,
    #[error(
        "`sha256` is not 64 hexadecimal digits; create it with \"deliberate token new <name>\""
    )]
    NotDigest,
    /// Neither or both of `token` and `sha256` are given.
    #[error("give either `token` or `sha256`")]
    TokenOrDigest,
    #[error("`{key}` must be {wanted}")]
    WrongType {
        key: &'static str,
        wanted: &'static str,
    },
    #[error("`{key}` is unknown; the keys are `token`, `sha256`, `tools` and `expires`")]
    UnknownKey { key: String },
    #[error("`tools` is empty; name a tool, or omit it to allow every tool")]
    NoTools,
    #[error(
        "`tools` may contain names of letters, digits, \"_\", \"-\", \".\" and \"/\", with one \"*\" at the end"
    )]
    WrongPattern,
    #[error("a name has 1 to {MAX_NAME_LEN} letters, digits, \"_\", \"-\" and \".\"")]
    WrongName,
    #[error("must be a table with `token` or `sha256`")]
    NotTable,
    #[error("the name is already used; each holder needs their own")]
    DuplicateName,
    #[error("has the same token as [{twin}]; each holder needs their own")]
    DuplicateToken {
        /// The other principal with the same token.
        twin: String,
    },
}

impl Tokens {
    pub fn from_file(path: &Path) -> Result<Self, TokensError> {
        let unreadable = |source| TokensError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        if !is_private(&file.metadata().map_err(unreadable)?) {
            return Err(TokensError::NotPrivate {
                path: path.to_owned(),
            });
        }
        file.take(MAX_FILE_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(TokensError::TooLarge {
                path: path.to_owned(),
            });
        }
        Self::from_text(path, &text)
    }

    fn from_text(path: &Path, text: &str) -> Result<Self, TokensError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            // The message of the TOML error quotes the line, and with it the token.
            let start = error.span().map_or(0, |span| span.start);
            let before = text.bytes().take(start);
            TokensError::NotToml {
                path: path.to_owned(),
                line: 1 + before.filter(|byte| *byte == b'\n').count(),
            }
        })?;
        let mut tokens = Self::default();
        for (name, value) in table {
            tokens
                .add_table(&name, value)
                .map_err(|problem| TokensError::Entry {
                    path: path.to_owned(),
                    name: truncate_for_display(&name, MAX_NAME_LEN),
                    problem,
                })?;
        }
        if tokens.names().next().is_none() {
            return Err(TokensError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(tokens)
    }

    fn add_table(&mut self, name: &str, value: Value) -> Result<(), TokenProblem> {
        let Value::Table(mut table) = value else {
            return Err(TokenProblem::NotTable);
        };
        if !is_valid_name(name) {
            return Err(TokenProblem::WrongName);
        }
        let digest = parse_digest(&mut table)?;
        let scope = parse_scope(table.remove("tools"))?;
        let expires_at = table.remove("expires").map(|value| parse_time(&value));
        if let Some(key) = table.keys().next() {
            // It may be a token in the place of a key, so it is shortened.
            let key = truncate_for_display(
                key,
                if key.len() < MIN_TOKEN_LEN {
                    MIN_TOKEN_LEN
                } else {
                    4
                },
            );
            return Err(TokenProblem::UnknownKey { key });
        }
        self.add(name, digest, scope, expires_at.transpose()?)
    }
}

/// Tells whether only its owner can change a file, and only the owner and the group can read it: a
/// secret that Kubernetes mounts with `fsGroup` is readable by the group. Where files have no mode,
/// every file counts as private.
pub fn is_private(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        /// The rights of others, and of the group beside reading.
        const FOREIGN_RIGHTS: u32 = 0o037;
        (metadata.permissions().mode() & FOREIGN_RIGHTS) == 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}

/// Parses a date or a moment, which is UTC unless it names a zone.
fn parse_time(value: &Value) -> Result<Timestamp, TokenProblem> {
    let text = match value {
        Value::Datetime(moment) => moment.to_string(),
        Value::String(text) => text.clone(),
        _ => String::new(),
    };
    Timestamp::parse(&text).ok_or(TokenProblem::WrongType {
        key: "expires",
        wanted: "a date or a moment, such as 2027-01-31T12:00:00Z",
    })
}

/// Tells whether a text can be the name of a principal.
pub(super) fn is_valid_name(name: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(is_name_byte)
}

/// Tells whether a text is a valid tool pattern.
pub(super) fn is_valid_pattern(pattern: &str) -> bool {
    let name = pattern.strip_suffix('*').unwrap_or(pattern);
    (1..=128).contains(&pattern.len())
        && name.bytes().all(|byte| is_name_byte(byte) || byte == b'/')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Shortens a name or key for display.
fn truncate_for_display(text: &str, most: usize) -> String {
    ellipsize(text, most).escape_debug().to_string()
}

fn parse_digest(table: &mut Table) -> Result<TokenDigest, TokenProblem> {
    match (table.remove("token"), table.remove("sha256")) {
        (Some(Value::String(token)), None) => token_digest(&SecretString::from(token)),
        (None, Some(Value::String(digits))) => parse_hex(&digits).ok_or(TokenProblem::NotDigest),
        (Some(_), None) => Err(TokenProblem::WrongType {
            key: "token",
            wanted: "a string",
        }),
        (None, Some(_)) => Err(TokenProblem::WrongType {
            key: "sha256",
            wanted: "a string",
        }),
        _ => Err(TokenProblem::TokenOrDigest),
    }
}

fn parse_scope(tools: Option<Value>) -> Result<ToolScope, TokenProblem> {
    let Some(tools) = tools else {
        return Ok(ToolScope::All);
    };
    let wrong = || TokenProblem::WrongType {
        key: "tools",
        wanted: "a list of strings",
    };
    let patterns = tools
        .as_array()
        .ok_or_else(wrong)?
        .iter()
        .map(|pattern| pattern.as_str().ok_or_else(wrong))
        .collect::<Result<Vec<_>, _>>()?;
    if patterns.is_empty() {
        return Err(TokenProblem::NoTools);
    }
    if !patterns.iter().all(|pattern| is_valid_pattern(pattern)) {
        return Err(TokenProblem::WrongPattern);
    }
    let patterns: Arc<[String]> = patterns.into_iter().map(str::to_owned).collect();
    Ok(ToolScope::Only(patterns))
}

fn parse_hex(digits: &str) -> Option<TokenDigest> {
    let mut digest = TokenDigest::default();
    if digits.len() != 2 * digest.len() {
        return None;
    }
    let mut nibbles = digits.chars().map(|digit| digit.to_digit(16));
    for byte in &mut digest {
        let (high, low) = (nibbles.next()??, nibbles.next()??);
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(digest)
}
