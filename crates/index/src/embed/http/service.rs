//! Sends one request to a service and parses its JSON response.

use std::time::Duration;

use bytes::Bytes;
use deliberate_core::{Clock as _, SystemClock};
use deliberate_http_client::{
    BodyError, LazyClient, RetryPolicy, client_builder, parse_base_url, read_body, retry,
    retry_after, root_cause,
};
use reqwest::{Client, Response, StatusCode, header::HeaderValue};
use secrecy::ExposeSecret as _;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{ServiceSettings, attempt_error::EmbedAttemptError, error_message};
use crate::EmbedError;

/// The largest response: 128 vectors of 4,096 numbers take half of it.
const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;

/// The longest `Retry-After` that is accepted.
const MAX_WAIT: Duration = Duration::from_hours(1);

/// The HTTP client of a service, built with the first request.
#[derive(Debug)]
pub(super) struct ServiceClient {
    settings: ServiceSettings,
    url: Url,
    client: LazyClient,
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
            client: LazyClient::default(),
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
        let policy = RetryPolicy {
            max_retries: self.settings.retries,
            first_delay: self.settings.retry_delay,
            max_delay: self.settings.deadline,
            max_asked: MAX_WAIT,
            deadline,
        };
        let attempt = || self.attempt(&body, deadline);
        let notify = |_: &EmbedAttemptError, delay| {
            tracing::debug!(?delay, "a service failed; trying again");
        };
        let answer = retry(policy, attempt, notify)
            .await
            .map_err(|failed| failed.error.into_error(failed.attempts))?;
        serde_json::from_slice(&answer).map_err(|error| self.unreadable(&answer, &error))
    }

    async fn attempt(&self, body: &[u8], deadline: Instant) -> Result<Bytes, EmbedAttemptError> {
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
    async fn read_response(&self, response: Response) -> Result<Bytes, EmbedAttemptError> {
        let status = response.status();
        let wait = retry_after(response.headers(), SystemClock.now(), MAX_WAIT);
        let body = read_body(response, MAX_RESPONSE_BYTES).await;
        let body = body.map_err(|error| match error {
            BodyError::Interrupted(error) => unreachable(error),
            BodyError::TooLarge { .. } => EmbedAttemptError::Final(EmbedError::Malformed {
                reason: "it is larger than 32 MiB; ask for fewer texts at once".to_owned(),
            }),
        })?;
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

    fn client(&self) -> Result<&Client, EmbedAttemptError> {
        let client = self.client.get_or_build(|| client_builder(&self.url));
        client.map_err(|error| {
            let reason = error_message::excerpt(&error.to_string());
            EmbedAttemptError::Final(misconfigured(&format!(
                "no HTTP client can be made: {reason}"
            )))
        })
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

/// The URL of a method.
fn method_url(base: &str, method: &str) -> Result<Url, EmbedError> {
    let mut url = parse_base_url(base).map_err(|error| misconfigured(&error.to_string()))?;
    let path = format!("{}/{method}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
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
        reason: root_cause(&error).map_or_else(
            || "the connection broke".to_owned(),
            |cause| error_message::excerpt(&cause),
        ),
        wait: None,
    }
}
