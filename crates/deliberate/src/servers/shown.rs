//! A server as people see it in lists: by names, never with the values of variables and headers,
//! and with what looks like a key in an argument hidden.

use deliberate_adapter::config::Reach;
use serde_json::{Map, Value};
use url::Url;

use super::Known;

/// Parts of names whose values are hidden.
const SECRET_NAMES: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "HEADER",
    "BEARER",
];

const HIDDEN: &str = "(hidden)";

/// A word of letters and digits that is as long as this, with as many digits, may be a key.
const KEY_CHARS: usize = 20;
const KEY_DIGITS: usize = 3;

/// How a server is reached.
pub(crate) struct Reached {
    /// `stdio`, `http`, `sse` or `websocket`.
    pub(crate) kind: &'static str,
    /// The command line or the address.
    pub(crate) by: String,
    /// Names of its variables, those that are passed on included.
    pub(crate) variables: Vec<String>,
    /// Names of its headers.
    pub(crate) headers: Vec<String>,
}

/// How it is reached. Texts are shown as they are written, with variables not put in.
pub(crate) fn reached(known: &Known) -> Reached {
    let fields = &known.fields;
    let (kind, headers) = match &known.listed.config.reach {
        Reach::Stdio(stdio) => {
            return Reached {
                kind: "stdio",
                by: command_line(fields),
                variables: stdio.env.keys().chain(&stdio.pass_env).cloned().collect(),
                headers: Vec::new(),
            };
        }
        Reach::Http(http) => ("http", &http.headers),
        Reach::Sse(http) => ("sse", &http.headers),
        Reach::WebSocket(http) => ("websocket", &http.headers),
    };
    Reached {
        kind,
        by: address(fields),
        variables: Vec::new(),
        headers: headers.keys().cloned().collect(),
    }
}

/// Which of its tools clients get as their own; `None` if they are only found by search.
pub(crate) fn exposed(known: &Known) -> Option<String> {
    match known.fields.get("expose")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            Some(items.join(", "))
        }
        _ => None,
    }
}

fn command_line(fields: &Map<String, Value>) -> String {
    let command = fields.get("command").and_then(Value::as_str);
    let args = fields.get("args").and_then(Value::as_array);
    let args = args.into_iter().flatten().filter_map(Value::as_str);
    let mut words = vec![command.unwrap_or_default().to_owned()];
    // Whether the last word was a flag whose value is secret.
    let mut hide = false;
    for arg in args {
        let flag = arg.starts_with('-') && !arg.contains(char::is_whitespace);
        let word = match arg.split_once('=') {
            Some((name, _)) if names_a_secret(name) => format!("{name}={HIDDEN}"),
            _ if hide && !flag => HIDDEN.to_owned(),
            _ if may_be_secret(arg) => HIDDEN.to_owned(),
            _ => arg.to_owned(),
        };
        hide = flag && !arg.contains('=') && names_a_secret(arg);
        words.push(word);
    }
    words.join(" ")
}

/// An address without what may be secret in it.
fn address(fields: &Map<String, Value>) -> String {
    let text = ["url", "serverUrl", "httpUrl"]
        .iter()
        .find_map(|name| fields.get(*name)?.as_str())
        .unwrap_or_default();
    let before = text.split(['?', '#']).next().unwrap_or_default();
    let more = if before.len() < text.len() {
        "?…"
    } else {
        ""
    };
    let parts: Vec<&str> = before
        .split('/')
        .map(|part| if may_be_secret(part) { HIDDEN } else { part })
        .collect();
    format!("{}{more}", parts.join("/"))
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

fn may_be_secret(text: &str) -> bool {
    let with_password = Url::parse(text).is_ok_and(|url| {
        !url.username().is_empty() || url.password().is_some() || url.query().is_some()
    });
    let bare = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-.+=".contains(c));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let long = text.chars().count() >= KEY_CHARS && digits >= KEY_DIGITS;
    // Headers as arguments, `Authorization: Bearer …` or `X-API-Key:…`.
    let header = text
        .split_once(':')
        .is_some_and(|(name, _)| !name.contains('/') && names_a_secret(name));
    with_password || (bare && long) || header || text.contains('@') && text.contains("://")
}
