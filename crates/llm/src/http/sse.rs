//! Decodes server-sent events from chunks of any length. Only an event's data is kept: the formats
//! parsed here repeat the event's name in it.

/// Largest event that is read.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Error for an event over the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SseEventTooLarge;

/// Incremental decoder of server-sent events.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    /// The incomplete line.
    line: Vec<u8>,
    /// Data of the incomplete event.
    data: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return; a line feed after it ends no line.
    after_return: bool,
    started: bool,
}

impl SseDecoder {
    /// Decodes a chunk and returns the data of the events that end in it.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<String>, SseEventTooLarge> {
        let mut ended = Vec::new();
        for &byte in piece {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => ended.extend(self.end_line()),
                byte => self.line.push(byte),
            }
            let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
            if held > MAX_EVENT_BYTES {
                return Err(SseEventTooLarge);
            }
        }
        Ok(ended)
    }

    /// Returns the data of an event that only lacks its final empty line; servers that close at
    /// once leave it out.
    pub(super) fn finish(&mut self) -> Option<String> {
        let whole = self.end_line();
        whole.or_else(|| self.take_event())
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.started, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.take_event();
        }
        let value = line.strip_prefix(b"data")?;
        let value = match value {
            [] => value,
            [b':', b' ', rest @ ..] | [b':', rest @ ..] => rest,
            _ => return None,
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        None
    }

    fn take_event(&mut self) -> Option<String> {
        let data = self.data.take()?;
        Some(String::from_utf8_lossy(&data).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode_all(bytes: &[u8]) -> Vec<String> {
        let mut events = SseDecoder::default();
        let mut all = events.push(bytes).unwrap();
        all.extend(events.finish());
        all
    }

    #[test]
    fn data_is_found_among_the_rest() {
        let text = "\u{feff}: hello\nevent: x\ndata: a\ndata:b\r\n\r\nid: 7\n\ndata\n\ndata:  c";
        assert_eq!(decode_all(text.as_bytes()), ["a\nb", "", " c"]);
        assert_eq!(decode_all(b"datax: no\n\n: data\n\n"), Vec::<String>::new());
    }

    #[test]
    fn what_has_no_end_is_not_kept_for_ever() {
        let mut events = SseDecoder::default();
        let piece = vec![b'x'; MAX_EVENT_BYTES / 2];
        assert_eq!(events.push(&piece), Ok(Vec::new()));
        assert_eq!(events.push(&piece), Ok(Vec::new()));
        assert_eq!(events.push(b"x"), Err(SseEventTooLarge));
        let mut events = SseDecoder::default();
        let line = [b"data:".as_slice(), &piece, b"\n"].concat();
        assert_eq!(events.push(&line), Ok(Vec::new()));
        assert_eq!(events.push(&line), Err(SseEventTooLarge));
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(0xc3), Just(0xbc), any::<u8>()],
                0..200,
            ),
            lines in proptest::collection::vec("(data|event|id)(: ?[a-zü]{0,5})?(\n|\r\n|\r)", 0..20),
            cut in 1_usize..9,
        ) {
            let bytes = [lines.concat().into_bytes(), bytes].concat();
            let mut events = SseDecoder::default();
            let mut all = Vec::new();
            for piece in bytes.chunks(cut) {
                all.extend(events.push(piece).unwrap());
            }
            all.extend(events.finish());
            prop_assert_eq!(all, decode_all(&bytes));
        }
    }
}
