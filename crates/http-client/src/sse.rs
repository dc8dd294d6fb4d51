//! Parses server-sent events from bytes as they arrive. It does not know what an event means.

use std::time::Duration;

use reqwest::header::HeaderValue;

/// The maximum length of an event id.
const MAX_ID: usize = 1024;

/// The longest reconnection delay that a server may set.
const MAX_RETRY: Duration = Duration::from_hours(1);

/// The allowance for field names and colons beside the data of an event.
const OVERHEAD: usize = 2048;

/// The capacity that buffers keep between events.
const MAX_RETAINED_BYTES: usize = 64 * 1024;

/// A complete event.
#[derive(Debug)]
pub struct SseParserEvent<'a> {
    /// The event name; empty for a plain message.
    pub name: &'a [u8],
    pub data: &'a [u8],
}

/// The error of an event that exceeds the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEventTooLarge;

/// Parses events and remembers the position in the stream for resuming it.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    id: Option<Vec<u8>>,
    after_cr: bool,
    at_start: bool,
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl SseParser {
    /// Creates a parser of events with at most `limit` bytes of data.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            id: None,
            after_cr: false,
            at_start: true,
            last_id: None,
            retry: None,
        }
    }

    /// Returns the id of the last complete event, if it can be sent back.
    pub fn last_id(&self) -> Option<&HeaderValue> {
        self.last_id.as_ref()
    }

    /// Returns the reconnection delay that the server set.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Forgets the position in the stream.
    pub fn clear_last_id(&mut self) {
        self.last_id = None;
    }

    /// Prepares for a resumed stream: drops a partial event and keeps the position.
    pub fn restart(&mut self) {
        self.line.clear();
        self.after_cr = false;
        self.at_start = true;
        self.clear();
    }

    /// Parses the next bytes and passes on each complete event.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(&SseParserEvent<'_>),
    ) -> Result<(), SseEventTooLarge> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let Some((line, rest)) = end.and_then(|end| bytes.split_at_checked(end)) else {
                self.buffer(bytes)?;
                return Ok(());
            };
            if self.line.is_empty() {
                self.parse_line(line, take)?;
            } else {
                self.buffer(line)?;
                let mut whole = std::mem::take(&mut self.line);
                let outcome = self.parse_line(&whole, take);
                whole.clear();
                whole.shrink_to(MAX_RETAINED_BYTES);
                self.line = whole;
                outcome?;
            }
            bytes = match rest {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        Ok(())
    }

    /// Ends the stream: an event that only lacks its final empty line is complete. Servers that
    /// close at once leave that line out.
    pub fn finish(
        &mut self,
        take: &mut impl FnMut(&SseParserEvent<'_>),
    ) -> Result<(), SseEventTooLarge> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.parse_line(&line, take)?;
        }
        self.dispatch_event(take);
        Ok(())
    }

    fn buffer(&mut self, bytes: &[u8]) -> Result<(), SseEventTooLarge> {
        self.check_limit(self.line.len().saturating_add(bytes.len()))?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn check_limit(&self, more: usize) -> Result<(), SseEventTooLarge> {
        let beside = self.name.len() + self.id.as_ref().map_or(0, Vec::len);
        let all = self.data.len().saturating_add(beside).saturating_add(more);
        if all > self.limit.saturating_add(OVERHEAD) {
            return Err(SseEventTooLarge);
        }
        Ok(())
    }

    fn parse_line(
        &mut self,
        line: &[u8],
        take: &mut impl FnMut(&SseParserEvent<'_>),
    ) -> Result<(), SseEventTooLarge> {
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.dispatch_event(take);
            return Ok(());
        }
        self.check_limit(line.len())?;
        let mut halves = line.splitn(2, |byte| *byte == b':');
        let field = halves.next().unwrap_or_default();
        let value = halves.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => value.clone_into(&mut self.name),
            b"id" if !value.contains(&0) => self.id = Some(value.to_vec()),
            b"retry" => self.retry = parse_milliseconds(value).or(self.retry),
            // Comments and unknown fields are ignored.
            _ => {}
        }
        Ok(())
    }

    fn dispatch_event(&mut self, take: &mut impl FnMut(&SseParserEvent<'_>)) {
        if let Some(id) = self.id.take() {
            self.last_id = (!id.is_empty() && id.len() <= MAX_ID)
                .then(|| HeaderValue::from_bytes(&id).ok())
                .flatten();
        }
        if self.has_data {
            take(&SseParserEvent {
                name: &self.name,
                data: &self.data,
            });
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.name.clear();
        self.data.clear();
        self.data.shrink_to(MAX_RETAINED_BYTES);
        self.has_data = false;
        self.id = None;
    }
}

fn parse_milliseconds(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let wait = text.parse().map_or(MAX_RETRY, Duration::from_millis);
    Some(wait.min(MAX_RETRY))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(events: &mut SseParser, bytes: &[u8]) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut take = |event: &SseParserEvent<'_>| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            all.push((text(event.name), text(event.data)));
        };
        events.feed(bytes, &mut take).unwrap();
        all
    }

    const STREAM: &str = "\u{feff}: hello\r\nretry: 250\r\nid: a1\r\nevent: endpoint\r\ndata: /x\r\n\r\n\
        data: one\ndata\ndata:two\n\nid\nunknown: x\nno colon here\ndata: {\"ä\":1}\r\rid: z\ndata:\n\n\
        data: never finished";

    fn expected() -> Vec<(String, String)> {
        [
            ("endpoint", "/x"),
            ("", "one\n\ntwo"),
            ("", "{\"ä\":1}"),
            ("", ""),
        ]
        .map(|(name, data)| (name.to_owned(), data.to_owned()))
        .to_vec()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        for size in 1..STREAM.len() {
            let mut events = SseParser::new(1000);
            let mut all = Vec::new();
            for part in STREAM.as_bytes().chunks(size) {
                all.extend(read(&mut events, part));
            }
            assert_eq!(all, expected(), "in parts of {size}");
            assert_eq!(events.retry(), Some(Duration::from_millis(250)));
            assert_eq!(events.last_id().unwrap(), "z");
        }
    }

    #[test]
    fn an_id_counts_once_its_event_is_whole() {
        let mut events = SseParser::new(1000);
        read(&mut events, b"id: 1\ndata: x\n\nid: 2\ndata: y\n");
        assert_eq!(events.last_id().unwrap(), "1");
        events.restart();
        assert_eq!(read(&mut events, b"data: z\n\n").len(), 1);
        assert_eq!(events.last_id().unwrap(), "1");
        read(&mut events, b"id: \x01\n\n");
        assert_eq!(events.last_id(), None);
    }

    #[test]
    fn too_large_an_event_is_refused_in_one_line_or_many() {
        let mut ignore = |_: &SseParserEvent<'_>| {};
        let mut events = SseParser::new(10);
        let long = vec![b'x'; OVERHEAD + 11];
        assert_eq!(events.feed(&long, &mut ignore), Err(SseEventTooLarge));
        let mut events = SseParser::new(10);
        let lines = b"data: xxxxxxxxxxxx\n".repeat(OVERHEAD);
        assert_eq!(events.feed(&lines, &mut ignore), Err(SseEventTooLarge));
        let mut events = SseParser::new(10);
        assert_eq!(events.feed(b"data: x\n", &mut ignore), Ok(()));
        assert_eq!(events.feed(&long, &mut ignore), Err(SseEventTooLarge));
        let mut events = SseParser::new(10);
        let comments = b": still here\n\n".repeat(OVERHEAD);
        assert_eq!(events.feed(&comments, &mut ignore), Ok(()));
    }

    #[test]
    fn odd_times_to_wait_are_ignored_or_cut() {
        for (value, wait) in [
            ("soon", None),
            ("-1", None),
            ("", None),
            ("0", Some(Duration::ZERO)),
            ("99999999999999999999999999", Some(MAX_RETRY)),
        ] {
            assert_eq!(parse_milliseconds(value.as_bytes()), wait, "{value}");
        }
    }

    fn read_whole(bytes: &[u8], size: usize) -> Vec<String> {
        let mut events = SseParser::new(1000);
        let mut all = Vec::new();
        let mut take = |event: &SseParserEvent<'_>| {
            all.push(String::from_utf8_lossy(event.data).into_owned());
        };
        for part in bytes.chunks(size) {
            events.feed(part, &mut take).unwrap();
        }
        events.finish(&mut take).unwrap();
        all
    }

    #[test]
    fn an_event_without_its_last_empty_line_is_complete_at_the_end() {
        let text = "\u{feff}: hello\nevent: x\ndata: a\ndata:b\r\n\r\nid: 7\n\ndata\n\ndata:  c";
        assert_eq!(read_whole(text.as_bytes(), 1000), ["a\nb", "", " c"]);
        assert_eq!(read_whole(b"data: a\n", 1000), ["a"]);
        let none = b"datax: no\n\n: data\n\n";
        assert_eq!(read_whole(none, 1000), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            bytes in prop::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(0xc3), Just(0xbc), any::<u8>()],
                0..200,
            ),
            lines in prop::collection::vec("(data|event|id)(: ?[a-zü]{0,5})?(\n|\r\n|\r)", 0..20),
            size in 1_usize..9,
        ) {
            let bytes = [lines.concat().into_bytes(), bytes].concat();
            prop_assert_eq!(read_whole(&bytes, size), read_whole(&bytes, 1000));
        }

        #[test]
        fn no_bytes_break_the_reader(parts in prop::collection::vec(any::<Vec<u8>>(), 0..20)) {
            let mut events = SseParser::new(50);
            for part in parts {
                let _ = events.feed(&part, &mut |event| assert!(event.data.len() <= 50 + OVERHEAD));
            }
        }
    }
}
