//! Validates a server configuration and reports all problems at once.

use std::fmt;

use url::Url;

use super::{HttpConfig, ServerConfig, TransportConfig};

/// The maximum length of a server name: together with a tool name it must fit into 64 characters.
const MAX_NAME: usize = 32;

/// The error of a server configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ServerConfigError {
    /// All problems of the configuration.
    pub problems: Vec<ConfigProblem>,
}

/// A problem of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The setting with the problem, such as `servers.files.command`.
    pub path: String,
    /// The problem, and what would be valid.
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
    /// Creates a problem of the setting at `place`.
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
                    "must not contain a NUL character",
                ));
            }
            for name in stdio.env.keys().chain(&stdio.pass_env) {
                if name.is_empty() || name.contains(['=', '\0']) {
                    mistakes.push(ConfigProblem::new(
                        place("env"),
                        format!("{name:?} is not a valid variable name"),
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
                    "works with HTTP only; put the key into `headers`",
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
    // Two underscores separate the server from the tool in a qualified name.
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fine) || name.contains("__") {
        let shown: String = name.chars().take(80).collect();
        mistakes.push(ConfigProblem::new(
            format!("servers.{shown}"),
            format!("a name has 1 to {MAX_NAME} characters: letters, digits, `-` and `_`, but not two `_` in a row"),
        ));
    }
}

pub(super) fn parse_url(server: &str, text: &str) -> Result<Url, ServerConfigError> {
    Url::parse(text).map_err(|error| {
        let place = format!("servers.{server}.url");
        vec![ConfigProblem::new(
            place,
            format!("is not a valid URL: {error}"),
        )]
        .into()
    })
}

fn check_scheme(http: &HttpConfig, known: &[&str], place: &str, mistakes: &mut Vec<ConfigProblem>) {
    if !known.contains(&http.url.scheme()) {
        mistakes.push(ConfigProblem::new(
            place,
            format!("must start with {}://", known.join(":// or ")),
        ));
    }
    if http.url.host_str().is_none() {
        mistakes.push(ConfigProblem::new(place, "has no host"));
    }
    if !http.url.username().is_empty() || http.url.password().is_some() {
        mistakes.push(ConfigProblem::new(
            place,
            "must not contain a password; put it into `headers`",
        ));
    }
}

fn check_headers(http: &HttpConfig, place: &str, mistakes: &mut Vec<ConfigProblem>) {
    use secrecy::ExposeSecret as _;
    /// The headers that the transport sets itself.
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
                format!("{name:?} is not a valid header name"),
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
                format!(
                    "the value of {name:?} contains characters that are not allowed in a header"
                ),
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
