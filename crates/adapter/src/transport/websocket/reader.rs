//! What comes through a WebSocket, until its end, which is told once.

use futures::{StreamExt as _, stream::SplitStream};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::{
    Error, Message as Frame, error::CapacityError, protocol::CloseFrame,
};
use tokio_util::sync::CancellationToken;

use super::{Socket, closed};
use crate::transport::{Inbox, Incoming, Sent, TransportError};

pub(super) struct Reader {
    pub(super) frames: SplitStream<Socket>,
    pub(super) inbox: Inbox,
    pub(super) limit: usize,
    /// We say goodbye: the end that follows is no surprise.
    pub(super) leaving: CancellationToken,
    /// Nobody wants more.
    pub(super) end: CancellationToken,
    pub(super) gone: watch::Sender<bool>,
}

impl Reader {
    /// Reads until the end. Pings are answered by the socket while it is read.
    pub(super) async fn read(mut self) {
        let how = self.frames_until_end().await;
        let how = how.filter(|_| !self.leaving.is_cancelled());
        self.gone.send_replace(true);
        self.inbox.put(Incoming::Closed(how));
    }

    async fn frames_until_end(&mut self) -> Option<TransportError> {
        let mut said = None;
        loop {
            let frame = tokio::select! {
                frame = self.frames.next() => frame,
                () = self.end.cancelled() => return None,
            };
            match frame {
                Some(Ok(Frame::Text(text))) => self.inbox.put_bytes(text.as_bytes(), None),
                // Some servers do not tell the two kinds apart.
                Some(Ok(Frame::Binary(bytes))) => match std::str::from_utf8(&bytes) {
                    Ok(_) => self.inbox.put_bytes(&bytes, None),
                    Err(_) => self.inbox.put(Incoming::Garbage("not UTF-8".to_owned())),
                },
                // The socket answers; the end of the stream follows.
                Some(Ok(Frame::Close(frame))) => said = Some(goodbye(frame.as_ref())),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Some(self.how(&error, said)),
                None => return said.or_else(|| Some(ended("the server hung up"))),
            }
        }
    }

    fn how(&self, error: &Error, said: Option<TransportError>) -> TransportError {
        match error {
            // Whose answer it was can't be told: the frame was not read.
            Error::Capacity(CapacityError::MessageTooLong { .. }) => {
                TransportError::TooLarge { limit: self.limit }
            }
            other => said.unwrap_or_else(|| ended(&other.to_string())),
        }
    }
}

/// What a server says as it closes.
fn goodbye(frame: Option<&CloseFrame>) -> TransportError {
    let Some(frame) = frame else {
        return ended("the server closed it");
    };
    let reason: String = frame.reason.chars().filter(|c| !c.is_control()).collect();
    ended(&format!(
        "the server closed it with code {}{}{reason}",
        u16::from(frame.code),
        if reason.is_empty() { "" } else { ": " },
    ))
}

/// What was sent may have been read before the end.
fn ended(reason: &str) -> TransportError {
    closed(reason.to_owned(), Sent::Maybe)
}
