//! An answer that comes as a stream of events: bounded in size, in time as a whole and between two
//! pieces.

use std::collections::VecDeque;

use reqwest::Response;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout_at},
};

use super::{
    Http,
    exchange::innermost,
    request::Answered,
    sse::{Events, TooLarge},
};
use crate::ThinkError;

/// The largest stream that is read; each word of an answer has an envelope of its own in it.
const MAX_STREAM_BYTES: usize = 32 * 1024 * 1024;

/// What came of a request for a stream.
pub(crate) enum Opened<'h> {
    /// A stream.
    Stream(Stream<'h>),
    /// A refusal, or the answer of one who does not stream.
    Whole(Answered),
}

/// Whether an answer is a good one that comes as events.
pub(super) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get("content-type");
    response.status().is_success()
        && kind
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

/// The events of an answer.
pub(crate) struct Stream<'h> {
    http: &'h Http,
    response: Option<Response>,
    /// Held until the answer is over: it is one of the requests at a time.
    _place: OwnedSemaphorePermit,
    deadline: Instant,
    begun: Instant,
    events: Events,
    ready: VecDeque<String>,
    bytes: usize,
}

impl<'h> Stream<'h> {
    pub(super) fn new(
        http: &'h Http,
        response: Response,
        place: OwnedSemaphorePermit,
        deadline: Instant,
    ) -> Self {
        Self {
            http,
            response: Some(response),
            _place: place,
            deadline,
            begun: Instant::now(),
            events: Events::default(),
            ready: VecDeque::new(),
            bytes: 0,
        }
    }

    /// The data of the next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, ThinkError> {
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
                .map_err(|_| ThinkError::Timeout {
                    provider: self.http.provider().to_owned(),
                    after: self.begun.elapsed(),
                })?
                .map_err(|error| self.broken(&innermost(&error)))?;
            if let Some(piece) = piece {
                self.take(&piece)?;
            } else {
                self.response = None;
                self.ready.extend(self.events.last());
            }
        }
    }

    /// The error of a stream that is not what it should be.
    pub(crate) fn broken(&self, reason: &str) -> ThinkError {
        ThinkError::Unavailable {
            provider: self.http.provider().to_owned(),
            reason: format!("its answer broke off: {reason}"),
            attempts: 1,
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), ThinkError> {
        self.bytes += piece.len();
        if self.bytes > MAX_STREAM_BYTES {
            let reason = "the response is larger than 32 MiB".to_owned();
            return Err(self.http.unusable(reason, ""));
        }
        let ended = self.events.take(piece).map_err(|TooLarge| {
            let reason = "an event of the response is larger than 1 MiB".to_owned();
            self.http.unusable(reason, "")
        })?;
        self.ready.extend(ended);
        Ok(())
    }
}
