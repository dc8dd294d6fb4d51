//! What a program writes to its standard output, read line by line. Servers print banners and
//! worse; the connection lives on, unless nothing else comes.

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{
    lines::{Line, Lines},
    notes::harmless,
    whose,
};
use crate::{
    transport::{Inbox, Incoming, TransportError},
    wire,
};

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// Lines in a row that are no message, after which the program does not speak the protocol.
const MAX_GARBAGE: u32 = 1_000;

/// How much of such a line is shown.
const SHOWN_BYTES: usize = 120;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads until nothing more comes. An error says that more would have come, but is not wanted.
pub(super) async fn read(
    mut from: impl AsyncRead + Unpin,
    limit: usize,
    inbox: Inbox,
) -> Result<(), TransportError> {
    let mut lines = Lines::new(limit);
    let mut taker = Taker {
        inbox,
        limit,
        garbage: 0,
    };
    loop {
        let read = from.read_buf(lines.room(READ_BYTES)).await;
        // An error is the end too: the program is gone, or has closed its side.
        if !read.is_ok_and(|read| read > 0) {
            return lines.rest().map_or(Ok(()), |line| taker.take(line));
        }
        while let Some(line) = lines.next() {
            taker.take(line)?;
        }
    }
}

struct Taker {
    inbox: Inbox,
    limit: usize,
    garbage: u32,
}

impl Taker {
    fn take(&mut self, line: Line) -> Result<(), TransportError> {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong { head, tail } => return self.too_long(&head, &tail),
        };
        let bytes = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
        if bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        if std::str::from_utf8(bytes).is_err() {
            return self.no_message("not UTF-8", bytes);
        }
        match wire::read(bytes) {
            Ok(messages) => {
                self.garbage = 0;
                for message in messages {
                    self.inbox.put(Incoming::Message {
                        message,
                        during: None,
                    });
                }
                Ok(())
            }
            Err(error) => self.no_message(&error.to_string(), bytes),
        }
    }

    fn too_long(&mut self, head: &[u8], tail: &[u8]) -> Result<(), TransportError> {
        let limit = self.limit;
        match whose::answered(head, tail) {
            Some(id) => {
                self.garbage = 0;
                let error = TransportError::TooLarge { limit };
                self.inbox.put(Incoming::Failed { id, error });
                Ok(())
            }
            None => self.no_message(&format!("longer than {limit} bytes"), head),
        }
    }

    fn no_message(&mut self, why: &str, line: &[u8]) -> Result<(), TransportError> {
        let shown = harmless(line.get(..SHOWN_BYTES).unwrap_or(line));
        self.inbox
            .put(Incoming::Garbage(format!("{why}: {shown:?}")));
        self.garbage += 1;
        if self.garbage < MAX_GARBAGE {
            return Ok(());
        }
        Err(TransportError::Garbage {
            reason: format!("{MAX_GARBAGE} lines in a row are no messages, the last {shown:?}"),
        })
    }
}
