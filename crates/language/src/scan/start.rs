//! What may stand before a prompt's id, the id, and the condition of a conditional.

use super::{Branch, Place, Scanner, TokenKind, cursor::is_ident};

impl Scanner<'_> {
    /// Takes one token before or at the id.
    pub(super) fn before_id(&mut self) {
        let at = self.text.at();
        if self.mark() {
            return;
        }
        if self.text.starts(at, "::") {
            self.gate();
        } else if self.text.starts(at, ">>") && self.last_kind() != Some(TokenKind::Reference) {
            self.stage_start = false;
            self.push(TokenKind::Reference, at + 2);
        } else if self.text.starts(at, ">") && !self.text.starts(at, ">>") {
            self.push(TokenKind::SingleAngle, at + 1);
        } else if self.text.starts(at, "/") && self.text.ident(at + 1).is_some() {
            self.stage_start = false;
            self.push(TokenKind::Reference, at + 1);
        } else if self.stage_start && self.text.starts(at, "?") {
            self.condition();
        } else if self.text.starts(at, "+") && self.text.reference_follows(at + 1) {
            self.push(TokenKind::Plus, at + 1);
        } else if self.opens_else() {
            self.else_branch();
        } else {
            self.id();
        }
    }

    fn id(&mut self) {
        let at = self.text.at();
        let end = self.text.word_end(at, true);
        let word = self.text.slice(at, end);
        if is_id(word) {
            self.push(TokenKind::Id, end);
        } else if let Some(id) = self.starred(at, end) {
            self.push(TokenKind::Id, id);
        } else {
            self.push(TokenKind::BadId, end);
        }
        self.place = Place::AfterId;
        self.stage_start = false;
    }

    /// Where the id of `id*3` ends.
    fn starred(&self, at: usize, end: usize) -> Option<usize> {
        let (id, count) = self.text.slice(at, end).split_once('*')?;
        let digits = count.chars().all(|each| each.is_ascii_digit());
        (is_id(id) && digits && !count.is_empty()).then_some(at + id.len())
    }

    /// `?` and what belongs to it: a quoted text and a colon.
    pub(super) fn condition(&mut self) {
        let at = self.text.at();
        self.push(TokenKind::Question, at + 1);
        self.blank();
        let open = self.text.at();
        match self.quotes.end(open) {
            Some(end) => {
                self.push(TokenKind::Condition, end);
                self.blank();
                let colon = self.text.at();
                if self.text.starts(colon, ":") {
                    self.push(TokenKind::Colon, colon + 1);
                }
            }
            None if self.quotes.mark(open).is_some() => {
                self.push(TokenKind::Unclosed, open + 1);
            }
            None => {}
        }
        self.place = Place::Start;
        self.branch = Branch::Then;
        self.stage_start = false;
    }

    /// Whether a `:` here opens the other branch of a conditional.
    pub(super) fn opens_else(&self) -> bool {
        let at = self.text.at();
        self.branch == Branch::Then
            && self.text.starts(at, ":")
            && self.text.reference_follows(at + 1)
    }

    pub(super) fn else_branch(&mut self) {
        self.push(TokenKind::Colon, self.text.at() + 1);
        self.place = Place::Start;
        self.branch = Branch::Else;
        self.stage_start = false;
    }

    pub(super) fn blank(&mut self) {
        let at = self.text.at();
        let end = self.text.blank_end(at);
        if end > at {
            self.push(TokenKind::Blank, end);
        }
    }
}

fn is_id(word: &str) -> bool {
    word.split('/').all(|part| {
        let starts_well = part.chars().next().is_some_and(|first| first != '-');
        starts_well && part.chars().all(is_ident)
    })
}

/// The offset of the first byte that keeps a word from being an id.
pub(crate) fn bad_id_offset(word: &str) -> usize {
    let mut part_start = true;
    for (offset, each) in word.char_indices() {
        let fits = match each {
            '/' | '-' => !part_start,
            _ => is_ident(each),
        };
        if !fits {
            return offset;
        }
        part_start = each == '/';
    }
    word.len().saturating_sub(1)
}
