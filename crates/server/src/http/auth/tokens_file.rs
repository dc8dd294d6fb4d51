//! The file of tokens: a table for each holder, with the token or its digest and what it allows.
//!
//! Mistakes are told by file, table and key; what the file holds is never repeated.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use deliberate_toolkit::ToolScope;
use secrecy::SecretString;
use thiserror::Error;
use toml::{Table, Value};

use super::tokens::{MIN_TOKEN_LEN, TokenDigest, Tokens, token_digest};

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The longest name of a holder.
const MAX_NAME_LEN: usize = 64;

/// Why tokens can't be used.
#[derive(Debug, Error)]
pub enum TokensError {
    /// The file can't be read.
    #[error("the tokens file {} can't be read: {source}; check the path and its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is larger than any list of tokens.
    #[error("the tokens file {} is larger than 1 MiB; is it the right file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not TOML.
    #[error("line {line} of the tokens file {} is not TOML; each holder is a table, as in [alice]", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Where the trouble begins.
        line: usize,
    },
    /// The file names nobody.
    #[error("the tokens file {} holds no token; add one with \"deliberate token new <name>\"", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Something in a holder's table is wrong.
    #[error("in the tokens file {}, [{name}]: {problem}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The holder.
        name: String,
        /// What is wrong.
        problem: TokenProblem,
    },
    /// The one token that allows everything can't be used.
    #[error("the token: {0}")]
    Token(TokenProblem),
    /// Two lists of tokens don't go together.
    #[error("the token of {name}: {problem}")]
    Conflict {
        /// The holder.
        name: String,
        /// What is wrong.
        problem: TokenProblem,
    },
}

/// What is wrong with a token or its table.
#[derive(Debug, Error)]
pub enum TokenProblem {
    /// It could be guessed.
    #[error(
        "`token` is shorter than {MIN_TOKEN_LEN} characters; make one with \"deliberate token new <name>\""
    )]
    TooShort,
    /// It could not be sent.
    #[error(
        "`token` has spaces or letters that a header can't carry; use ASCII letters and digits"
    )]
    NotAscii,
    /// It is no digest.
    #[error("`sha256` is not 64 hexadecimal digits; make it with \"deliberate token new <name>\"")]
    NotDigest,
    /// Neither or both are given.
    #[error("give either `token` or `sha256`")]
    TokenOrDigest,
    /// A key holds something else.
    #[error("`{key}` must be {wanted}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A key that means nothing.
    #[error("`{key}` is not known; the keys are `token`, `sha256` and `tools`")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A list that allows nothing.
    #[error("`tools` lists nothing; name a tool, or leave it out to allow every tool")]
    NoTools,
    /// A pattern that means nothing.
    #[error(
        "`tools` may hold names of letters, digits, \"_\", \"-\", \".\" and \"/\", with one \"*\" at the end"
    )]
    WrongPattern,
    /// A name that can't be shown.
    #[error("a name has 1 to {MAX_NAME_LEN} letters, digits, \"_\", \"-\" and \".\"")]
    WrongName,
    /// Not a table.
    #[error("must be a table with `token` or `sha256`")]
    NotTable,
    /// Somebody else has it.
    #[error("that name is taken; each holder needs their own")]
    DuplicateName,
    /// Somebody else has it.
    #[error("holds the same token as [{twin}]; each holder needs their own")]
    DuplicateToken {
        /// The other holder.
        twin: String,
    },
}

impl Tokens {
    /// Reads a file of tokens.
    pub fn from_file(path: &Path) -> Result<Self, TokensError> {
        let unreadable = |source| TokensError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let mut text = String::new();
        std::fs::File::open(path)
            .map_err(unreadable)?
            .take(MAX_FILE_BYTES + 1)
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
            // The error's own words show the line, and with it the token.
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
        if let Some(key) = table.keys().next() {
            // It may be a token that was put in the place of a key.
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
        self.add(name, digest, scope)
    }
}

/// Whether it can name the holder of a token.
pub(super) fn is_valid_name(name: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(is_name_byte)
}

/// Whether it can stand for tools.
pub(super) fn is_valid_pattern(pattern: &str) -> bool {
    let name = pattern.strip_suffix('*').unwrap_or(pattern);
    (1..=128).contains(&pattern.len())
        && name.bytes().all(|byte| is_name_byte(byte) || byte == b'/')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// A name or key as it may be shown.
fn truncate_for_display(text: &str, most: usize) -> String {
    let mut start = text.chars().take(most).collect::<String>();
    if start.len() < text.len() {
        start.push('…');
    }
    start.escape_debug().to_string()
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
