//! Reads bodies of responses within limits.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderMap},
};
use tokio::time::{Instant, timeout_at};

/// Memory that is reserved because of an announced length, which anyone can announce.
const MAX_RESERVED_BYTES: usize = 64 * 1024;

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("the response is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the response was interrupted")]
    Interrupted(#[from] reqwest::Error),
}

/// Reads a whole body. One that is or claims to be larger than `limit` is abandoned.
pub async fn read_body(mut response: Response, limit: usize) -> Result<Bytes, BodyError> {
    let announced = response.content_length().unwrap_or_default();
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(BodyError::TooLarge { limit });
    }
    let mut body = BytesMut::with_capacity(announced.min(MAX_RESERVED_BYTES));
    while let Some(chunk) = response.chunk().await? {
        if body.len().saturating_add(chunk.len()) > limit {
            return Err(BodyError::TooLarge { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Reads at most `limit` bytes and no longer than `time`, whatever arrives until then.
pub async fn read_prefix(mut response: Response, limit: usize, time: Duration) -> Bytes {
    let end = Instant::now() + time;
    let mut body = BytesMut::new();
    while body.len() < limit
        && let Ok(Ok(Some(chunk))) = timeout_at(end, response.chunk()).await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(limit);
    body.freeze()
}

/// Returns the declared content type in lower case without parameters; empty if there is none.
pub fn content_type(headers: &HeaderMap) -> String {
    let declared = headers.get(CONTENT_TYPE);
    let declared = declared.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = declared.split(';').next().unwrap_or_default();
    deliberate_core::truncate_chars(&kind.trim().to_ascii_lowercase(), 100)
}

#[cfg(test)]
mod tests {
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

    use super::*;

    async fn respond(body: &str) -> (MockServer, Response) {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).set_body_raw(body, "Text/HTML; charset=utf-8");
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let url = server.uri().parse().unwrap();
        let client = crate::client_builder(&url).unwrap().build().unwrap();
        let response = client.get(url).send().await.unwrap();
        (server, response)
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        let (_server, response) = respond("12345").await;
        assert_eq!(content_type(response.headers()), "text/html");
        assert_eq!(read_body(response, 5).await.unwrap(), "12345");
        let (_server, response) = respond("12345").await;
        let error = read_body(response, 4).await.unwrap_err();
        assert!(matches!(error, BodyError::TooLarge { limit: 4 }));
        let (_server, response) = respond("12345").await;
        let start = read_prefix(response, 3, Duration::from_secs(5)).await;
        assert_eq!(start, "123");
    }

    #[test]
    fn a_missing_content_type_is_empty() {
        assert_eq!(content_type(&HeaderMap::new()), "");
    }
}
