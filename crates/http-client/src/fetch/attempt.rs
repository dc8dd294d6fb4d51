//! Sends one request and reads the whole response up to its size limit.

use bytes::Bytes;
use reqwest::Response;
use url::Url;

use super::{
    FetchRequest, FetchResponse, HttpClientError,
    client::HttpClientInner,
    rate_limit::rate_limit_interval,
    redirects::{OutboundRequest, request_error, send_with_redirects},
    request::host_label,
    response_status::ResponseClassifier,
    retry::FetchAttemptError,
};
use crate::{BodyError, content_type, read_body};

impl FetchRequest {
    pub(super) fn to_outbound(&self) -> OutboundRequest<'_> {
        OutboundRequest {
            url: &self.url,
            body: self.body.as_ref(),
            accept: self.accept,
            secret_headers: &self.secret_headers,
            secret_query: &self.secret_query,
        }
    }
}

/// Sends a request in a single attempt.
pub(super) async fn fetch(
    parts: &HttpClientInner,
    request: &FetchRequest,
) -> Result<FetchResponse, FetchAttemptError> {
    let (response, url) =
        send_with_redirects(&parts.guard, &parts.clients, &request.to_outbound()).await?;
    if let Some(every) = rate_limit_interval(response.headers()) {
        parts
            .rate_limiter
            .apply_rate_limit(&request.rate_limit, every)
            .await;
    }
    let judge = ResponseClassifier {
        now: parts.clock.now(),
        throttle_statuses: request.throttle_statuses,
        secrets: (request.secret_headers.iter().chain(&request.secret_query))
            .map(|(_, it)| it)
            .collect(),
        may_need_key: true,
        clean_message: parts.clean_message,
    };
    let response = judge.classify(response, &url).await?;
    let status = response.status().as_u16();
    let content_type = content_type(response.headers());
    let body = read_whole_body(response, &url, request.max_bytes).await?;
    Ok(FetchResponse {
        status,
        content_type,
        body,
        url,
        from_cache: false,
    })
}

/// The error for a response over the size limit.
pub(super) fn too_large_error(url: &Url, most: u64) -> FetchAttemptError {
    FetchAttemptError::Final(HttpClientError::TooLarge {
        host: host_label(url),
        max_bytes: most,
    })
}

async fn read_whole_body(
    response: Response,
    url: &Url,
    most: u64,
) -> Result<Bytes, FetchAttemptError> {
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    read_body(response, limit)
        .await
        .map_err(|error| match error {
            BodyError::TooLarge { .. } => too_large_error(url, most),
            BodyError::Interrupted(error) => interrupted_error(url, &error),
        })
}

/// The error for a response that ended early.
pub(super) fn interrupted_error(url: &Url, error: &reqwest::Error) -> FetchAttemptError {
    match request_error(url, error) {
        FetchAttemptError::Retryable(HttpClientError::Unreachable { host, reason }) => {
            FetchAttemptError::Retryable(HttpClientError::Unreachable {
                host,
                reason: format!("the response was cut off: {reason}"),
            })
        }
        other => other,
    }
}
