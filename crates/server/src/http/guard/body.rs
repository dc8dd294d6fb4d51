//! Reads a whole JSON body within limits on size, time and memory, before the route runs. A slow
//! sender occupies only a socket.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::HttpRejection;

/// The memory that is counted for each value of a body, beside the bytes of the body: `[1,1]` takes
/// many times its size once it is parsed. A parsed value takes twice as much, but texts contain
/// separators too, and large texts must not count as structures.
const VALUE_BYTES: usize = 32;

/// Reads request bodies within limits.
#[derive(Debug, Clone)]
pub(super) struct BodyReader {
    limit: usize,
    time: Duration,
    /// The memory for all bodies together, one permit per byte.
    memory: Arc<Semaphore>,
    /// The most that is counted for the values of one body. It leaves room for other requests, so
    /// that a body with very many values need not wait until it is alone.
    heaviest: usize,
}

/// A body that was read. It counts against the shared memory until it is dropped.
pub(super) struct BufferedBody {
    pub(super) bytes: Bytes,
    pub(super) memory: Option<OwnedSemaphorePermit>,
}

impl BodyReader {
    pub(super) fn new(limit: usize, time: Duration, memory: usize) -> Self {
        let memory = memory.min(Semaphore::MAX_PERMITS);
        Self {
            // A semaphore grants at most 32 bits of permits at once.
            limit: limit.min(u32::MAX as usize),
            time,
            memory: Arc::new(Semaphore::new(memory)),
            heaviest: (memory / 2).min(u32::MAX as usize),
        }
    }

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
        let (mut length, mut separators) = (0, 0);
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
            separators += count_separators(&bytes);
            self.reserve_memory(&mut memory, bytes.len())?;
            // Most bodies arrive in one chunk, which need not be copied.
            if first.is_empty() && whole.is_empty() {
                first = bytes;
            } else {
                whole.extend_from_slice(&std::mem::take(&mut first));
                whole.extend_from_slice(&bytes);
            }
        }
        // Only now, because a slow sender would hold it without needing it.
        self.reserve_memory(&mut memory, self.weight(length, separators) - length)?;
        let bytes = if whole.is_empty() {
            first
        } else {
            whole.freeze()
        };
        Ok(BufferedBody { bytes, memory })
    }

    /// The memory that counts for a body with its values.
    fn weight(&self, length: usize, separators: usize) -> usize {
        length
            .saturating_add(separators.saturating_mul(VALUE_BYTES))
            .min(self.heaviest)
            .max(length)
    }

    /// Reserves more memory for a body.
    fn reserve_memory(
        &self,
        held: &mut Option<OwnedSemaphorePermit>,
        bytes: usize,
    ) -> Result<(), HttpRejection> {
        let count = u32::try_from(bytes).map_err(|_| too_large())?;
        let more = self
            .memory
            .clone()
            .try_acquire_many_owned(count)
            .map_err(|_| memory_exhausted())?;
        match held {
            Some(held) => held.merge(more),
            None => *held = Some(more),
        }
        Ok(())
    }
}

/// Counts the bytes before which or after which JSON has another value.
fn count_separators(bytes: &[u8]) -> usize {
    let is_separator = |byte: &&u8| matches!(byte, b',' | b':' | b'[' | b'{');
    bytes.iter().filter(is_separator).count()
}

/// Requires a JSON content type. A web page can send forms and plain text across origins without a
/// preflight request, but not JSON.
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
        "Only JSON is accepted; send it with \"Content-Type: application/json\".",
    )
    .close_connection()
}

fn too_large() -> HttpRejection {
    HttpRejection::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        "The request exceeds the size limit of this server; send less at once.",
    )
    .close_connection()
}

fn too_slow() -> HttpRejection {
    HttpRejection::new(
        StatusCode::REQUEST_TIMEOUT,
        "body_too_slow",
        "The request did not arrive in time; send it again.",
    )
    .close_connection()
}

fn broken_body() -> HttpRejection {
    HttpRejection::new(
        StatusCode::BAD_REQUEST,
        "body_broken",
        "The request was interrupted or cannot be read; send it again.",
    )
    .close_connection()
}

fn memory_exhausted() -> HttpRejection {
    HttpRejection::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "server_busy",
        "This server has reached its memory limit for requests; try again soon.",
    )
    .close_connection()
    .retry_after(1)
}
