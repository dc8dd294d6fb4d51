//! Sends one request to a service and parses its JSON response.

use std::{
    error::Error as _,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use backon::Retryable as _;
use reqwest::{Client, Response, StatusCode, header::HeaderValue, redirect::Policy};
use secrecy::ExposeSecret as _;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};

use super::{
    ServiceSettings, error_message,
    retry::{self, EmbedAttemptError},
};
use crate::EmbedError;

/// The largest response: 128 vectors of 4,096 numbers take half of it.
const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;

/// The HTTP client of a service, built with the first request.
#[derive(Debug)]
pub(super) struct ServiceClient {
    settings: ServiceSettings,
    url: Url,
    client: OnceLock<Client>,
}

impl ServiceClient {
    /// A client for one method; the settings are checked before anything is sent.
    pub(super) fn new(settings: ServiceSettings, method: &str) -> Result<Self, EmbedError> {
        let url = method_url(&settings.base_url, method)?;
        if settings.model.trim().is_empty() {
            return Err(misconfigured("no model is named"));
        }
        if let Some(key) = &settings.key {
            let key = key.expose_secret().trim();
            if key.is_empty() || HeaderValue::from_str(key).is_err() {
                return Err(misconfigured(
                    "the key is empty or has characters that can't be sent",
                ));
            }
        }
        Ok(Self {
            settings,
            url,
            client: OnceLock::new(),
        })
    }

    pub(super) fn model(&self) -> &str {
        &self.settings.model
    }

    /// Sends a request, with retries, within the deadline.
    pub(super) async fn post<A: DeserializeOwned>(
        &self,
        body: &impl Serialize,
    ) -> Result<A, EmbedError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| misconfigured(&format!("the request can't be serialized: {error}")))?;
        let deadline = Instant::now() + self.settings.deadline;
        let attempts = AtomicU32::new(0);
        let attempt = || {
            attempts.fetch_add(1, Ordering::Relaxed);
            self.attempt(&body, deadline)
        };
        let answer = attempt
            .retry(retry::backoff(&self.settings))
            .when(EmbedAttemptError::is_retryable)
            .adjust(|setback, ours| retry::delay(setback, ours, deadline))
            .notify(|_, delay| tracing::debug!(?delay, "a service failed; trying again"))
            .await
            .map_err(|setback| setback.into_error(attempts.load(Ordering::Relaxed)))?;
        serde_json::from_slice(&answer).map_err(|error| self.unreadable(&answer, &error))
    }

    async fn attempt(&self, body: &[u8], deadline: Instant) -> Result<Vec<u8>, EmbedAttemptError> {
        let end = deadline.min(Instant::now() + self.settings.attempt);
        let exchange = async {
            let mut request = self
                .client()?
                .post(self.url.clone())
                .header("content-type", "application/json")
                .body(body.to_vec());
            if let Some(key) = &self.settings.key {
                request = request.bearer_auth(key.expose_secret().trim());
            }
            let response = request.send().await.map_err(unreachable)?;
            self.read_response(response).await
        };
        timeout_at(end, exchange).await.unwrap_or_else(|_| {
            Err(EmbedAttemptError::Retryable {
                reason: "it did not answer in time".to_owned(),
                wait: None,
            })
        })
    }

    /// Reads the body of a successful response.
    async fn read_response(&self, response: Response) -> Result<Vec<u8>, EmbedAttemptError> {
        let status = response.status();
        let wait = retry::retry_after(response.headers());
        let body = read_bounded(response).await?;
        if status.is_success() {
            return Ok(body);
        }
        let text = self.redact_key(&String::from_utf8_lossy(&body));
        let reason = format!(
            "it answered {}: {}",
            status.as_u16(),
            error_message::error_message(&text)
        );
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                EmbedAttemptError::Retryable { reason, wait }
            }
            _ if status.is_server_error() => EmbedAttemptError::Retryable { reason, wait },
            _ if status.is_redirection() => EmbedAttemptError::Final(misconfigured(
                "it redirects, which is not followed; check the base URL",
            )),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => refused(&reason, "check the key"),
            StatusCode::NOT_FOUND => refused(&reason, "check the base URL and the model"),
            _ => refused(&reason, "check the settings of this service"),
        })
    }

    /// Returns the client. A failure to build it is not kept, because its cause may pass, such as a
    /// moment without file descriptors.
    fn client(&self) -> Result<&Client, EmbedAttemptError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .redirect(Policy::none())
            .user_agent(concat!("deliberate/", env!("CARGO_PKG_VERSION")));
        let builder = if is_loopback(&self.url) {
            builder.no_proxy()
        } else {
            builder
        };
        let built = builder.build().map_err(|error| {
            let reason = root_cause(&error);
            EmbedAttemptError::Final(misconfigured(&format!(
                "no HTTP client can be made: {reason}"
            )))
        })?;
        Ok(self.client.get_or_init(|| built))
    }

    fn unreadable(&self, answer: &[u8], error: &serde_json::Error) -> EmbedError {
        let text = self.redact_key(&String::from_utf8_lossy(answer));
        let reason = match error_message::describe_body(&text) {
            Some(kind) => format!("it is {kind}; check the base URL"),
            None => {
                error_message::excerpt(&format!("{error}; check that the service is of this kind"))
            }
        };
        EmbedError::Malformed { reason }
    }

    /// Removes our key from a foreign message, before truncation could leave a part of it.
    fn redact_key(&self, text: &str) -> String {
        match &self.settings.key {
            Some(key) => text.replace(key.expose_secret().trim(), "[key]"),
            None => text.to_owned(),
        }
    }
}

/// The URL of a method. Plain HTTP is allowed on loopback only, because keys and texts would be
/// readable in transit.
fn method_url(base: &str, method: &str) -> Result<Url, EmbedError> {
    let mut url = Url::parse(base.trim())
        .map_err(|error| misconfigured(&format!("the base URL can't be read: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(misconfigured(
            "the base URL holds a user name or password; use the key",
        ));
    }
    let secure = match url.scheme() {
        "https" => url.host().is_some(),
        "http" => is_loopback(&url),
        _ => false,
    };
    if !secure {
        return Err(misconfigured(
            "the base URL is not allowed: use https, or http to this machine only",
        ));
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = format!("{}/{method}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Reads a body in pieces, so that an oversized one is abandoned early.
async fn read_bounded(mut response: Response) -> Result<Vec<u8>, EmbedAttemptError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreachable)? {
        if body.len() + piece.len() > MAX_RESPONSE_BYTES {
            return Err(EmbedAttemptError::Final(EmbedError::Malformed {
                reason: "it is larger than 32 MiB; ask for fewer texts at once".to_owned(),
            }));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn refused(reason: &str, next: &str) -> EmbedAttemptError {
    let reason = format!("{reason}; {next}");
    EmbedAttemptError::Final(EmbedError::Refused { reason })
}

pub(super) fn misconfigured(reason: &str) -> EmbedError {
    EmbedError::Misconfigured {
        reason: reason.to_owned(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn unreachable(error: reqwest::Error) -> EmbedAttemptError {
    EmbedAttemptError::Retryable {
        reason: root_cause(&error),
        wait: None,
    }
}

/// The root cause: "connection refused" says more than "error sending request".
fn root_cause(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else {
        return "the connection broke".to_owned();
    };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    error_message::excerpt(&cause.to_string())
}
