//! Splits bytes into lines of bounded length. It does no input or output.

use crate::message::IdScan;

/// A complete line.
#[derive(Debug, Clone, PartialEq)]
pub enum StdioLine {
    /// The bytes without the newline.
    Complete(Vec<u8>),
    /// The line exceeded the limit and was dropped.
    TooLong {
        /// The `id` as JSON text, if it could be read.
        id: Option<String>,
    },
}

/// Splits a stream into lines. It buffers at most one line of the limit's size, however long the
/// incoming lines are.
#[derive(Debug)]
pub struct LineSplitter {
    limit: usize,
    buffer: Vec<u8>,
    /// Set while the rest of a line that is too long is skipped.
    oversized: Option<IdScan>,
}

/// A buffer that grew beyond this for a rare long line is released.
const MAX_RETAINED_BUFFER: usize = 64 * 1024;

impl LineSplitter {
    /// Accepts lines of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            oversized: None,
        }
    }

    /// Adds the next bytes of the stream and emits each line that they complete.
    pub fn push(&mut self, bytes: &[u8], mut give: impl FnMut(StdioLine)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.push_part(line);
            give(self.end_line());
            rest = after.get(1..).unwrap_or_default();
        }
        self.push_part(rest);
    }

    /// Ends the stream and returns the text after the last newline, if there is any.
    pub fn finish(&mut self) -> Option<StdioLine> {
        (self.oversized.is_some() || !self.buffer.is_empty()).then(|| self.end_line())
    }

    fn push_part(&mut self, part: &[u8]) {
        if let Some(scan) = &mut self.oversized {
            scan.push(part);
        } else if self.buffer.len() + part.len() <= self.limit {
            self.buffer.extend_from_slice(part);
        } else {
            let mut scan = IdScan::default();
            scan.push(&self.buffer);
            scan.push(part);
            self.oversized = Some(scan);
            self.buffer = Vec::new();
        }
    }

    fn end_line(&mut self) -> StdioLine {
        if let Some(scan) = self.oversized.take() {
            return StdioLine::TooLong { id: scan.id() };
        }
        let line = std::mem::take(&mut self.buffer);
        if line.capacity() <= MAX_RETAINED_BUFFER {
            self.buffer = Vec::with_capacity(line.capacity());
        }
        StdioLine::Complete(line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split_chunks(limit: usize, chunks: &[&[u8]]) -> Vec<StdioLine> {
        let mut splitter = LineSplitter::new(limit);
        let mut found = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, |line| found.push(line));
        }
        found.extend(splitter.finish());
        found
    }

    #[test]
    fn a_line_over_the_limit_is_dropped_and_its_id_kept() {
        let long = format!(
            "{{\"method\":\"x\",\"params\":{{\"id\":1,\"a\":\"{}\"}},\"id\":42}}\nnext",
            "y".repeat(1_000)
        );
        assert_eq!(
            split_chunks(100, &[long.as_bytes()]),
            [
                StdioLine::TooLong {
                    id: Some("42".to_owned())
                },
                StdioLine::Complete(b"next".to_vec())
            ]
        );
    }

    proptest! {
        #[test]
        fn the_way_bytes_arrive_does_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            cut in 0usize..200,
            limit in 1usize..60,
        ) {
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(split_chunks(limit, &[head, tail]), split_chunks(limit, &[&bytes]));
            for line in split_chunks(limit, &[&bytes]) {
                if let StdioLine::Complete(line) = line {
                    prop_assert!(line.len() <= limit);
                }
            }
        }
    }
}
