//! A place in a text, moved character by character.

/// Where a reader stands. Cheap to copy, so looking ahead is reading with a copy.
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

    /// Steps over `wanted` if it stands here.
    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.position += wanted.len();
        }
        found
    }

    /// Reads on while `keep` holds, and gives what was read.
    pub(super) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.position += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Skips white space and tells whether a line ended in it.
    pub(super) fn skip_space(&mut self) -> bool {
        self.take_while(is_space).contains('\n')
    }

    /// Skips white space and comments.
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

    /// Whether the fence of a code block stands here.
    pub(super) fn starts_fence(&self) -> bool {
        self.rest().starts_with("```")
    }

    /// Whether a comment begins here.
    pub(super) fn starts_comment(&self) -> bool {
        let rest = self.rest();
        rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#')
    }
}

fn is_space(c: char) -> bool {
    // Models now and then put a no-break space or a byte-order mark between tokens.
    c.is_whitespace() || c == '\u{feff}' || c == '\u{200b}'
}
