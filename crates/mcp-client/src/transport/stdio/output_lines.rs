//! Splits bytes into lines of bounded length. A longer line is skipped; only its beginning and end
//! are kept, to find the request that it answers.

use bytes::BytesMut;

/// The number of bytes that are kept from the beginning of an oversized line.
const HEAD_BYTES: usize = 64 * 1024;

/// The number of bytes that are kept from its end.
const TAIL_BYTES: usize = 1024;

/// A buffer that grew beyond this for one message is released afterwards.
const MAX_RETAINED_BYTES: usize = 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutputLine {
    /// The whole line without its terminator.
    Complete(BytesMut),
    /// An oversized line.
    TooLong {
        /// The beginning of the line.
        head: Vec<u8>,
        /// The end of the line.
        tail: Vec<u8>,
    },
}

/// Collects bytes and splits them into lines.
#[derive(Debug)]
pub(super) struct OutputLines {
    limit: usize,
    /// The bytes that were read and are not a complete line yet. Readers append to it.
    buffer: BytesMut,
    /// The number of bytes in the buffer that are known to contain no line end.
    scanned: usize,
    skipped: Option<SkippedLine>,
}

#[derive(Debug, Default)]
struct SkippedLine {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl OutputLines {
    /// Creates a splitter for lines of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: BytesMut::new(),
            scanned: 0,
            skipped: None,
        }
    }

    /// Returns the buffer to read into, with room for `bytes`.
    pub(super) fn reserve(&mut self, bytes: usize) -> &mut BytesMut {
        if self.buffer.is_empty() && self.buffer.capacity() > MAX_RETAINED_BYTES {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(bytes);
        &mut self.buffer
    }

    /// Returns the next complete line.
    pub(super) fn next(&mut self) -> Option<OutputLine> {
        let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', unseen).map(|at| at + self.scanned) else {
            self.scanned = self.buffer.len();
            if self.skipped.is_some() || self.buffer.len() > self.limit {
                self.skip_buffer();
            }
            return None;
        };
        self.scanned = 0;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        Some(self.finish_line(line))
    }

    /// Returns the last line at the end of the stream, if it was not terminated.
    pub(super) fn take_rest(&mut self) -> Option<OutputLine> {
        self.scanned = 0;
        let line = self.buffer.split();
        (!line.is_empty() || self.skipped.is_some()).then(|| self.finish_line(line))
    }

    fn finish_line(&mut self, mut line: BytesMut) -> OutputLine {
        if self.skipped.is_some() || line.len() > self.limit {
            let mut skipped = self.skipped.take().unwrap_or_default();
            skipped.add(&line);
            let SkippedLine { head, tail } = skipped;
            return OutputLine::TooLong { head, tail };
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        OutputLine::Complete(line)
    }

    fn skip_buffer(&mut self) {
        self.skipped.get_or_insert_default().add(&self.buffer);
        self.scanned = 0;
        if self.buffer.capacity() > MAX_RETAINED_BYTES {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
    }
}

impl SkippedLine {
    fn add(&mut self, bytes: &[u8]) {
        let wanted = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head
            .extend_from_slice(bytes.get(..wanted).unwrap_or_default());
        let last = bytes.len().saturating_sub(TAIL_BYTES);
        self.tail
            .extend_from_slice(bytes.get(last..).unwrap_or_default());
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split_lines(limit: usize, pieces: &[&[u8]]) -> Vec<OutputLine> {
        let mut lines = OutputLines::new(limit);
        let mut found = Vec::new();
        for piece in pieces {
            lines.reserve(piece.len()).extend_from_slice(piece);
            found.extend(std::iter::from_fn(|| lines.next()));
        }
        found.extend(lines.take_rest());
        found
    }

    fn complete_line(text: &str) -> OutputLine {
        OutputLine::Complete(text.into())
    }

    #[test]
    fn ends_may_be_of_either_kind_or_missing() {
        assert_eq!(
            split_lines(9, &[b"a\r\n\nb", b"c\nd"]),
            [
                complete_line("a"),
                complete_line(""),
                complete_line("bc"),
                complete_line("d")
            ]
        );
    }

    #[test]
    fn a_long_line_costs_its_ends_only() {
        let long = vec![b'x'; 300_000];
        let found = split_lines(10, &[b"ok\n", &long, &long, b"end\nok\n"]);
        assert_eq!(found.len(), 3);
        let Some(OutputLine::TooLong { head, tail }) = found.get(1) else {
            panic!("{found:?}");
        };
        assert_eq!(head.len(), HEAD_BYTES);
        assert_eq!(tail.len(), TAIL_BYTES);
        assert!(tail.ends_with(b"xend"));
        assert_eq!(found.get(2), Some(&complete_line("ok")));
    }

    #[test]
    fn the_bound_is_the_longest_that_passes() {
        assert_eq!(split_lines(3, &[b"abc\n"]), [complete_line("abc")]);
        assert!(matches!(
            split_lines(3, &[b"abcd\n"]).as_slice(),
            [OutputLine::TooLong { .. }]
        ));
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_does_not_matter(
            text in "[a-c\n]{0,80}",
            cuts in proptest::collection::vec(0_usize..80, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split_lines(5, &pieces), split_lines(5, &[bytes]));
        }
    }
}
