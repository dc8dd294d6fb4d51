//! Formats servers for lists: names of variables and headers but never their values, and arguments
//! that look like keys hidden.

use deliberate_mcp_client::config::TransportConfig;
use serde_json::{Map, Value};
use url::Url;

use super::ServerDefinition;

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

const REDACTED: &str = "(hidden)";

/// A word of letters and digits with at least this length and this many digits may be a key.
const MIN_KEY_CHARS: usize = 20;
const MIN_KEY_DIGITS: usize = 3;

/// How a server is connected.
pub(crate) struct ServerEndpoint {
    /// `stdio`, `http`, `sse` or `websocket`.
    pub(crate) kind: &'static str,
    /// The command line or the URL.
    pub(crate) target: String,
    /// Names of its variables, including those passed from our environment.
    pub(crate) variables: Vec<String>,
    /// Names of its headers.
    pub(crate) headers: Vec<String>,
}

/// Describes how a server is connected. Texts are shown as written, without substituting variables.
pub(crate) fn describe_endpoint(known: &ServerDefinition) -> ServerEndpoint {
    let fields = &known.fields;
    let (kind, headers) = match &known.server.config.transport {
        TransportConfig::Stdio(stdio) => {
            return ServerEndpoint {
                kind: "stdio",
                target: redact_command_line(fields),
                variables: stdio.env.keys().chain(&stdio.pass_env).cloned().collect(),
                headers: Vec::new(),
            };
        }
        TransportConfig::Http(http) => ("http", &http.headers),
        TransportConfig::Sse(http) => ("sse", &http.headers),
        TransportConfig::WebSocket(http) => ("websocket", &http.headers),
    };
    ServerEndpoint {
        kind,
        target: redact_url(fields),
        variables: Vec::new(),
        headers: headers.keys().cloned().collect(),
    }
}

/// Describes the tools that are offered to clients directly; `None` if they are only found by
/// search.
pub(crate) fn describe_exposed_tools(known: &ServerDefinition) -> Option<String> {
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

fn redact_command_line(fields: &Map<String, Value>) -> String {
    let command = fields.get("command").and_then(Value::as_str);
    let args = fields.get("args").and_then(Value::as_array);
    let args = args.into_iter().flatten().filter_map(Value::as_str);
    let mut words = vec![command.unwrap_or_default().to_owned()];
    // Whether the last word was a flag with a secret value.
    let mut hide = false;
    for arg in args {
        let flag = arg.starts_with('-') && !arg.contains(char::is_whitespace);
        let word = match arg.split_once('=') {
            Some((name, _)) if is_secret_name(name) => format!("{name}={REDACTED}"),
            _ if hide && !flag => REDACTED.to_owned(),
            _ if may_be_secret(arg) => REDACTED.to_owned(),
            _ => arg.to_owned(),
        };
        hide = flag && !arg.contains('=') && is_secret_name(arg);
        words.push(word);
    }
    words.join(" ")
}

/// Returns a URL without parts that may be secret.
fn redact_url(fields: &Map<String, Value>) -> String {
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
        .map(|part| if may_be_secret(part) { REDACTED } else { part })
        .collect();
    format!("{}{more}", parts.join("/"))
}

fn is_secret_name(name: &str) -> bool {
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
    let long = text.chars().count() >= MIN_KEY_CHARS && digits >= MIN_KEY_DIGITS;
    // Headers as arguments, `Authorization: Bearer …` or `X-API-Key:…`.
    let header = text
        .split_once(':')
        .is_some_and(|(name, _)| !name.contains('/') && is_secret_name(name));
    with_password || (bare && long) || header || text.contains('@') && text.contains("://")
}
