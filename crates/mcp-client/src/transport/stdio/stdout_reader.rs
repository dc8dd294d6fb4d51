//! Reads a program's standard output line by line. Servers print banners and worse; the connection
//! survives that, unless nothing else arrives.

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{
    output_lines::{OutputLine, OutputLines},
    oversized_response_id,
    stderr_log::sanitize_line,
};
use crate::{
    jsonrpc,
    transport::{IncomingEvent, IncomingSink, TransportError},
};

/// The number of bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;

/// The number of consecutive invalid lines after which the program is considered no MCP server.
const MAX_GARBAGE: u32 = 1_000;

/// The number of bytes of such a line that are shown.
const MAX_SHOWN_BYTES: usize = 120;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads until the end of the output. An error means that the rest of the output is not wanted.
pub(super) async fn read_stdout(
    mut from: impl AsyncRead + Unpin,
    limit: usize,
    inbox: IncomingSink,
) -> Result<(), TransportError> {
    let mut lines = OutputLines::new(limit);
    let mut taker = LineHandler {
        incoming: inbox,
        limit,
        garbage: 0,
    };
    loop {
        let read = from.read_buf(lines.reserve(READ_BYTES)).await;
        // An error is the end too: the program is gone or has closed its output.
        if !read.is_ok_and(|read| read > 0) {
            return lines
                .take_rest()
                .map_or(Ok(()), |line| taker.handle_line(line));
        }
        while let Some(line) = lines.next() {
            taker.handle_line(line)?;
        }
    }
}

struct LineHandler {
    incoming: IncomingSink,
    limit: usize,
    garbage: u32,
}

impl LineHandler {
    fn handle_line(&mut self, line: OutputLine) -> Result<(), TransportError> {
        let line = match line {
            OutputLine::Complete(line) => line,
            OutputLine::TooLong { head, tail } => return self.handle_oversized(&head, &tail),
        };
        let bytes = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
        if bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        if std::str::from_utf8(bytes).is_err() {
            return self.handle_malformed("not UTF-8", bytes);
        }
        match jsonrpc::parse_messages(bytes) {
            Ok(messages) => {
                self.garbage = 0;
                for message in messages {
                    self.incoming.push(IncomingEvent::Message {
                        message,
                        request_id: None,
                    });
                }
                Ok(())
            }
            Err(error) => self.handle_malformed(&error.to_string(), bytes),
        }
    }

    fn handle_oversized(&mut self, head: &[u8], tail: &[u8]) -> Result<(), TransportError> {
        let limit = self.limit;
        match oversized_response_id::response_id(head, tail) {
            Some(id) => {
                self.garbage = 0;
                let error = TransportError::TooLarge { limit };
                self.incoming.push(IncomingEvent::Failed { id, error });
                Ok(())
            }
            None => self.handle_malformed(&format!("longer than {limit} bytes"), head),
        }
    }

    fn handle_malformed(&mut self, why: &str, line: &[u8]) -> Result<(), TransportError> {
        let text = sanitize_line(line.get(..MAX_SHOWN_BYTES).unwrap_or(line));
        self.incoming
            .push(IncomingEvent::Garbage(format!("{why}: {text:?}")));
        self.garbage += 1;
        if self.garbage < MAX_GARBAGE {
            return Ok(());
        }
        Err(TransportError::Garbage {
            reason: format!(
                "{MAX_GARBAGE} consecutive lines are not messages, the last one is {text:?}"
            ),
        })
    }
}
