//! Bytes to lines, with a bound: a line beyond it is skipped to its end, and only its beginning
//! and its end are kept, to find out whose answer it was.

use bytes::BytesMut;

/// How much of the beginning of a line that is too long is kept.
const HEAD_BYTES: usize = 64 * 1024;

/// How much of its end.
const TAIL_BYTES: usize = 1024;

/// A buffer that grew beyond this for one message is given back after it.
const KEPT_BYTES: usize = 1024 * 1024;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All of it, without what ends it.
    Whole(BytesMut),
    /// It was too long.
    TooLong {
        /// How it began.
        head: Vec<u8>,
        /// How it ended.
        tail: Vec<u8>,
    },
}

/// Bytes on their way to be lines.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    /// What was read and is not yet a line. Readers append to it.
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line's end.
    scanned: usize,
    skipped: Option<Skipped>,
}

#[derive(Debug, Default)]
struct Skipped {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Lines {
    /// Lines of at most that many bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: BytesMut::new(),
            scanned: 0,
            skipped: None,
        }
    }

    /// Where to put what is read, with room for that much.
    pub(super) fn room(&mut self, bytes: usize) -> &mut BytesMut {
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_BYTES {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(bytes);
        &mut self.buffer
    }

    /// The next line, if its end has been read.
    pub(super) fn next(&mut self) -> Option<Line> {
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
        Some(self.finished(line))
    }

    /// What is left when nothing more will come: a last line that nobody ended.
    pub(super) fn rest(&mut self) -> Option<Line> {
        self.scanned = 0;
        let line = self.buffer.split();
        (!line.is_empty() || self.skipped.is_some()).then(|| self.finished(line))
    }

    fn finished(&mut self, mut line: BytesMut) -> Line {
        if self.skipped.is_some() || line.len() > self.limit {
            let mut skipped = self.skipped.take().unwrap_or_default();
            skipped.add(&line);
            let Skipped { head, tail } = skipped;
            return Line::TooLong { head, tail };
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Line::Whole(line)
    }

    fn skip_buffer(&mut self) {
        self.skipped.get_or_insert_default().add(&self.buffer);
        self.scanned = 0;
        if self.buffer.capacity() > KEPT_BYTES {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
    }
}

impl Skipped {
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

    fn all(limit: usize, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        for piece in pieces {
            lines.room(piece.len()).extend_from_slice(piece);
            found.extend(std::iter::from_fn(|| lines.next()));
        }
        found.extend(lines.rest());
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[test]
    fn ends_may_be_of_either_kind_or_missing() {
        assert_eq!(
            all(9, &[b"a\r\n\nb", b"c\nd"]),
            [whole("a"), whole(""), whole("bc"), whole("d")]
        );
    }

    #[test]
    fn a_long_line_costs_its_ends_only() {
        let long = vec![b'x'; 300_000];
        let found = all(10, &[b"ok\n", &long, &long, b"end\nok\n"]);
        assert_eq!(found.len(), 3);
        let Some(Line::TooLong { head, tail }) = found.get(1) else {
            panic!("{found:?}");
        };
        assert_eq!(head.len(), HEAD_BYTES);
        assert_eq!(tail.len(), TAIL_BYTES);
        assert!(tail.ends_with(b"xend"));
        assert_eq!(found.get(2), Some(&whole("ok")));
    }

    #[test]
    fn the_bound_is_the_longest_that_passes() {
        assert_eq!(all(3, &[b"abc\n"]), [whole("abc")]);
        assert!(matches!(
            all(3, &[b"abcd\n"]).as_slice(),
            [Line::TooLong { .. }]
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
            prop_assert_eq!(all(5, &pieces), all(5, &[bytes]));
        }
    }
}
