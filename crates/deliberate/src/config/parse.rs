//! Parses the text of a flag, a variable or a line of the file to a typed value or an error.
//! Defaults are parsed the same way, so that the table cannot contain an invalid one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::{
    definitions::{SettingDefinition, SettingKind},
    environment::Environment,
    error::SettingError,
    origin::SettingOrigin,
};

/// Long enough to recognize a value, short enough for one line of a terminal.
const MAX_DISPLAY_CHARS: usize = 60;

/// Name of a database without a file; it is not expanded like a path.
pub(super) const IN_MEMORY: &str = ":memory:";

/// A validated value.
pub(super) enum SettingValue {
    Text(String),
    Secret(SecretString),
    Integer(u64),
    Number(f64),
    Switch(bool),
    Choice(&'static str),
    Path(PathBuf),
    Texts(Vec<String>),
    Choices(Vec<&'static str>),
    Paths(Vec<PathBuf>),
    Address(SocketAddr),
}

impl SettingValue {
    /// Returns the value for `deliberate config`.
    pub(super) fn display(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Secret(_) => "set (hidden)".to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Switch(true) => "on".to_owned(),
            Self::Switch(false) => "off".to_owned(),
            Self::Choice(word) => (*word).to_owned(),
            Self::Path(path) => path.display().to_string(),
            Self::Texts(texts) => texts.join(", "),
            Self::Choices(words) => words.join(", "),
            Self::Paths(paths) => {
                let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
                paths.join(", ")
            }
            Self::Address(address) => address.to_string(),
        }
    }
}

/// Parses `text`, found at `origin`, as a value of `setting`.
pub(super) fn parse_value(
    setting: &'static SettingDefinition,
    text: &str,
    origin: &SettingOrigin,
    environment: &Environment,
) -> Result<SettingValue, SettingError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(SettingError::Empty {
            key: setting.key,
            place: origin.clone(),
        });
    }
    parse_kind(&setting.kind, text, origin, environment).ok_or_else(|| {
        let (wrong, nearest) = match setting.kind {
            SettingKind::Choice(words) => (text, nearest_choice(text, words)),
            SettingKind::Choices(words) => {
                let wrong = split_items(text).find(|item| match_choice(item, words).is_none());
                let wrong = wrong.unwrap_or(text);
                (wrong, nearest_choice(wrong, words))
            }
            _ => (text, None),
        };
        SettingError::BadValue {
            key: setting.key,
            place: origin.clone(),
            given: redact_input(&setting.kind, wrong),
            allowed: setting.kind.describe_allowed(),
            nearest,
        }
    })
}

fn match_choice(text: &str, words: &'static [&'static str]) -> Option<&'static str> {
    let mut words = words.iter().copied();
    words.find(|word| word.eq_ignore_ascii_case(text))
}

fn nearest_choice(text: &str, words: &[&str]) -> Option<String> {
    deliberate_core::did_you_mean(text, words.iter().copied())
}

fn parse_kind(
    kind: &SettingKind,
    text: &str,
    origin: &SettingOrigin,
    environment: &Environment,
) -> Option<SettingValue> {
    match kind {
        SettingKind::Text => Some(SettingValue::Text(text.to_owned())),
        // A key is sent in an HTTP header; other characters were pasted by mistake.
        SettingKind::Secret => text
            .bytes()
            .all(|byte| byte.is_ascii_graphic())
            .then(|| SettingValue::Secret(SecretString::from(text))),
        SettingKind::Integer { min, max } | SettingKind::Milliseconds { min, max } => {
            let number = text.parse::<u64>().ok()?;
            (*min..=*max)
                .contains(&number)
                .then_some(SettingValue::Integer(number))
        }
        SettingKind::Number { min, max } => {
            let number = text.parse::<f64>().ok()?;
            (*min..=*max)
                .contains(&number)
                .then_some(SettingValue::Number(number))
        }
        SettingKind::Switch => match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => Some(SettingValue::Switch(true)),
            "off" | "false" | "no" | "0" => Some(SettingValue::Switch(false)),
            _ => None,
        },
        SettingKind::Choice(words) => match_choice(text, words).map(SettingValue::Choice),
        SettingKind::Choices(words) => {
            let chosen: Option<Vec<&str>> = split_items(text)
                .map(|item| match_choice(item, words))
                .collect();
            // A list of commas contains no item.
            chosen
                .filter(|it| !it.is_empty())
                .map(SettingValue::Choices)
        }
        SettingKind::Path => Some(SettingValue::Path(expand_path(text, origin, environment))),
        SettingKind::Texts => Some(SettingValue::Texts(
            split_items(text).map(str::to_owned).collect(),
        )),
        SettingKind::Paths => {
            let paths = split_items(text).map(|item| expand_path(item, origin, environment));
            Some(SettingValue::Paths(paths.collect()))
        }
        SettingKind::Address => parse_address(text).ok().map(SettingValue::Address),
        SettingKind::Url => is_plain_url(text).then(|| SettingValue::Text(text.to_owned())),
    }
}

/// Parses an address to listen on. A port alone means this machine, and so does `localhost`.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let rest = text.strip_prefix("localhost").unwrap_or(text);
    let port = rest.strip_prefix(':').unwrap_or(rest);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse()
        .map_err(|_| format!("expected {}", SettingKind::Address.describe_allowed()))
}

fn split_items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

/// Expands `~/`, since neither a client's settings nor TOML go through a shell. A relative path in
/// the settings file starts at that file, because the working directory is the client's.
pub(super) fn expand_path(
    text: &str,
    origin: &SettingOrigin,
    environment: &Environment,
) -> PathBuf {
    if let Some(rest) = text.strip_prefix("~/")
        && let Some(home) = &environment.home
    {
        return home.join(rest);
    }
    if let SettingOrigin::File { path: file, .. } = origin
        && text != IN_MEMORY
    {
        return file.parent().unwrap_or(Path::new("")).join(text);
    }
    PathBuf::from(text)
}

/// Accepts scheme, host and path only: a user name, password or query may be a secret, and URLs are
/// displayed and logged.
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

/// Returns the value for an error: truncated, escaped, and hidden if it may be secret.
fn redact_input(kind: &SettingKind, text: &str) -> String {
    let may_be_secret = match kind {
        SettingKind::Secret => true,
        SettingKind::Url => text.contains(['@', '?']),
        _ => false,
    };
    if may_be_secret {
        return "the value (hidden)".to_owned();
    }
    let mut shown: String = text.escape_debug().take(MAX_DISPLAY_CHARS).collect();
    if text.escape_debug().nth(MAX_DISPLAY_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
