//! Sends one request and reads the whole response up to its size limit.

use bytes::{Bytes, BytesMut};
use reqwest::Response;
use url::Url;

use super::{
    FetchRequest, FetchResponse, HttpClientError,
    client::HttpClientInner,
    rate_limit::rate_limit_interval,
    redirects::{OutboundRequest, request_error, send_with_redirects},
    request::host_label,
    response_status::{ResponseClassifier, response_content_type},
    retry::FetchAttemptError,
};

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
    };
    let response = judge.classify(response, &url).await?;
    let status = response.status().as_u16();
    let content_type = response_content_type(&response);
    let body = read_body(response, &url, request.max_bytes).await?;
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

async fn read_body(
    mut response: Response,
    url: &Url,
    most: u64,
) -> Result<Bytes, FetchAttemptError> {
    // The declared size can only reject a response early; the limit is enforced while reading.
    if response.content_length().is_some_and(|it| it > most) {
        return Err(too_large_error(url, most));
    }
    let mut body = BytesMut::new();
    while let Some(piece) = next_chunk(&mut response, url).await? {
        if (body.len() + piece.len()) as u64 > most {
            return Err(too_large_error(url, most));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body.freeze())
}

/// Reads the next chunk of a response.
pub(super) async fn next_chunk(
    response: &mut Response,
    url: &Url,
) -> Result<Option<Bytes>, FetchAttemptError> {
    let piece = response.chunk().await;
    piece.map_err(|error| match request_error(url, &error) {
        FetchAttemptError::Retryable(HttpClientError::Unreachable { host, reason }) => {
            FetchAttemptError::Retryable(HttpClientError::Unreachable {
                host,
                reason: format!("the response was cut off: {reason}"),
            })
        }
        other => other,
    })
}
