//! A response as a stream of events, bounded in size, in total time and in the time between two
//! chunks.

use std::collections::VecDeque;

use deliberate_http_client::{SseEventTooLarge, SseParser, SseParserEvent, content_type};
use reqwest::Response;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout_at},
};

use super::{ProviderClient, client::innermost_reason, request::ProviderResponse};
use crate::ModelError;

/// Largest stream that is read; each token of an answer has its own envelope in it.
const MAX_STREAM_BYTES: usize = 32 * 1024 * 1024;

/// Largest event that is read.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Response to a request for a stream.
pub(crate) enum ResponseKind<'h> {
    Stream(ProviderEventStream<'h>),
    /// A refusal, or the response of a provider that does not stream.
    Buffered(ProviderResponse),
}

/// Returns whether the response is successful and a stream of events.
pub(super) fn is_stream(response: &Response) -> bool {
    response.status().is_success() && content_type(response.headers()) == "text/event-stream"
}

/// The events of a response.
pub(crate) struct ProviderEventStream<'h> {
    http: &'h ProviderClient,
    response: Option<Response>,
    /// Held until the stream ends: it counts as one of the concurrent requests.
    _permit: OwnedSemaphorePermit,
    deadline: Instant,
    started_at: Instant,
    events: Box<SseParser>,
    ready: VecDeque<String>,
    bytes: usize,
}

impl<'h> ProviderEventStream<'h> {
    pub(super) fn new(
        http: &'h ProviderClient,
        response: Response,
        place: OwnedSemaphorePermit,
        deadline: Instant,
    ) -> Self {
        Self {
            http,
            response: Some(response),
            _permit: place,
            deadline,
            started_at: Instant::now(),
            events: Box::new(SseParser::new(MAX_EVENT_BYTES)),
            ready: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns the data of the next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, ModelError> {
        loop {
            if let Some(data) = self.ready.pop_front() {
                return Ok(Some(data));
            }
            let Some(response) = &mut self.response else {
                return Ok(None);
            };
            let end = self.http.attempt_end(self.deadline);
            let piece = timeout_at(end, response.chunk())
                .await
                .map_err(|_| ModelError::Timeout {
                    provider: self.http.provider().to_owned(),
                    after: self.started_at.elapsed(),
                })?
                .map_err(|error| self.invalid_stream(&innermost_reason(&error)))?;
            if let Some(piece) = piece {
                self.push(&piece)?;
            } else {
                self.response = None;
                let ended = self.events.finish(&mut collect_data(&mut self.ready));
                self.check_size(ended)?;
            }
        }
    }

    /// Builds the error for a malformed stream.
    pub(crate) fn invalid_stream(&self, reason: &str) -> ModelError {
        ModelError::Unavailable {
            provider: self.http.provider().to_owned(),
            reason: format!("its response was interrupted: {reason}"),
            attempts: 1,
        }
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), ModelError> {
        self.bytes += piece.len();
        if self.bytes > MAX_STREAM_BYTES {
            let reason = "the response is larger than 32 MiB".to_owned();
            return Err(self.http.invalid_response(reason, ""));
        }
        let read = (self.events).feed(piece, &mut collect_data(&mut self.ready));
        self.check_size(read)
    }

    fn check_size(&self, read: Result<(), SseEventTooLarge>) -> Result<(), ModelError> {
        read.map_err(|SseEventTooLarge| {
            let reason = "an event of the response is larger than 1 MiB".to_owned();
            self.http.invalid_response(reason, "")
        })
    }
}

/// Keeps an event's data alone: the formats parsed here repeat the event's name in it.
fn collect_data(ready: &mut VecDeque<String>) -> impl FnMut(&SseParserEvent<'_>) {
    |event: &SseParserEvent<'_>| ready.push_back(String::from_utf8_lossy(event.data).into_owned())
}
