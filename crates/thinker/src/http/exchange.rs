//! One request and its answer.

use std::{
    error::Error as _,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use backon::Retryable;
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
    limiter::{Denied, Limiter},
    message::{excerpt, is_html, message_of},
    pace::{self, RateHeaders},
    request::{Answered, Auth, Endpoint, Request},
    retry::{self, Setback},
    secure,
    stream::{Opened, Stream, is_stream},
};
use crate::ThinkError;

/// The largest answer that is read.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// A provider as HTTP knows it. The client is built with the first request.
pub(crate) struct Http {
    provider: String,
    base: Url,
    auth: Auth,
    headers: HeaderMap,
    rate_headers: RateHeaders,
    settings: HttpSettings,
    limiter: Limiter,
    client: OnceLock<Result<Client, String>>,
}

impl Http {
    pub(crate) fn new(endpoint: Endpoint) -> Result<Self, ThinkError> {
        let base = secure::base_url(&endpoint.provider, &endpoint.base_url)?;
        let headers = endpoint.header_map()?;
        Ok(Self {
            limiter: Limiter::new(&endpoint.settings),
            provider: endpoint.provider,
            base,
            auth: endpoint.auth,
            headers,
            rate_headers: endpoint.rate_headers,
            settings: endpoint.settings,
            client: OnceLock::new(),
        })
    }

    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    /// Sends a request, again if that can help, all before `deadline`.
    pub(crate) async fn send(
        &self,
        request: &Request,
        deadline: Instant,
    ) -> Result<Answered, ThinkError> {
        self.persist(deadline, || self.attempt(request, deadline))
            .await
    }

    /// The same, but hands on an answer that comes as a stream of events before it is there whole.
    /// From then on nothing is tried again.
    pub(crate) async fn open(
        &self,
        request: &Request,
        deadline: Instant,
    ) -> Result<Opened<'_>, ThinkError> {
        self.persist(deadline, || self.attempt_open(request, deadline))
            .await
    }

    /// Tries until it succeeds, trying again is of no use, or the time is over.
    async fn persist<T, F: Future<Output = Result<T, Setback>>>(
        &self,
        deadline: Instant,
        try_once: impl Fn() -> F,
    ) -> Result<T, ThinkError> {
        let started = Instant::now();
        let attempts = AtomicU32::new(0);
        let attempt = || {
            attempts.fetch_add(1, Ordering::Relaxed);
            try_once()
        };
        attempt
            .retry(retry::backoff(&self.settings))
            .when(Setback::may_pass)
            .adjust(|setback, ours| retry::delay(setback, ours, deadline))
            .notify(|setback, delay| {
                tracing::debug!(
                    provider = self.provider,
                    ?delay,
                    "trying again after {delay:?}"
                );
                // The provider's own words may repeat what it was asked.
                tracing::debug!(target: "deliberate::content", ?setback, "an attempt failed");
            })
            .await
            .map_err(|setback| {
                let attempts = attempts.load(Ordering::Relaxed);
                setback.into_error(&self.provider, attempts, started.elapsed())
            })
    }

    /// Asks for a list that costs nothing. A provider that keeps no such list is there all the
    /// same.
    pub(crate) async fn check(
        &self,
        path: &'static str,
        deadline: Instant,
    ) -> Result<(), ThinkError> {
        let answered = self.send(&Request::get(path), deadline).await?;
        if answered.is_success() || matches!(answered.status, 404 | 405) {
            return Ok(());
        }
        Err(self.api_error(&answered))
    }

    /// The JSON of a success; anything else is an error.
    pub(crate) fn json(&self, answered: &Answered) -> Result<Value, ThinkError> {
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
            self.unusable(
                format!("the response is not JSON but {kind}; check the base URL"),
                &text,
            )
        })
    }

    /// An error status as an error.
    pub(crate) fn api_error(&self, answered: &Answered) -> ThinkError {
        let message = if (300..400).contains(&answered.status) {
            "it redirects elsewhere, which is not followed; check the base URL".to_owned()
        } else {
            message_of(&self.without_secret(&answered.text()))
        };
        self.api_error_saying(answered.status, &message)
    }

    /// An error that the provider put into words itself.
    pub(crate) fn api_error_saying(&self, status: u16, message: &str) -> ThinkError {
        ThinkError::Api {
            provider: self.provider.clone(),
            status,
            message: excerpt(&self.without_secret(message)),
        }
    }

    /// A response that is not what this provider answers.
    pub(crate) fn unusable(&self, reason: String, body: &str) -> ThinkError {
        ThinkError::InvalidResponse {
            provider: self.provider.clone(),
            reason,
            answer: excerpt(&self.without_secret(body)),
        }
    }

    async fn attempt(&self, request: &Request, deadline: Instant) -> Result<Answered, Setback> {
        let _place = self.place(deadline).await?;
        self.client()?;
        let end = self.attempt_end(deadline);
        let exchange = async {
            let response = self.sent(request).await?;
            self.answered(request, response).await
        };
        in_time(exchange, end, deadline).await
    }

    async fn attempt_open(
        &self,
        request: &Request,
        deadline: Instant,
    ) -> Result<Opened<'_>, Setback> {
        let place = self.place(deadline).await?;
        self.client()?;
        let end = self.attempt_end(deadline);
        let exchange = async {
            let response = self.sent(request).await?;
            if !is_stream(&response) {
                return self.answered(request, response).await.map(Opened::Whole);
            }
            self.learn(response.status().as_u16(), response.headers());
            Ok(Opened::Stream(Stream::new(self, response, place, deadline)))
        };
        in_time(exchange, end, deadline).await
    }

    async fn place(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Setback> {
        let admitted = self.limiter.admit(deadline).await;
        admitted.map_err(|denied| match denied {
            Denied::TooSoon(wait) => Setback::TooSoon(wait),
            Denied::Late => Setback::Late,
        })
    }

    /// When an attempt that begins now must have its answer, or the next piece of it. The client is
    /// made before: reading the machine's certificates takes no time from the first attempt.
    pub(super) fn attempt_end(&self, deadline: Instant) -> Instant {
        deadline.min(Instant::now() + self.settings.request_timeout)
    }

    async fn sent(&self, request: &Request) -> Result<Response, Setback> {
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

    /// The whole answer, if trying again would not change it.
    async fn answered(&self, request: &Request, response: Response) -> Result<Answered, Setback> {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let wait = self.learn(status, &headers);
        let body = read_body(response, MAX_BODY_BYTES)
            .await
            .map_err(unreachable)?
            .ok_or_else(|| {
                Setback::Final(self.unusable("the response is larger than 8 MiB".to_owned(), ""))
            })?;
        match status {
            429 => Err(Setback::Limited(wait)),
            408 | 500.. if !request.is_refused(status, &body) => Err(Setback::Failing {
                status,
                message: message_of(&self.without_secret(&String::from_utf8_lossy(&body))),
                wait,
            }),
            _ => Ok(Answered {
                status,
                headers,
                body,
            }),
        }
    }

    /// Takes up what the headers say about the pace, and gives the wait they ask for.
    fn learn(&self, status: u16, headers: &HeaderMap) -> Option<std::time::Duration> {
        let failed = status == 408 || status == 429 || status >= 500;
        let asked = failed.then(|| pace::retry_after(headers)).flatten();
        let wait = asked.or_else(|| pace::until_reset(headers, self.rate_headers));
        if let Some(wait) = wait {
            self.limiter.pause(wait);
        }
        wait
    }

    fn client(&self) -> Result<&Client, Setback> {
        let built = self
            .client
            .get_or_init(|| secure::client(&self.base).map_err(|error| innermost(&error)));
        built.as_ref().map_err(|reason| {
            Setback::Final(ThinkError::Misconfigured {
                provider: self.provider.clone(),
                reason: format!("no HTTP client could be made: {reason}"),
            })
        })
    }

    /// Takes our key out of what the other side said, in case it repeats it. This comes before
    /// any cutting, which could leave a part of the key.
    fn without_secret(&self, text: &str) -> String {
        match &self.auth {
            Auth::None => text.to_owned(),
            Auth::Bearer(key) | Auth::Header(_, key) => {
                text.replace(key.expose_secret().trim(), "[key]")
            }
        }
    }
}

/// What comes of an exchange that must end in time.
async fn in_time<T>(
    exchange: impl Future<Output = Result<T, Setback>>,
    end: Instant,
    deadline: Instant,
) -> Result<T, Setback> {
    match timeout_at(end, exchange).await {
        Ok(result) => result,
        Err(_) if end == deadline => Err(Setback::Late),
        Err(_) => Err(Setback::TimedOut),
    }
}

/// Reads a body by pieces; `None` if it is larger than `most`.
pub(crate) async fn read_body(
    mut response: Response,
    most: usize,
) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn unreachable(error: reqwest::Error) -> Setback {
    Setback::Unreachable(innermost(&error))
}

/// The first cause: «connection refused» says more than «error sending request», and it names no
/// URL.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let Some(mut cause) = error.source() else {
        return "the exchange broke".to_owned();
    };
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    excerpt(&cause.to_string())
}
