//! `deliberate doctor --url`: how a server is that runs somewhere, as it says itself.
//!
//! What it says is shown and not trusted: it is short, it is a deliberate server's, and it can't
//! command the terminal.

use std::{fmt, io::Write, process::ExitCode, time::Duration};

use deliberate_thinker::{install_crypto, is_on_this_machine};
use reqwest::{Client, StatusCode, redirect::Policy};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::{
    commands::{
        Shell,
        table::{one_line, table},
    },
    config::Environment,
};

/// A server takes at most a second to look at itself; the rest is for the way.
const PATIENCE: Duration = Duration::from_secs(5);

/// More than any health takes.
const ANSWER_BYTES: usize = 256 * 1_024;

/// What is shown of one value.
const SHOWN_CHARS: usize = 300;

/// Why the health of a server can't be told.
#[derive(Debug)]
enum Trouble {
    NotAnUrl(String),
    NoToken(String),
    Exposed,
    Refused(Url),
    TooLate(Url),
    Unreachable(Url, String),
    NeedsToken(Url),
    TokenRefused(Url),
    Stranger(Url, String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnUrl(reason) => write!(
                f,
                "--url is not an address ({reason}); give one like http://127.0.0.1:8484"
            ),
            Self::NoToken(name) => write!(
                f,
                "the environment variable {name} is not set; put the token in it"
            ),
            Self::Exposed => f.write_str(
                "the token would go over the network in the clear; use https, or leave --token-env \
                 out to see what anyone may know",
            ),
            Self::Refused(url) => write!(
                f,
                "nothing listens at {url}; start it with `deliberate serve --http`, or check the port"
            ),
            Self::TooLate(url) => write!(
                f,
                "{url} did not answer within {} s; check the address, or look at its log",
                PATIENCE.as_secs()
            ),
            Self::Unreachable(url, reason) => {
                write!(f, "{url} can't be reached: {reason}; check the address")
            }
            Self::NeedsToken(url) => write!(
                f,
                "{url} wants a token; name the environment variable that holds it with --token-env"
            ),
            Self::TokenRefused(url) => {
                write!(
                    f,
                    "{url} does not take this token; check that it is current"
                )
            }
            Self::Stranger(url, seen) => write!(
                f,
                "what answers at {url} is not a deliberate server ({seen}); check the port"
            ),
        }
    }
}

/// Asks the server at `url` and tells what it says.
pub(super) async fn run(
    url: &str,
    token_env: Option<&str>,
    as_json: bool,
    shell: &mut Shell<'_>,
) -> anyhow::Result<ExitCode> {
    let asked = ask(url, token_env, &shell.loaded.environment).await;
    let ready = asked.as_ref().is_ok_and(|health| is(health, "ready"));
    match (asked, as_json) {
        (Ok(health), true) => {
            writeln!(shell.output, "{}", serde_json::to_string_pretty(&health)?)?;
        }
        (Ok(health), false) => show(&health, shell.output)?,
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

async fn ask(
    url: &str,
    token_env: Option<&str>,
    environment: &Environment,
) -> Result<Value, Trouble> {
    let url = health_url(url)?;
    let token = match token_env {
        None => None,
        Some(name) => {
            let missing = || Trouble::NoToken(name.to_owned());
            Some(environment.secret(name).ok_or_else(missing)?)
        }
    };
    let nearby = is_on_this_machine(url.as_str());
    if token.is_some() && url.scheme() != "https" && !nearby {
        return Err(Trouble::Exposed);
    }
    let exchange = exchange(&url, token.as_ref(), nearby);
    let (status, body) = tokio::time::timeout(PATIENCE, exchange)
        .await
        .map_err(|_| Trouble::TooLate(url.clone()))??;
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if token.is_some() => {
            Err(Trouble::TokenRefused(url))
        }
        StatusCode::UNAUTHORIZED => Err(Trouble::NeedsToken(url)),
        StatusCode::OK | StatusCode::SERVICE_UNAVAILABLE => match read(&body) {
            // Who is not known is told little, and with a token one should be known.
            Some(health) if token.is_some() && health.get("transports").is_none() => {
                Err(Trouble::TokenRefused(url))
            }
            Some(health) => Ok(health),
            None => {
                let reason = "its answer is not a health report".to_owned();
                Err(Trouble::Stranger(url, reason))
            }
        },
        status => Err(Trouble::Stranger(url, format!("it answered {status}"))),
    }
}

fn health_url(text: &str) -> Result<Url, Trouble> {
    let mut url = Url::parse(text.trim()).map_err(|error| Trouble::NotAnUrl(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(Trouble::NotAnUrl("neither http nor https".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Trouble::NotAnUrl(
            "it holds a user name or password".to_owned(),
        ));
    }
    let path = url.path().trim_end_matches('/');
    // What people have at hand is often the address for clients.
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

async fn exchange(
    url: &Url,
    token: Option<&SecretString>,
    nearby: bool,
) -> Result<(StatusCode, Vec<u8>), Trouble> {
    let trouble = |error: reqwest::Error| trouble(url, &error.without_url());
    install_crypto();
    let builder = Client::builder()
        .redirect(Policy::none())
        .user_agent(concat!("deliberate/", env!("CARGO_PKG_VERSION")));
    let builder = if nearby { builder.no_proxy() } else { builder };
    let mut request = builder
        .build()
        .map_err(trouble)?
        .get(url.clone())
        .header("accept", "application/json");
    if let Some(token) = token {
        request = request.bearer_auth(token.expose_secret());
    }
    let mut answer = request.send().await.map_err(trouble)?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(trouble)? {
        if body.len() + chunk.len() > ANSWER_BYTES {
            let seen = "its answer is too long".to_owned();
            return Err(Trouble::Stranger(url.clone(), seen));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((answer.status(), body))
}

fn trouble(url: &Url, error: &reqwest::Error) -> Trouble {
    let mut deepest: &dyn std::error::Error = error;
    let mut refused = false;
    while let Some(source) = deepest.source() {
        refused |= source
            .downcast_ref::<std::io::Error>()
            .is_some_and(|it| it.kind() == std::io::ErrorKind::ConnectionRefused);
        deepest = source;
    }
    if refused {
        Trouble::Refused(url.clone())
    } else if error.is_connect() || error.is_builder() {
        Trouble::Unreachable(url.clone(), one_line(&deepest.to_string(), SHOWN_CHARS))
    } else {
        Trouble::Stranger(url.clone(), one_line(&deepest.to_string(), SHOWN_CHARS))
    }
}

/// The report, if it is one.
fn read(body: &[u8]) -> Option<Value> {
    let health: Value = serde_json::from_slice(body).ok()?;
    let is_one = health.get("status")?.is_string()
        && health.get("live")?.is_boolean()
        && health.get("ready")?.is_boolean()
        && health.get("version")?.is_string();
    is_one.then_some(health)
}

fn is(health: &Value, field: &str) -> bool {
    health.get(field).and_then(Value::as_bool).unwrap_or(false)
}

fn show(health: &Value, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut rows = table(&["what", "state", "details"]);
    for row in rows_of(health) {
        rows.add_row(row.map(|text| one_line(&text, SHOWN_CHARS)));
    }
    writeln!(output, "{rows}")?;
    if health.get("transports").is_none() {
        writeln!(
            output,
            "\nThe server shows more to who has a token: --token-env NAME"
        )?;
    }
    Ok(())
}

fn rows_of(health: &Value) -> Vec<[String; 3]> {
    let mut details = vec![format!("version {}", text(health, "version"))];
    if let Some(seconds) = health.get("uptime_seconds").and_then(Value::as_u64) {
        details.push(format!("up for {seconds} s"));
    }
    if let Some(tools) = health.get("tools").and_then(Value::as_u64) {
        details.push(format!("{tools} tools"));
    }
    let mut rows = vec![[
        "server".to_owned(),
        text(health, "status"),
        details.join(", "),
    ]];
    let transports = health.get("transports").and_then(Value::as_array);
    for one in transports.into_iter().flatten() {
        let details = [text(one, "address"), text(one, "reason")].join(" ");
        rows.push([text(one, "name"), text(one, "state"), details]);
    }
    if let Some(store) = health.get("store") {
        let details = match text(store, "reason") {
            reason if reason.is_empty() => format!(
                "{}: {} session(s), {} thought(s), schema {}, {} ms",
                text(store, "location"),
                text(store, "sessions"),
                text(store, "thoughts"),
                text(store, "schema_version"),
                text(store, "latency_ms")
            ),
            reason => reason,
        };
        rows.push(["database".to_owned(), text(store, "state"), details]);
    }
    if let Some(provider) = health.get("provider") {
        let details = text(provider, "description");
        rows.push(["provider".to_owned(), text(provider, "state"), details]);
    }
    if let Some(calls) = health.get("calls") {
        let details = format!(
            "{} running, {} waiting",
            text(calls, "running"),
            text(calls, "waiting")
        );
        rows.push(["calls".to_owned(), String::new(), details]);
    }
    rows
}

/// A field as people read it; nothing if it is not there.
fn text(value: &Value, field: &str) -> String {
    match value.get(field) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
