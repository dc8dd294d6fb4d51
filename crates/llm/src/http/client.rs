//! HTTP client of one provider: sends requests with rate limit, retries, deadline and size limit.

use std::time::Duration;

use bytes::Bytes;
use deliberate_core::{Clock as _, SystemClock};
use deliberate_http_client::{
    BodyError, LazyClient, LimiterError, RateHeaders, RequestLimiter, RetryPolicy, client_builder,
    read_body, retry, retry_after, root_cause, until_reset,
};
use reqwest::{Client, Response, header::HeaderMap};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout_at},
};
use url::Url;

use super::{
    HttpSettings,
    attempt_error::ProviderAttemptError,
    base_url,
    error_body::{error_message, excerpt, is_html},
    request::{ProviderAuth, ProviderEndpoint, ProviderRequest, ProviderResponse},
    stream::{ProviderEventStream, ResponseKind, is_stream},
};
use crate::ModelError;

/// Largest response body that is read.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Longest delay between two attempts, unless the provider asks for a longer one.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);

/// Longest wait that is accepted from a provider; a later header replaces it.
const MAX_RATE_WAIT: Duration = Duration::from_hours(1);

/// HTTP client of one provider. The underlying client is built with the first request.
pub(crate) struct ProviderClient {
    provider: String,
    base: Url,
    auth: ProviderAuth,
    headers: HeaderMap,
    rate_headers: RateHeaders,
    settings: HttpSettings,
    limiter: RequestLimiter,
    client: LazyClient,
}

impl ProviderClient {
    pub(crate) fn new(endpoint: ProviderEndpoint) -> Result<Self, ModelError> {
        let base = base_url(&endpoint.provider, &endpoint.base_url)?;
        let headers = endpoint.header_map()?;
        Ok(Self {
            limiter: RequestLimiter::new(
                endpoint.settings.concurrency,
                endpoint.settings.requests_per_second,
            ),
            provider: endpoint.provider,
            base,
            auth: endpoint.auth,
            headers,
            rate_headers: endpoint.rate_headers,
            settings: endpoint.settings,
            client: LazyClient::default(),
        })
    }

    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    /// Returns how long the provider refuses requests, if that is so long that they fail at once.
    pub(crate) fn rate_limited_for(&self) -> Option<Duration> {
        self.limiter.long_pause()
    }

    /// Sends the request before `deadline` and retries transient failures.
    pub(crate) async fn send(
        &self,
        request: &ProviderRequest,
        deadline: Instant,
    ) -> Result<ProviderResponse, ModelError> {
        self.with_retries(deadline, || self.attempt(request, deadline))
            .await
    }

    /// Like `send`, but returns an event stream as soon as it begins. After that nothing is
    /// retried.
    pub(crate) async fn open(
        &self,
        request: &ProviderRequest,
        deadline: Instant,
    ) -> Result<ResponseKind<'_>, ModelError> {
        self.with_retries(deadline, || self.attempt_open(request, deadline))
            .await
    }

    /// Retries until success, a final error or the deadline.
    async fn with_retries<T, F: Future<Output = Result<T, ProviderAttemptError>>>(
        &self,
        deadline: Instant,
        try_once: impl Fn() -> F,
    ) -> Result<T, ModelError> {
        let policy = RetryPolicy {
            max_retries: usize::try_from(self.settings.max_retries).unwrap_or(usize::MAX),
            first_delay: self.settings.retry_delay,
            max_delay: MAX_RETRY_DELAY,
            max_asked: RequestLimiter::MAX_WAIT,
            deadline,
        };
        let notify = |error: &ProviderAttemptError, delay: Duration| {
            tracing::debug!(provider = self.provider, ?delay, "retrying after {delay:?}");
            // The provider's message may repeat parts of the prompt.
            tracing::debug!(target: "deliberate::content", ?error, "an attempt failed");
        };
        retry(policy, try_once, notify).await.map_err(|failed| {
            let (attempts, elapsed) = (failed.attempts, failed.elapsed);
            failed.error.into_error(&self.provider, attempts, elapsed)
        })
    }

    /// Requests a list that costs nothing. A provider without such a list also counts as reachable.
    pub(crate) async fn check(
        &self,
        path: &'static str,
        deadline: Instant,
    ) -> Result<(), ModelError> {
        let response = self.send(&ProviderRequest::get(path), deadline).await?;
        if response.is_success() || matches!(response.status, 404 | 405) {
            return Ok(());
        }
        Err(self.api_error(&response))
    }

    /// Parses the JSON of a successful response; any other response is an error.
    pub(crate) fn json(&self, answered: &ProviderResponse) -> Result<Value, ModelError> {
        if !answered.is_success() {
            return Err(self.api_error(answered));
        }
        serde_json::from_slice(&answered.body).map_err(|_| {
            let text = answered.text();
            let kind = if is_html(&text) {
                "an HTML page"
            } else if text.trim().is_empty() {
                "nothing"
            } else {
                "something else"
            };
            self.invalid_response(
                format!("the response is not JSON but {kind}; check the base URL"),
                &text,
            )
        })
    }

    /// Converts an error status to an error.
    pub(crate) fn api_error(&self, answered: &ProviderResponse) -> ModelError {
        let message = if (300..400).contains(&answered.status) {
            "it redirects elsewhere, and redirects are not followed; check the base URL".to_owned()
        } else {
            error_message(&self.redact_key(&answered.text()))
        };
        self.api_error_with_message(answered.status, &message)
    }

    /// Builds an API error with the provider's own message.
    pub(crate) fn api_error_with_message(&self, status: u16, message: &str) -> ModelError {
        ModelError::Api {
            provider: self.provider.clone(),
            status,
            message: excerpt(&self.redact_key(message)),
        }
    }

    /// Builds the error for a response with an unexpected form.
    pub(crate) fn invalid_response(&self, reason: String, body: &str) -> ModelError {
        ModelError::InvalidResponse {
            provider: self.provider.clone(),
            reason,
            answer: excerpt(&self.redact_key(body)),
        }
    }

    async fn attempt(
        &self,
        request: &ProviderRequest,
        deadline: Instant,
    ) -> Result<ProviderResponse, ProviderAttemptError> {
        let _place = self.acquire_permit(deadline).await?;
        self.client()?;
        let end = self.attempt_end(deadline);
        let exchange = async {
            let response = self.send_once(request).await?;
            self.read_response(request, response).await
        };
        with_deadline(exchange, end, deadline).await
    }

    async fn attempt_open(
        &self,
        request: &ProviderRequest,
        deadline: Instant,
    ) -> Result<ResponseKind<'_>, ProviderAttemptError> {
        let place = self.acquire_permit(deadline).await?;
        self.client()?;
        let end = self.attempt_end(deadline);
        let exchange = async {
            let response = self.send_once(request).await?;
            if !is_stream(&response) {
                return self
                    .read_response(request, response)
                    .await
                    .map(ResponseKind::Buffered);
            }
            self.apply_rate_headers(response.status().as_u16(), response.headers());
            Ok(ResponseKind::Stream(ProviderEventStream::new(
                self, response, place, deadline,
            )))
        };
        with_deadline(exchange, end, deadline).await
    }

    async fn acquire_permit(
        &self,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, ProviderAttemptError> {
        let admitted = self.limiter.admit(deadline).await;
        admitted.map_err(|denied| match denied {
            LimiterError::TooSoon(wait) => ProviderAttemptError::TooSoon(wait),
            LimiterError::Late => ProviderAttemptError::Late,
        })
    }

    /// Returns the time by which an attempt that starts now must have its response, or the next
    /// piece of it. The client is built beforehand, so that loading the system's certificates takes
    /// no time from the first attempt.
    pub(super) fn attempt_end(&self, deadline: Instant) -> Instant {
        deadline.min(Instant::now() + self.settings.request_timeout)
    }

    async fn send_once(&self, request: &ProviderRequest) -> Result<Response, ProviderAttemptError> {
        let url = format!(
            "{}{}",
            self.base.as_str().trim_end_matches('/'),
            request.path
        );
        let mut builder = self
            .client()?
            .request(request.method.clone(), url)
            .headers(self.headers.clone());
        if let Some(body) = &request.body {
            builder = builder
                .header("content-type", "application/json")
                .body(body.clone());
        }
        builder.send().await.map_err(unreachable)
    }

    /// Reads the whole response if a retry would not change it.
    async fn read_response(
        &self,
        request: &ProviderRequest,
        response: Response,
    ) -> Result<ProviderResponse, ProviderAttemptError> {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let wait = self.apply_rate_headers(status, &headers);
        let body = read_body(response, MAX_BODY_BYTES).await;
        let body: Bytes = body.map_err(|error| match error {
            BodyError::Interrupted(error) => unreachable(error),
            BodyError::TooLarge { .. } => ProviderAttemptError::Final(
                self.invalid_response("the response is larger than 8 MiB".to_owned(), ""),
            ),
        })?;
        match status {
            429 => Err(ProviderAttemptError::Limited(wait)),
            408 | 500.. if !request.is_refused(status, &body) => {
                Err(ProviderAttemptError::Failing {
                    status,
                    message: error_message(&self.redact_key(&String::from_utf8_lossy(&body))),
                    wait,
                })
            }
            _ => Ok(ProviderResponse {
                status,
                headers,
                body,
            }),
        }
    }

    /// Applies the rate-limit headers to the limiter and returns the wait they ask for.
    fn apply_rate_headers(&self, status: u16, headers: &HeaderMap) -> Option<Duration> {
        let failed = status == 408 || status == 429 || status >= 500;
        let now = SystemClock.now();
        let asked = failed.then(|| retry_after(headers, now, MAX_RATE_WAIT));
        let wait = asked
            .flatten()
            .or_else(|| until_reset(headers, self.rate_headers, now, MAX_RATE_WAIT));
        match wait {
            Some(wait) => self.limiter.pause(wait),
            None if !failed => self.limiter.end_trial(),
            None => {}
        }
        wait
    }

    fn client(&self) -> Result<&Client, ProviderAttemptError> {
        let client = self.client.get_or_build(|| client_builder(&self.base));
        client.map_err(|error| {
            ProviderAttemptError::Final(ModelError::Misconfigured {
                provider: self.provider.clone(),
                reason: format!(
                    "the HTTP client could not be built: {}",
                    excerpt(&error.to_string())
                ),
            })
        })
    }

    /// Removes the API key from the provider's text, in case it is repeated there. This must happen
    /// before truncation, which could leave a part of the key.
    fn redact_key(&self, text: &str) -> String {
        match &self.auth {
            ProviderAuth::None => text.to_owned(),
            ProviderAuth::Bearer(key) | ProviderAuth::Header(_, key) => {
                text.replace(key.expose_secret().trim(), "[key]")
            }
        }
    }
}

/// Runs an exchange and fails at the deadline.
async fn with_deadline<T>(
    exchange: impl Future<Output = Result<T, ProviderAttemptError>>,
    end: Instant,
    deadline: Instant,
) -> Result<T, ProviderAttemptError> {
    match timeout_at(end, exchange).await {
        Ok(result) => result,
        Err(_) if end == deadline => Err(ProviderAttemptError::Late),
        Err(_) => Err(ProviderAttemptError::TimedOut),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn unreachable(error: reqwest::Error) -> ProviderAttemptError {
    ProviderAttemptError::Unreachable(innermost_reason(&error))
}

/// Returns the innermost cause, shortened.
pub(super) fn innermost_reason(error: &reqwest::Error) -> String {
    root_cause(error).map_or_else(
        || "the connection was interrupted".to_owned(),
        |cause| excerpt(&cause),
    )
}
