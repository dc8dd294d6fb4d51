//! Sends traces with the program's own HTTP client, so that there is only one TLS stack.
//!
//! It runs on the thread that batches spans, with its own small runtime: a busy server does not
//! delay traces, and a hanging collector does not delay the server.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use deliberate_http_client::{BodyError, client_builder, is_loopback, read_body, root_cause};
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use reqwest::Client;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::runtime::{Builder, Handle, Runtime};
use url::Url;

use super::TelemetryError;

/// Minimum time between two warnings about a collector that rejects traces.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);

/// How much of a collector's response is read; only its status matters.
const MAX_RESPONSE_BYTES: usize = 64 * 1_024;

/// Sends batches of spans.
pub(super) struct OtlpHttpClient {
    client: Client,
    /// `None` only during drop.
    runtime: Option<Runtime>,
    failures: AtomicU64,
    last_warning: Mutex<Option<Instant>>,
}

impl fmt::Debug for OtlpHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpHttpClient").finish_non_exhaustive()
    }
}

impl OtlpHttpClient {
    pub(super) fn new(
        endpoint: &Url,
        headers: &[(String, SecretString)],
        limit: Duration,
    ) -> Result<Self, TelemetryError> {
        if !headers.is_empty() && endpoint.scheme() != "https" && !is_loopback(endpoint) {
            return Err(TelemetryError::Exposed);
        }
        let builder = client_builder(endpoint)
            .map_err(|error| TelemetryError::Sender(error.to_string()))?
            .default_headers(build_headers(headers)?)
            .timeout(limit);
        let client = builder
            .build()
            .map_err(|error| TelemetryError::Sender(error.to_string()))?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| TelemetryError::Sender(error.to_string()))?;
        Ok(Self {
            client,
            runtime: Some(runtime),
            failures: AtomicU64::new(0),
            last_warning: Mutex::default(),
        })
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let runtime = self.runtime.as_ref().ok_or("the sender has stopped")?;
        // Waiting here would block everything else on this thread.
        if Handle::try_current().is_ok() {
            return Err("traces must not be sent from a thread that serves requests".into());
        }
        let answer = runtime.block_on(send_request(&self.client, request));
        match &answer {
            Ok(answer) if answer.status().is_success() => {
                self.failures.store(0, Ordering::Relaxed);
            }
            Ok(answer) => self.warn_rate_limited(&format!("it answered {}", answer.status())),
            Err(error) => self.warn_rate_limited(error),
        }
        answer.map_err(HttpError::from)
    }

    /// Warns that traces were rejected, at most once per interval.
    fn warn_rate_limited(&self, reason: &str) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let mut complained = self
            .last_warning
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if complained.is_some_and(|at| at.elapsed() < WARNING_INTERVAL) {
            return;
        }
        *complained = Some(Instant::now());
        tracing::warn!(reason, failures, "the collector does not accept traces");
    }
}

impl HttpClient for OtlpHttpClient {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> BoxFuture<'b, Result<Response<Bytes>, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.send(request) })
    }
}

impl Drop for OtlpHttpClient {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The drop may happen where waiting is not allowed.
            runtime.shutdown_background();
        }
    }
}

async fn send_request(client: &Client, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
    let (parts, body) = request.into_parts();
    // The URL may contain private data.
    let said = |error: reqwest::Error| {
        let error = error.without_url();
        root_cause(&error).unwrap_or_else(|| error.to_string())
    };
    let answer = client
        .post(parts.uri.to_string())
        .headers(parts.headers)
        .body(body)
        .send()
        .await
        .map_err(said)?;
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    let body = read_body(answer, MAX_RESPONSE_BYTES).await;
    *response.body_mut() = body.map_err(|error| match error {
        BodyError::TooLarge { .. } => "its response is too long".to_owned(),
        BodyError::Interrupted(error) => said(error),
    })?;
    Ok(response)
}

fn build_headers(headers: &[(String, SecretString)]) -> Result<HeaderMap, TelemetryError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || TelemetryError::Header(name.clone());
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.insert(name, value);
    }
    Ok(map)
}
