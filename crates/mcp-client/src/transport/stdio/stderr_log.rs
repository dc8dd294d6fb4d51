//! The standard error of a program: always read, so that the program never blocks on it, with the
//! last lines kept for diagnosis.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The number of bytes that are kept.
const MAX_LOG_BYTES: usize = 16 * 1024;

/// The longest line that is kept whole.
const MAX_LINE_BYTES: usize = 2 * 1024;

const READ_BYTES: usize = 8 * 1024;

/// The last lines that a program wrote.
#[derive(Debug, Default)]
pub(super) struct StderrLog(Mutex<StderrLines>);

#[derive(Debug, Default)]
struct StderrLines {
    lines: VecDeque<String>,
    bytes: usize,
    /// A line that is not complete yet.
    partial: Vec<u8>,
}

impl StderrLog {
    /// Reads everything until the other side closes.
    pub(super) async fn drain(&self, mut from: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; READ_BYTES];
        while let Ok(read) = from.read(&mut chunk).await {
            if read == 0 {
                break;
            }
            self.add(chunk.get(..read).unwrap_or_default());
        }
    }

    fn add(&self, bytes: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = MAX_LINE_BYTES
                .saturating_sub(lines.partial.len())
                .min(text.len());
            lines
                .partial
                .extend_from_slice(text.get(..room).unwrap_or_default());
            if ended {
                lines.end_line();
            }
        }
    }

    /// Returns the last lines, if there are any.
    pub(super) fn text(&self) -> Option<String> {
        let stderr_lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = sanitize_line(&stderr_lines.partial);
        let mut lines: Vec<&str> = stderr_lines.lines.iter().map(String::as_str).collect();
        if !open.is_empty() {
            lines.push(&open);
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl StderrLines {
    fn end_line(&mut self) {
        let line = sanitize_line(&self.partial);
        self.partial.clear();
        if line.is_empty() {
            return;
        }
        tracing::debug!(target: "deliberate::upstream", "{line}");
        self.bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.bytes > MAX_LOG_BYTES
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len() + 1;
        }
    }
}

/// Makes a line safe for any screen: removes colors, control characters, and characters that are
/// invisible or change the text direction.
pub(super) fn sanitize_line(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                // A terminal escape sequence ends with its first letter.
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            '\t' => shown.push(' '),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => {}
            c if c.is_control() => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let notes = StderrLog::default();
        assert_eq!(notes.text(), None);
        for number in 0..5_000 {
            notes.add(format!("line {number}\n").as_bytes());
        }
        notes.add(b"no end");
        let text = notes.text().unwrap();
        assert!(text.len() <= MAX_LOG_BYTES + MAX_LINE_BYTES);
        assert!(text.ends_with("line 4998\nline 4999\nno end"));
        assert!(!text.contains("line 100\n"));
    }

    #[test]
    fn one_endless_line_is_bounded() {
        let notes = StderrLog::default();
        for _ in 0..1_000 {
            notes.add(&[b'x'; 1_000]);
        }
        assert_eq!(notes.text().unwrap().len(), MAX_LINE_BYTES);
    }

    #[test]
    fn nothing_of_a_terminal_gets_through() {
        assert_eq!(
            sanitize_line(b"\x1b[31mred\x1b[0m \x07bell\ttab\xff\xe2\x80\xaeturned\r"),
            "red \u{fffd}bell tab\u{fffd}turned"
        );
    }
}
