//! `deliberate doctor --url`: shows the health report of a running server.
//!
//! The report is not trusted: its size is limited, it must come from a deliberate server, and it
//! cannot control the terminal.

use std::{fmt, io::Write, process::ExitCode, time::Duration};

use bytes::Bytes;
use deliberate_http_client::{BodyError, client_builder, is_loopback, read_body};
use reqwest::StatusCode;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::{
    commands::{
        CommandContext,
        table::{one_line, table},
    },
    config::Environment,
};

/// A server takes at most a second for its checks; the rest is for the network.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Larger than any health report.
const MAX_RESPONSE_BYTES: usize = 256 * 1_024;

/// Longest value that is printed.
const MAX_DISPLAY_CHARS: usize = 300;

/// Why a server's health cannot be shown.
#[derive(Debug)]
enum HealthCheckError {
    InvalidUrl(String),
    MissingToken(String),
    PlaintextToken,
    ConnectionRefused(Url),
    TimedOut(Url),
    Unreachable(Url, String),
    TokenRequired(Url),
    TokenRejected(Url),
    NotOurServer(Url, String),
}

impl fmt::Display for HealthCheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUrl(reason) => write!(
                f,
                "--url is not valid ({reason}); use a URL such as http://127.0.0.1:8484"
            ),
            Self::MissingToken(name) => write!(
                f,
                "the environment variable {name} is not set; set it to the token"
            ),
            Self::PlaintextToken => f.write_str(
                "the token would be sent without encryption; use https, or omit --token-env \
                 to see the public report",
            ),
            Self::ConnectionRefused(url) => write!(
                f,
                "nothing listens at {url}; start it with `deliberate serve --http`, or check the port"
            ),
            Self::TimedOut(url) => write!(
                f,
                "{url} did not answer within {} s; check the URL, or the server's log",
                REQUEST_TIMEOUT.as_secs()
            ),
            Self::Unreachable(url, reason) => {
                write!(f, "{url} cannot be reached: {reason}; check the URL")
            }
            Self::TokenRequired(url) => write!(
                f,
                "{url} requires a token; name the environment variable that contains it with --token-env"
            ),
            Self::TokenRejected(url) => {
                write!(
                    f,
                    "{url} does not accept this token; check that it is current"
                )
            }
            Self::NotOurServer(url, seen) => write!(
                f,
                "{url} is not a deliberate server ({seen}); check the port"
            ),
        }
    }
}

/// Requests the health report of the server at `url` and prints it.
pub(super) async fn run(
    url: &str,
    token_env: Option<&str>,
    as_json: bool,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let asked = fetch_health(url, token_env, &shell.loaded.environment).await;
    let ready = asked
        .as_ref()
        .is_ok_and(|health| bool_field(health, "ready"));
    match (asked, as_json) {
        (Ok(health), true) => {
            writeln!(shell.output, "{}", serde_json::to_string_pretty(&health)?)?;
        }
        (Ok(health), false) => print_health(&health, shell.output)?,
        (Err(trouble), true) => {
            let said = json!({
                "status": "unreachable",
                "live": false,
                "ready": false,
                "reason": trouble.to_string(),
            });
            writeln!(shell.output, "{}", serde_json::to_string_pretty(&said)?)?;
        }
        (Err(trouble), false) => writeln!(shell.output, "WRONG  server     {trouble}")?,
    }
    Ok(if ready {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

async fn fetch_health(
    url: &str,
    token_env: Option<&str>,
    environment: &Environment,
) -> Result<Value, HealthCheckError> {
    let url = parse_health_url(url)?;
    let token = match token_env {
        None => None,
        Some(name) => {
            let missing = || HealthCheckError::MissingToken(name.to_owned());
            Some(environment.secret(name).ok_or_else(missing)?)
        }
    };
    if token.is_some() && url.scheme() != "https" && !is_loopback(&url) {
        return Err(HealthCheckError::PlaintextToken);
    }
    let exchange = send_request(&url, token.as_ref());
    let (status, body) = tokio::time::timeout(REQUEST_TIMEOUT, exchange)
        .await
        .map_err(|_| HealthCheckError::TimedOut(url.clone()))??;
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if token.is_some() => {
            Err(HealthCheckError::TokenRejected(url))
        }
        StatusCode::UNAUTHORIZED => Err(HealthCheckError::TokenRequired(url)),
        StatusCode::OK | StatusCode::SERVICE_UNAVAILABLE => match parse_health(&body) {
            // Unknown callers get a short report; with a token the report must be complete.
            Some(health) if token.is_some() && health.get("transports").is_none() => {
                Err(HealthCheckError::TokenRejected(url))
            }
            Some(health) => Ok(health),
            None => {
                let reason = "its answer is not a health report".to_owned();
                Err(HealthCheckError::NotOurServer(url, reason))
            }
        },
        status => Err(HealthCheckError::NotOurServer(
            url,
            format!("it answered {status}"),
        )),
    }
}

fn parse_health_url(text: &str) -> Result<Url, HealthCheckError> {
    let mut url =
        Url::parse(text.trim()).map_err(|error| HealthCheckError::InvalidUrl(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(HealthCheckError::InvalidUrl(
            "neither http nor https".to_owned(),
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(HealthCheckError::InvalidUrl(
            "it contains a user name or password".to_owned(),
        ));
    }
    let path = url.path().trim_end_matches('/');
    // People often have the URL for MCP clients.
    let base = path
        .strip_suffix("/health")
        .or_else(|| path.strip_suffix("/mcp"))
        .unwrap_or(path)
        .to_owned();
    url.set_path(&format!("{base}/health"));
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

async fn send_request(
    url: &Url,
    token: Option<&SecretString>,
) -> Result<(StatusCode, Bytes), HealthCheckError> {
    let trouble = |error: reqwest::Error| classify_error(url, &error.without_url());
    let builder = client_builder(url).map_err(|error| {
        HealthCheckError::Unreachable(url.clone(), one_line(&error.to_string(), MAX_DISPLAY_CHARS))
    })?;
    let mut request = builder
        .build()
        .map_err(trouble)?
        .get(url.clone())
        .header("accept", "application/json");
    if let Some(token) = token {
        request = request.bearer_auth(token.expose_secret());
    }
    let answer = request.send().await.map_err(trouble)?;
    let status = answer.status();
    let body = read_body(answer, MAX_RESPONSE_BYTES).await;
    let body = body.map_err(|error| match error {
        BodyError::Interrupted(error) => trouble(error),
        BodyError::TooLarge { .. } => {
            let seen = "its response is too long".to_owned();
            HealthCheckError::NotOurServer(url.clone(), seen)
        }
    })?;
    Ok((status, body))
}

fn classify_error(url: &Url, error: &reqwest::Error) -> HealthCheckError {
    let mut deepest: &dyn std::error::Error = error;
    let mut refused = false;
    while let Some(source) = deepest.source() {
        refused |= source
            .downcast_ref::<std::io::Error>()
            .is_some_and(|it| it.kind() == std::io::ErrorKind::ConnectionRefused);
        deepest = source;
    }
    if refused {
        HealthCheckError::ConnectionRefused(url.clone())
    } else if error.is_connect() || error.is_builder() {
        HealthCheckError::Unreachable(
            url.clone(),
            one_line(&deepest.to_string(), MAX_DISPLAY_CHARS),
        )
    } else {
        HealthCheckError::NotOurServer(
            url.clone(),
            one_line(&deepest.to_string(), MAX_DISPLAY_CHARS),
        )
    }
}

/// Parses the report; returns `None` if it is not one.
fn parse_health(body: &[u8]) -> Option<Value> {
    let health: Value = serde_json::from_slice(body).ok()?;
    let is_one = health.get("status")?.is_string()
        && health.get("live")?.is_boolean()
        && health.get("ready")?.is_boolean()
        && health.get("version")?.is_string();
    is_one.then_some(health)
}

fn bool_field(health: &Value, field: &str) -> bool {
    health.get(field).and_then(Value::as_bool).unwrap_or(false)
}

fn print_health(health: &Value, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut rows = table(&["part", "state", "details"]);
    for row in health_rows(health) {
        rows.add_row(row.map(|text| one_line(&text, MAX_DISPLAY_CHARS)));
    }
    writeln!(output, "{rows}")?;
    if health.get("transports").is_none() {
        writeln!(
            output,
            "\nWith a token the server shows more: --token-env NAME"
        )?;
    }
    Ok(())
}

fn health_rows(health: &Value) -> Vec<[String; 3]> {
    let mut details = vec![format!("version {}", text_field(health, "version"))];
    if let Some(seconds) = health.get("uptime_seconds").and_then(Value::as_u64) {
        details.push(format!("up for {seconds} s"));
    }
    if let Some(tools) = health.get("tools").and_then(Value::as_u64) {
        details.push(format!("{tools} tools"));
    }
    let mut rows = vec![[
        "server".to_owned(),
        text_field(health, "status"),
        details.join(", "),
    ]];
    let transports = health.get("transports").and_then(Value::as_array);
    for one in transports.into_iter().flatten() {
        let details = [text_field(one, "address"), text_field(one, "reason")].join(" ");
        rows.push([text_field(one, "name"), text_field(one, "state"), details]);
    }
    if let Some(store) = health.get("store") {
        let details = match text_field(store, "reason") {
            // A token of limited scope is not told more.
            reason if reason.is_empty() && store.get("location").is_none() => {
                format!("{} ms", text_field(store, "latency_ms"))
            }
            reason if reason.is_empty() => format!(
                "{}: {} session(s), {} thought(s), schema {}, {} ms",
                text_field(store, "location"),
                text_field(store, "sessions"),
                text_field(store, "thoughts"),
                text_field(store, "schema_version"),
                text_field(store, "latency_ms")
            ),
            reason => reason,
        };
        rows.push(["database".to_owned(), text_field(store, "state"), details]);
    }
    if let Some(provider) = health.get("provider") {
        let mut details = text_field(provider, "description");
        let wait = text_field(provider, "retry_after_seconds");
        if !wait.is_empty() {
            details = format!("{details}; accepts requests again in {wait} s");
        }
        rows.push([
            "provider".to_owned(),
            text_field(provider, "state"),
            details,
        ]);
    }
    if let Some(calls) = health.get("calls") {
        let details = format!(
            "{} running, {} waiting",
            text_field(calls, "running"),
            text_field(calls, "waiting")
        );
        rows.push(["calls".to_owned(), String::new(), details]);
    }
    rows
}

/// Returns a field for display; empty if it is missing.
fn text_field(value: &Value, field: &str) -> String {
    match value.get(field) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
