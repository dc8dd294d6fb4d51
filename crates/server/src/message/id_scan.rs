//! Finds the `id` of a message that cannot be parsed: too long, truncated or invalid.
//!
//! A client that sent a bad message still waits for its answer, and the answer needs the id. The
//! scan reads the bytes once, keeps a few of them, and understands just enough JSON to know which
//! `"id"` belongs to the message itself.

/// The longest id that is recognized.
const MAX_ID_LEN: usize = 256;

/// Scans a message for its id.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: u32,
    state: IdScanState,
    /// The last string at the top level, which may be a key.
    last_string: Vec<u8>,
    /// The text of the id so far.
    id: Vec<u8>,
    is_complete: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum IdScanState {
    /// Between tokens.
    #[default]
    Outside,
    /// Inside a string.
    InString { escaped: bool },
    /// After a top-level string, which a colon makes a key.
    AfterString,
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
            if self.is_complete {
                return;
            }
            self.state = self.next_state(*byte);
        }
    }

    /// The id as JSON text: a string or a number.
    pub(crate) fn id(self) -> Option<String> {
        let text = String::from_utf8(self.id).ok()?;
        // A number at the end of a truncated message may have lost digits.
        let whole: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        (self.is_complete && whole.is_some()).then_some(text)
    }

    fn next_state(&mut self, byte: u8) -> IdScanState {
        match self.state {
            IdScanState::Outside => self.scan_outside(byte),
            IdScanState::InString { escaped: true } => IdScanState::InString { escaped: false },
            IdScanState::InString { escaped: false } => match byte {
                b'\\' => {
                    self.last_string.clear();
                    IdScanState::InString { escaped: true }
                }
                b'"' if self.depth == 1 => IdScanState::AfterString,
                b'"' => IdScanState::Outside,
                _ => {
                    // Three bytes are enough to tell "id" from everything else.
                    if self.depth == 1 && self.last_string.len() < 3 {
                        self.last_string.push(byte);
                    }
                    IdScanState::InString { escaped: false }
                }
            },
            IdScanState::AfterString => match byte {
                b' ' | b'\t' | b'\r' => IdScanState::AfterString,
                b':' if self.last_string == b"id" => IdScanState::BeforeId,
                _ => self.scan_outside(byte),
            },
            IdScanState::BeforeId => match byte {
                b' ' | b'\t' | b'\r' => IdScanState::BeforeId,
                b'"' => {
                    self.id.push(byte);
                    IdScanState::IdText { escaped: false }
                }
                b'-' | b'0'..=b'9' => {
                    self.id.push(byte);
                    IdScanState::IdNumber
                }
                _ => self.scan_outside(byte),
            },
            IdScanState::IdText { escaped } => {
                self.push_id_byte(byte);
                match byte {
                    b'"' if !escaped => {
                        self.is_complete = true;
                        IdScanState::Outside
                    }
                    b'\\' if !escaped => IdScanState::IdText { escaped: true },
                    _ => IdScanState::IdText { escaped: false },
                }
            }
            IdScanState::IdNumber => match byte {
                b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-' => {
                    self.push_id_byte(byte);
                    IdScanState::IdNumber
                }
                _ => {
                    self.is_complete = true;
                    IdScanState::Outside
                }
            },
        }
    }

    fn scan_outside(&mut self, byte: u8) -> IdScanState {
        match byte {
            b'"' => {
                self.last_string.clear();
                return IdScanState::InString { escaped: false };
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        IdScanState::Outside
    }

    fn push_id_byte(&mut self, byte: u8) {
        if self.id.len() < MAX_ID_LEN {
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
