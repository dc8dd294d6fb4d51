//! Scans the text before a prompt's id, the id itself, and the condition of a conditional.

use super::{CommandLexer, ConditionalBranch, StepPosition, TokenKind, cursor::is_identifier_char};

impl CommandLexer<'_> {
    /// Consumes one token before or at the id.
    pub(super) fn scan_before_id(&mut self) {
        let at = self.cursor.position();
        if self.scan_annotation() {
            return;
        }
        if self.cursor.starts_with_at(at, "::") {
            self.scan_gate();
        } else if self.cursor.starts_with_at(at, ">>")
            && self.last_kind() != Some(TokenKind::Reference)
        {
            self.stage_start = false;
            self.push(TokenKind::Reference, at + 2);
        } else if self.cursor.starts_with_at(at, ">") && !self.cursor.starts_with_at(at, ">>") {
            self.push(TokenKind::SingleAngle, at + 1);
        } else if self.cursor.starts_with_at(at, "/")
            && self.cursor.match_identifier(at + 1).is_some()
        {
            self.stage_start = false;
            self.push(TokenKind::Reference, at + 1);
        } else if self.stage_start && self.cursor.starts_with_at(at, "?") {
            self.scan_condition();
        } else if self.cursor.starts_with_at(at, "+") && self.cursor.reference_follows(at + 1) {
            self.push(TokenKind::Plus, at + 1);
        } else if self.opens_else() {
            self.scan_else_branch();
        } else {
            self.scan_id();
        }
    }

    fn scan_id(&mut self) {
        let at = self.cursor.position();
        let end = self.cursor.word_end(at, true);
        let word = self.cursor.slice(at, end);
        if is_id(word) {
            self.push(TokenKind::Id, end);
        } else if let Some(id) = self.starred_id_end(at, end) {
            self.push(TokenKind::Id, id);
        } else {
            self.push(TokenKind::BadId, end);
        }
        self.position = StepPosition::AfterId;
        self.stage_start = false;
    }

    /// Returns the end of the id in `id*3`.
    fn starred_id_end(&self, at: usize, end: usize) -> Option<usize> {
        let (id, count) = self.cursor.slice(at, end).split_once('*')?;
        let digits = count.chars().all(|each| each.is_ascii_digit());
        (is_id(id) && digits && !count.is_empty()).then_some(at + id.len())
    }

    /// Consumes `?`, its quoted condition and the colon.
    pub(super) fn scan_condition(&mut self) {
        let at = self.cursor.position();
        self.push(TokenKind::Question, at + 1);
        self.scan_blank();
        let open = self.cursor.position();
        match self.quotes.quote_end(open) {
            Some(end) => {
                self.push(TokenKind::Condition, end);
                self.scan_blank();
                let colon = self.cursor.position();
                if self.cursor.starts_with_at(colon, ":") {
                    self.push(TokenKind::Colon, colon + 1);
                }
            }
            None if self.quotes.quote_char(open).is_some() => {
                self.push(TokenKind::Unclosed, open + 1);
            }
            None => {}
        }
        self.position = StepPosition::Start;
        self.branch = ConditionalBranch::Then;
        self.stage_start = false;
    }

    /// Returns whether a `:` here starts the else branch of a conditional.
    pub(super) fn opens_else(&self) -> bool {
        let at = self.cursor.position();
        self.branch == ConditionalBranch::Then
            && self.cursor.starts_with_at(at, ":")
            && self.cursor.reference_follows(at + 1)
    }

    pub(super) fn scan_else_branch(&mut self) {
        self.push(TokenKind::Colon, self.cursor.position() + 1);
        self.position = StepPosition::Start;
        self.branch = ConditionalBranch::Else;
        self.stage_start = false;
    }

    pub(super) fn scan_blank(&mut self) {
        let at = self.cursor.position();
        let end = self.cursor.blank_end(at);
        if end > at {
            self.push(TokenKind::Blank, end);
        }
    }
}

fn is_id(word: &str) -> bool {
    word.split('/').all(|part| {
        let starts_well = part.chars().next().is_some_and(|first| first != '-');
        starts_well && part.chars().all(is_identifier_char)
    })
}

/// Returns the offset of the first byte that an id may not contain.
pub(crate) fn bad_id_offset(word: &str) -> usize {
    let mut part_start = true;
    for (offset, each) in word.char_indices() {
        let fits = match each {
            '/' | '-' => !part_start,
            _ => is_identifier_char(each),
        };
        if !fits {
            return offset;
        }
        part_start = each == '/';
    }
    word.len().saturating_sub(1)
}
