//! Reads a request's body whole, as JSON, within a size, a time and a share of memory, so that what comes
//! after has it at hand and a sender who dawdles holds nothing but a socket.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::HttpRejection;

/// How bodies are read.
#[derive(Debug, Clone)]
pub(super) struct BodyReader {
    limit: usize,
    time: Duration,
    /// What all bodies together may hold, a permit a byte.
    memory: Arc<Semaphore>,
}

/// A body that was read. It counts against the memory for all until it is dropped.
pub(super) struct BufferedBody {
    pub(super) bytes: Bytes,
    pub(super) memory: Option<OwnedSemaphorePermit>,
}

impl BodyReader {
    pub(super) fn new(limit: usize, time: Duration, memory: usize) -> Self {
        Self {
            // A semaphore counts no further than 32 bits at once.
            limit: limit.min(u32::MAX as usize),
            time,
            memory: Arc::new(Semaphore::new(memory.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Reads a body, or says why not.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<BufferedBody, HttpRejection> {
        if body.is_end_stream() {
            return Ok(BufferedBody {
                bytes: Bytes::new(),
                memory: None,
            });
        }
        if content_length(headers).is_some_and(|length| length > self.limit as u64) {
            return Err(too_large());
        }
        if !is_json(headers) {
            return Err(not_json());
        }
        match tokio::time::timeout(self.time, self.collect(body)).await {
            Ok(read) => read,
            Err(_) => Err(too_slow()),
        }
    }

    async fn collect(&self, mut body: Body) -> Result<BufferedBody, HttpRejection> {
        let mut first = Bytes::new();
        let mut whole = BytesMut::new();
        let mut memory: Option<OwnedSemaphorePermit> = None;
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return Err(broken_body());
            };
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            length += bytes.len();
            if length > self.limit {
                return Err(too_large());
            }
            let share = self.reserve_memory(bytes.len())?;
            match &mut memory {
                Some(held) => held.merge(share),
                None => memory = Some(share),
            }
            // Most bodies come in one piece, which then need not be copied.
            if first.is_empty() && whole.is_empty() {
                first = bytes;
            } else {
                whole.extend_from_slice(&std::mem::take(&mut first));
                whole.extend_from_slice(&bytes);
            }
        }
        let bytes = if whole.is_empty() {
            first
        } else {
            whole.freeze()
        };
        Ok(BufferedBody { bytes, memory })
    }

    fn reserve_memory(&self, bytes: usize) -> Result<OwnedSemaphorePermit, HttpRejection> {
        let count = u32::try_from(bytes).map_err(|_| too_large())?;
        self.memory
            .clone()
            .try_acquire_many_owned(count)
            .map_err(|_| memory_exhausted())
    }
}

/// A page can send forms and plain text to anyone without asking the browser; JSON it can't.
fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn not_json() -> HttpRejection {
    HttpRejection::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "not_json",
        "Only JSON is taken; send it with \"Content-Type: application/json\".",
    )
    .close_connection()
}

fn too_large() -> HttpRejection {
    HttpRejection::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        "The request is larger than this server takes; send less at once.",
    )
    .close_connection()
}

fn too_slow() -> HttpRejection {
    HttpRejection::new(
        StatusCode::REQUEST_TIMEOUT,
        "body_too_slow",
        "The request did not arrive in time; send it again, whole.",
    )
    .close_connection()
}

fn broken_body() -> HttpRejection {
    HttpRejection::new(
        StatusCode::BAD_REQUEST,
        "body_broken",
        "The request broke off or can't be read; send it again.",
    )
    .close_connection()
}

fn memory_exhausted() -> HttpRejection {
    HttpRejection::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "server_busy",
        "This server holds as many requests as it can; try again soon.",
    )
    .close_connection()
    .retry_after(1)
}
