//! A position in a text that moves character by character.

/// A position in a text. It is cheap to copy, so lookahead reads with a copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextCursor<'t> {
    text: &'t str,
    position: usize,
}

impl<'t> TextCursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, position: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.position..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn at_end(&self) -> bool {
        self.position >= self.text.len()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.position += next.len_utf8();
        Some(next)
    }

    /// Skips `wanted` if it is next.
    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.position += wanted.len();
        }
        found
    }

    /// Reads while `keep` holds and returns the text read.
    pub(super) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.position += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Skips white space and returns whether it contained a line end.
    pub(super) fn skip_space(&mut self) -> bool {
        self.take_while(is_space).contains('\n')
    }

    pub(super) fn skip_trivia(&mut self) {
        loop {
            self.skip_space();
            if self.eat("/*") {
                let rest = self.rest();
                self.position += rest.find("*/").map_or(rest.len(), |at| at + 2);
            } else if self.starts_comment() {
                self.take_while(|c| c != '\n');
            } else {
                return;
            }
        }
    }

    /// Returns whether a code fence is next.
    pub(super) fn starts_fence(&self) -> bool {
        self.rest().starts_with("```")
    }

    /// Returns whether a comment is next.
    pub(super) fn starts_comment(&self) -> bool {
        let rest = self.rest();
        rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#')
    }
}

fn is_space(c: char) -> bool {
    // Models sometimes put a no-break space or a byte-order mark between tokens.
    c.is_whitespace() || c == '\u{feff}' || c == '\u{200b}'
}
