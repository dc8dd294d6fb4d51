//! Finds the `id` of a message that can't be read as a whole: too long, cut off, or broken.
//!
//! A client that sent a bad message still waits for its answer, and the answer needs the id.
//! The scan looks at the bytes once, keeps a few of them, and understands just enough of JSON
//! to know which `"id"` is the message's own.

/// An id longer than this is not worth answering.
const LONGEST_ID: usize = 256;

/// Walks over a message and remembers its id.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: u32,
    state: State,
    /// The last string at the top level, which may turn out to be a key.
    word: Vec<u8>,
    /// The id's text so far, or in the end.
    id: Vec<u8>,
    found: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum State {
    /// Between tokens.
    #[default]
    Plain,
    /// Inside a string.
    Text { escaped: bool },
    /// After a top-level string: a colon makes it a key.
    AfterWord,
    /// After `"id":`, before its value.
    BeforeId,
    /// Inside an id that is a string.
    IdText { escaped: bool },
    /// Inside an id that is a number.
    IdNumber,
}

impl IdScan {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.found {
                return;
            }
            self.state = self.step(*byte);
        }
    }

    /// The id as JSON text: a string or a number.
    pub(crate) fn id(self) -> Option<String> {
        let text = String::from_utf8(self.id).ok()?;
        // A number at the very end of a cut message may have lost digits.
        let whole: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        (self.found && whole.is_some()).then_some(text)
    }

    fn step(&mut self, byte: u8) -> State {
        match self.state {
            State::Plain => self.plain(byte),
            State::Text { escaped: true } => State::Text { escaped: false },
            State::Text { escaped: false } => match byte {
                b'\\' => {
                    self.word.clear();
                    State::Text { escaped: true }
                }
                b'"' if self.depth == 1 => State::AfterWord,
                b'"' => State::Plain,
                _ => {
                    // Three bytes are enough to tell "id" from everything else.
                    if self.depth == 1 && self.word.len() < 3 {
                        self.word.push(byte);
                    }
                    State::Text { escaped: false }
                }
            },
            State::AfterWord => match byte {
                b' ' | b'\t' | b'\r' => State::AfterWord,
                b':' if self.word == b"id" => State::BeforeId,
                _ => self.plain(byte),
            },
            State::BeforeId => match byte {
                b' ' | b'\t' | b'\r' => State::BeforeId,
                b'"' => {
                    self.id.push(byte);
                    State::IdText { escaped: false }
                }
                b'-' | b'0'..=b'9' => {
                    self.id.push(byte);
                    State::IdNumber
                }
                _ => self.plain(byte),
            },
            State::IdText { escaped } => {
                self.keep(byte);
                match byte {
                    b'"' if !escaped => {
                        self.found = true;
                        State::Plain
                    }
                    b'\\' if !escaped => State::IdText { escaped: true },
                    _ => State::IdText { escaped: false },
                }
            }
            State::IdNumber => match byte {
                b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-' => {
                    self.keep(byte);
                    State::IdNumber
                }
                _ => {
                    self.found = true;
                    State::Plain
                }
            },
        }
    }

    fn plain(&mut self, byte: u8) -> State {
        match byte {
            b'"' => {
                self.word.clear();
                return State::Text { escaped: false };
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        State::Plain
    }

    fn keep(&mut self, byte: u8) {
        if self.id.len() < LONGEST_ID {
            self.id.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<String> {
        let mut scan = IdScan::default();
        scan.push(text.as_bytes());
        scan.id()
    }

    #[test]
    fn finds_the_messages_own_id() {
        assert_eq!(id(r#"{"id":7,"params":{"#).as_deref(), Some("7"));
        assert_eq!(id(r#"{"id" : "a\"b" , "#).as_deref(), Some(r#""a\"b""#));
        assert_eq!(id(r#"{"params":{"id":1},"id":2}"#).as_deref(), Some("2"));
        assert_eq!(
            id(r#"{"method":"id","x":"\"id\":3","id":-4,"#).as_deref(),
            Some("-4")
        );
        assert_eq!(id(r#"{"params":["id",{"id":1}],"m":1}"#), None);
        assert_eq!(id(r#"{"id":12"#), None, "the number may go on");
        assert_eq!(id(r#"{"id":null,"#), None);
        assert_eq!(id(r#"{"idx":1,"#), None);
        assert_eq!(id("\u{0}\u{1}"), None);
    }
}
