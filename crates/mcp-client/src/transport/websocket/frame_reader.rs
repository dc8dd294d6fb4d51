//! What comes through a WebSocket, until its end, which is told once.

use futures::{StreamExt as _, stream::SplitStream};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::{
    Error, Message as Frame, error::CapacityError, protocol::CloseFrame,
};
use tokio_util::sync::CancellationToken;

use super::{ClientWebSocket, closed_error};
use crate::transport::{DeliveryStatus, IncomingEvent, IncomingSink, TransportError};

pub(super) struct FrameReader {
    pub(super) frames: SplitStream<ClientWebSocket>,
    pub(super) incoming: IncomingSink,
    pub(super) limit: usize,
    /// We say goodbye: the end that follows is no surprise.
    pub(super) closing: CancellationToken,
    /// Nobody wants more.
    pub(super) end: CancellationToken,
    pub(super) closed: watch::Sender<bool>,
}

impl FrameReader {
    /// Reads until the end. Pings are answered by the socket while it is read.
    pub(super) async fn read(mut self) {
        let how = self.read_frames().await;
        let how = how.filter(|_| !self.closing.is_cancelled());
        self.closed.send_replace(true);
        self.incoming.push(IncomingEvent::Closed(how));
    }

    async fn read_frames(&mut self) -> Option<TransportError> {
        let mut said = None;
        loop {
            let frame = tokio::select! {
                frame = self.frames.next() => frame,
                () = self.end.cancelled() => return None,
            };
            match frame {
                Some(Ok(Frame::Text(text))) => self.incoming.push_bytes(text.as_bytes(), None),
                // Some servers do not tell the two kinds apart.
                Some(Ok(Frame::Binary(bytes))) => match std::str::from_utf8(&bytes) {
                    Ok(_) => self.incoming.push_bytes(&bytes, None),
                    Err(_) => self
                        .incoming
                        .push(IncomingEvent::Garbage("not UTF-8".to_owned())),
                },
                // The socket answers; the end of the stream follows.
                Some(Ok(Frame::Close(frame))) => said = Some(close_frame_error(frame.as_ref())),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Some(self.end_reason(&error, said)),
                None => return said.or_else(|| Some(ended_error("the server hung up"))),
            }
        }
    }

    fn end_reason(&self, error: &Error, said: Option<TransportError>) -> TransportError {
        match error {
            // Whose answer it was can't be told: the frame was not read.
            Error::Capacity(CapacityError::MessageTooLong { .. }) => {
                TransportError::TooLarge { limit: self.limit }
            }
            other => said.unwrap_or_else(|| ended_error(&other.to_string())),
        }
    }
}

/// What a server says as it closes.
fn close_frame_error(frame: Option<&CloseFrame>) -> TransportError {
    let Some(frame) = frame else {
        return ended_error("the server closed it");
    };
    let reason: String = frame.reason.chars().filter(|c| !c.is_control()).collect();
    ended_error(&format!(
        "the server closed it with code {}{}{reason}",
        u16::from(frame.code),
        if reason.is_empty() { "" } else { ": " },
    ))
}

/// What was sent may have been read before the end.
fn ended_error(reason: &str) -> TransportError {
    closed_error(reason.to_owned(), DeliveryStatus::Maybe)
}
