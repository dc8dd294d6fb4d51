//! What is wrong with a configuration, all of it at once.

use std::fmt;

use url::Url;

use super::{HttpConfig, ServerConfig, TransportConfig};

/// The longest name of a server: with a tool's it must fit into 64 characters.
const MAX_NAME: usize = 32;

/// A configuration that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ServerConfigError {
    /// Everything that is wrong.
    pub problems: Vec<ConfigProblem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where: `servers.files.command`.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for ServerConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: {}", mistake.path, mistake.message)?;
        }
        Ok(())
    }
}

impl From<Vec<ConfigProblem>> for ServerConfigError {
    fn from(mistakes: Vec<ConfigProblem>) -> Self {
        Self { problems: mistakes }
    }
}

impl ConfigProblem {
    /// A mistake at that place.
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            path: place.into(),
            message: what.into(),
        }
    }
}

pub(super) fn check_server(config: &ServerConfig) -> Result<(), ServerConfigError> {
    let mut mistakes = Vec::new();
    let place = |field: &str| format!("servers.{}.{field}", config.name);
    check_name(&config.name, &mut mistakes);
    match &config.transport {
        TransportConfig::Stdio(stdio) => {
            if stdio.command.trim().is_empty() {
                mistakes.push(ConfigProblem::new(place("command"), "must not be empty"));
            }
            let texts = std::iter::once(&stdio.command).chain(&stdio.args);
            if texts.into_iter().any(|text| text.contains('\0')) {
                mistakes.push(ConfigProblem::new(
                    place("args"),
                    "must not hold a NUL character",
                ));
            }
            for name in stdio.env.keys().chain(&stdio.pass_env) {
                if name.is_empty() || name.contains(['=', '\0']) {
                    mistakes.push(ConfigProblem::new(
                        place("env"),
                        format!("{name:?} is no name of a variable"),
                    ));
                }
            }
        }
        TransportConfig::Http(http) | TransportConfig::Sse(http) => {
            check_scheme(http, &["http", "https"], &place("url"), &mut mistakes);
            check_headers(http, &place("headers"), &mut mistakes);
            let auth = http.auth.as_ref();
            if auth.is_some_and(|it| it.client_secret.is_some() && it.client_id.is_none()) {
                mistakes.push(ConfigProblem::new(
                    place("auth"),
                    "has a `client_secret` but no `client_id`",
                ));
            }
        }
        TransportConfig::WebSocket(http) => {
            check_scheme(http, &["ws", "wss"], &place("url"), &mut mistakes);
            check_headers(http, &place("headers"), &mut mistakes);
            if http.auth.is_some() {
                mistakes.push(ConfigProblem::new(
                    place("auth"),
                    "is for HTTP; put a key into `headers`",
                ));
            }
        }
    }
    check_limits(config, &place, &mut mistakes);
    if mistakes.is_empty() {
        Ok(())
    } else {
        Err(mistakes.into())
    }
}

pub(super) fn check_name(name: &str, mistakes: &mut Vec<ConfigProblem>) {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // Two underscores part a server from its tool.
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fine) || name.contains("__") {
        let shown: String = name.chars().take(80).collect();
        mistakes.push(ConfigProblem::new(
            format!("servers.{shown}"),
            format!("a name has 1 to {MAX_NAME} letters, digits, `-` and `_`, no two `_` in a row"),
        ));
    }
}

/// A network address, or what is wrong with it.
pub(super) fn parse_url(server: &str, text: &str) -> Result<Url, ServerConfigError> {
    Url::parse(text).map_err(|error| {
        let place = format!("servers.{server}.url");
        vec![ConfigProblem::new(place, format!("is no address: {error}"))].into()
    })
}

fn check_scheme(http: &HttpConfig, known: &[&str], place: &str, mistakes: &mut Vec<ConfigProblem>) {
    if !known.contains(&http.url.scheme()) {
        mistakes.push(ConfigProblem::new(
            place,
            format!("must begin with {}://", known.join(":// or ")),
        ));
    }
    if http.url.host_str().is_none() {
        mistakes.push(ConfigProblem::new(place, "has no host"));
    }
    if !http.url.username().is_empty() || http.url.password().is_some() {
        mistakes.push(ConfigProblem::new(
            place,
            "must hold no password; put it into `headers`",
        ));
    }
}

fn check_headers(http: &HttpConfig, place: &str, mistakes: &mut Vec<ConfigProblem>) {
    use secrecy::ExposeSecret as _;
    /// What the transport says itself.
    const RESERVED_HEADERS: &[&str] = &[
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    ];
    for (name, value) in &http.headers {
        if http::HeaderName::try_from(name.as_str()).is_err() {
            mistakes.push(ConfigProblem::new(
                place,
                format!("{name:?} is no name of a header"),
            ));
        } else if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            mistakes.push(ConfigProblem::new(
                place,
                format!("{name:?} is set by the protocol"),
            ));
        }
        if http::HeaderValue::try_from(value.expose_secret()).is_err() {
            mistakes.push(ConfigProblem::new(
                place,
                format!("the value of {name:?} holds characters that a header can't"),
            ));
        }
    }
}

fn check_limits(
    config: &ServerConfig,
    place: &impl Fn(&str) -> String,
    mistakes: &mut Vec<ConfigProblem>,
) {
    let limits = &config.limits;
    let mut least = |field: &str, fine: bool| {
        if !fine {
            mistakes.push(ConfigProblem::new(place(field), "must be more than 0"));
        }
    };
    least("connect_ms", !limits.connect_timeout.is_zero());
    least("answer_ms", !limits.response_timeout.is_zero());
    least("longest_ms", !limits.total_timeout.is_zero());
    least("message_bytes", limits.message_bytes > 0);
    least("at_once", limits.max_concurrent > 0);
    least("per_minute", limits.per_minute != Some(0));
    least("items", limits.max_items > 0);
}
