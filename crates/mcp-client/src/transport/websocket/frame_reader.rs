//! Reads the frames of a WebSocket until its end, which is reported once.

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
    /// Cancelled when this side closes: the end that follows is expected.
    pub(super) closing: CancellationToken,
    /// Cancelled when no more frames are wanted.
    pub(super) end: CancellationToken,
    pub(super) closed: watch::Sender<bool>,
}

impl FrameReader {
    /// Reads until the end. The socket answers pings while it is read.
    pub(super) async fn read(mut self) {
        let how = self.read_frames().await;
        let how = how.filter(|_| !self.closing.is_cancelled());
        self.closed.send_replace(true);
        self.incoming.push(IncomingEvent::Closed(how));
    }

    async fn read_frames(&mut self) -> Option<TransportError> {
        let mut transport_error = None;
        loop {
            let frame = tokio::select! {
                frame = self.frames.next() => frame,
                () = self.end.cancelled() => return None,
            };
            match frame {
                Some(Ok(Frame::Text(text))) => self.incoming.push_bytes(text.as_bytes(), None),
                // Some servers send text in binary frames.
                Some(Ok(Frame::Binary(bytes))) => match std::str::from_utf8(&bytes) {
                    Ok(_) => self.incoming.push_bytes(&bytes, None),
                    Err(_) => self
                        .incoming
                        .push(IncomingEvent::Garbage("not UTF-8".to_owned())),
                },
                // The socket answers; the end of the stream follows.
                Some(Ok(Frame::Close(frame))) => {
                    transport_error = Some(close_frame_error(frame.as_ref()));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Some(self.end_reason(&error, transport_error)),
                None => {
                    return transport_error
                        .or_else(|| Some(ended_error("the server dropped the connection")));
                }
            }
        }
    }

    fn end_reason(&self, error: &Error, transport_error: Option<TransportError>) -> TransportError {
        match error {
            // The frame was not read, so its request is unknown.
            Error::Capacity(CapacityError::MessageTooLong { .. }) => {
                TransportError::TooLarge { limit: self.limit }
            }
            other => transport_error.unwrap_or_else(|| ended_error(&other.to_string())),
        }
    }
}

/// Converts a server's close frame.
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

/// Creates the error of an ended connection. What was sent may have been read before the end.
fn ended_error(reason: &str) -> TransportError {
    closed_error(reason.to_owned(), DeliveryStatus::Maybe)
}
