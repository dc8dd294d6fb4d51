//! From the text of a flag, a variable or a line of the file to a value of the right kind, or to a
//! sentence about what is wrong with it. Defaults take the same way, so that the table cannot hold
//! one that its own rules refuse.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::environment::Environment;
use super::error::ConfigError;
use super::origin::Origin;
use super::table::{Kind, Setting};

/// Long enough to recognise a value, short enough for one line of a terminal.
const SHOWN_CHARS: usize = 60;

/// The name of a database without a file; it is no path to be completed.
pub(super) const IN_MEMORY: &str = ":memory:";

/// A checked value.
pub(super) enum Value {
    Text(String),
    Secret(SecretString),
    Integer(u64),
    Number(f64),
    Switch(bool),
    Word(&'static str),
    Path(PathBuf),
    Texts(Vec<String>),
    Words(Vec<&'static str>),
    Paths(Vec<PathBuf>),
    Address(SocketAddr),
}

impl Value {
    /// For `deliberate config`.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Secret(_) => "set (hidden)".to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Switch(true) => "on".to_owned(),
            Self::Switch(false) => "off".to_owned(),
            Self::Word(word) => (*word).to_owned(),
            Self::Path(path) => path.display().to_string(),
            Self::Texts(texts) => texts.join(", "),
            Self::Words(words) => words.join(", "),
            Self::Paths(paths) => {
                let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
                paths.join(", ")
            }
            Self::Address(address) => address.to_string(),
        }
    }
}

/// Reads `text`, found at `origin`, as a value of `setting`.
pub(super) fn parse(
    setting: &'static Setting,
    text: &str,
    origin: &Origin,
    environment: &Environment,
) -> Result<Value, ConfigError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ConfigError::Empty {
            key: setting.key,
            place: origin.clone(),
        });
    }
    read(&setting.kind, text, origin, environment).ok_or_else(|| {
        let (wrong, nearest) = match setting.kind {
            Kind::Choice(words) => (text, likest(text, words)),
            Kind::Choices(words) => {
                let wrong = items(text).find(|item| word(item, words).is_none());
                let wrong = wrong.unwrap_or(text);
                (wrong, likest(wrong, words))
            }
            _ => (text, None),
        };
        ConfigError::BadValue {
            key: setting.key,
            place: origin.clone(),
            given: given(&setting.kind, wrong),
            allowed: setting.kind.allowed(),
            nearest,
        }
    })
}

fn word(text: &str, words: &'static [&'static str]) -> Option<&'static str> {
    let mut words = words.iter().copied();
    words.find(|word| word.eq_ignore_ascii_case(text))
}

fn likest(text: &str, words: &[&str]) -> Option<String> {
    deliberate_core::nearest(text, words.iter().copied())
}

fn read(kind: &Kind, text: &str, origin: &Origin, environment: &Environment) -> Option<Value> {
    match kind {
        Kind::Text => Some(Value::Text(text.to_owned())),
        // A key travels in an HTTP header; anything else was pasted wrongly.
        Kind::Secret => text
            .bytes()
            .all(|byte| byte.is_ascii_graphic())
            .then(|| Value::Secret(SecretString::from(text))),
        Kind::Integer { min, max } | Kind::Milliseconds { min, max } => {
            let number = text.parse::<u64>().ok()?;
            (*min..=*max)
                .contains(&number)
                .then_some(Value::Integer(number))
        }
        Kind::Number { min, max } => {
            let number = text.parse::<f64>().ok()?;
            (*min..=*max)
                .contains(&number)
                .then_some(Value::Number(number))
        }
        Kind::Switch => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => Some(Value::Switch(true)),
            "off" | "false" | "no" | "0" => Some(Value::Switch(false)),
            _ => None,
        },
        Kind::Choice(words) => word(text, words).map(Value::Word),
        Kind::Choices(words) => {
            let chosen: Option<Vec<&str>> = items(text).map(|item| word(item, words)).collect();
            // A list of commas names nothing.
            chosen.filter(|it| !it.is_empty()).map(Value::Words)
        }
        Kind::Path => Some(Value::Path(path(text, origin, environment))),
        Kind::Texts => Some(Value::Texts(items(text).map(str::to_owned).collect())),
        Kind::Paths => {
            let paths = items(text).map(|item| path(item, origin, environment));
            Some(Value::Paths(paths.collect()))
        }
        Kind::Address => parse_address(text).ok().map(Value::Address),
        Kind::Url => is_plain_url(text).then(|| Value::Text(text.to_owned())),
    }
}

/// An address to listen on. A port alone is one of this machine's, and so is `localhost`.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let rest = text.strip_prefix("localhost").unwrap_or(text);
    let port = rest.strip_prefix(':').unwrap_or(rest);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse()
        .map_err(|_| format!("expected {}", Kind::Address.allowed()))
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

/// Expands `~/`, since neither a client's settings nor TOML go through a shell, and lets a relative
/// path in the file start at the file: the working directory is the client's and means nothing.
pub(super) fn path(text: &str, origin: &Origin, environment: &Environment) -> PathBuf {
    if let Some(rest) = text.strip_prefix("~/")
        && let Some(home) = &environment.home
    {
        return home.join(rest);
    }
    if let Origin::File { path: file, .. } = origin
        && text != IN_MEMORY
    {
        return file.parent().unwrap_or(Path::new("")).join(text);
    }
    PathBuf::from(text)
}

/// Accepts scheme, host and path only: a user name, password or query may be a secret, and
/// addresses are shown and logged.
fn is_plain_url(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        text.get(..scheme.len())
            .filter(|start| start.eq_ignore_ascii_case(scheme))
            .and_then(|_| text.get(scheme.len()..))
    });
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with(['/', ':'])
            && rest
                .chars()
                .all(|c| !c.is_whitespace() && !c.is_control() && !['@', '?', '#'].contains(&c))
    })
}

/// The value as shown in an error: cut, escaped, and not at all if it may be secret.
fn given(kind: &Kind, text: &str) -> String {
    let may_be_secret = match kind {
        Kind::Secret => true,
        Kind::Url => text.contains(['@', '?']),
        _ => false,
    };
    if may_be_secret {
        return "the value (not shown)".to_owned();
    }
    let mut shown: String = text.escape_debug().take(SHOWN_CHARS).collect();
    if text.escape_debug().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
