//! Text to words, numbers and signs, each with where it stands. Knows letters alone: what a word
//! means is said elsewhere.

use super::{
    letters::{
        fold, in_word, is_apostrophe, is_break, is_group, is_hyphen, is_minus, sign, superscript,
    },
    stem, units,
};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word.
    Word,
    /// A number, written in digits.
    Number,
    /// Letters and digits together: `IL-6`, `p53`, `3D`.
    Code,
    /// `%`, `<`, `±` and the like.
    Sign,
    /// What ends a clause.
    Break,
}

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Lower,
    Capital,
    /// More than one capital: `DNA`, `SQuAD`.
    Caps,
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Where it starts, in bytes.
    pub(super) start: usize,
    /// Where it ends, in bytes.
    pub(super) end: usize,
    /// As it is compared: lower case, ligatures undone; a number without its commas.
    pub(super) text: String,
    /// What it is matched by in rewordings.
    pub(super) stem: String,
    pub(super) kind: Kind,
    pub(super) case: Case,
}

impl Token {
    pub(super) fn is_sign(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    pub(super) fn is_break(&self, text: &str) -> bool {
        self.kind == Kind::Break && self.text == text
    }

    /// Whether it is a word, of whatever kind.
    pub(super) fn is_wordy(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Code)
    }
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader {
        text,
        chars: text.char_indices().collect(),
        at: 0,
        found: Vec::new(),
    };
    while reader.step() {}
    reader.found
}

struct Reader<'a> {
    text: &'a str,
    chars: Vec<(usize, char)>,
    at: usize,
    found: Vec<Token>,
}

const SOFT_HYPHEN: char = '\u{ad}';

/// No word is longer; what goes on beyond is another.
const LONGEST: usize = 120;

impl Reader<'_> {
    fn char(&self, at: usize) -> Option<char> {
        self.chars.get(at).map(|&(_, it)| it)
    }

    fn byte(&self, at: usize) -> usize {
        self.chars
            .get(at)
            .map_or(self.text.len(), |&(byte, _)| byte)
    }

    fn before(&self) -> Option<char> {
        self.at.checked_sub(1).and_then(|at| self.char(at))
    }

    fn step(&mut self) -> bool {
        let Some(letter) = self.char(self.at) else {
            return false;
        };
        if self.begins_number(letter) {
            self.number();
        } else if letter.is_alphabetic() || in_word(letter) {
            self.word(self.at);
        } else {
            if let Some(sign) = sign(letter) {
                self.push(self.at, self.at + 1, sign.to_owned(), Kind::Sign);
            } else if is_break(letter) {
                self.push(self.at, self.at + 1, letter.to_string(), Kind::Break);
            }
            self.at += 1;
        }
        true
    }

    fn begins_number(&self, letter: char) -> bool {
        if letter.is_ascii_digit() {
            return true;
        }
        let digit_next = self.char(self.at + 1).is_some_and(|it| it.is_ascii_digit());
        let free = self
            .before()
            .is_none_or(|it| !it.is_alphanumeric() && !matches!(it, ')' | ']' | '%'));
        digit_next && free && (letter == '.' || is_minus(letter))
    }

    fn push(&mut self, from: usize, to: usize, text: String, kind: Kind) {
        let (start, end) = (self.byte(from), self.byte(to));
        let capitals = |it: &(usize, char)| it.1.is_uppercase();
        let written = self.chars.get(from..to).unwrap_or_default();
        let case = match written.iter().filter(|it| capitals(it)).count() {
            0 => Case::Lower,
            1 if written.first().is_some_and(capitals) => Case::Capital,
            _ => Case::Caps,
        };
        let stem = match kind {
            Kind::Word => stem::stem(&text),
            _ => text.clone(),
        };
        self.found.push(Token {
            start,
            end,
            text,
            stem,
            kind,
            case,
        });
    }

    /// A word that begins at `from`.
    fn word(&mut self, from: usize) {
        let mut text = String::new();
        let mut at = from;
        let mut digits = false;
        while let Some(letter) = self.char(at) {
            let next = self.char(at + 1);
            if at - from >= LONGEST {
                break;
            }
            if letter.is_alphanumeric() || in_word(letter) {
                digits |= fold(letter, &mut text);
                at += 1;
            } else if letter == SOFT_HYPHEN {
                at += 1;
            } else if is_apostrophe(letter) && next.is_some_and(char::is_alphabetic) {
                text.push('\'');
                at += 1;
            } else if is_hyphen(letter) {
                match self.after_hyphen(at, &text) {
                    After::Joined(next) => at = next,
                    After::Code => {
                        text.push('-');
                        at += 1;
                    }
                    After::Apart => break,
                }
            } else {
                break;
            }
        }
        let at = at.max(from + 1);
        let kind = if digits { Kind::Code } else { Kind::Word };
        self.push(from, at, text, kind);
        self.at = at;
    }

    /// What a hyphen within a word means: the end of a line, part of a code, or nothing.
    fn after_hyphen(&self, at: usize, so_far: &str) -> After {
        let Some(next) = self.char(at + 1) else {
            return After::Apart;
        };
        if next.is_ascii_digit() {
            // `IL-6` and `covid-19`, but not `under-25s`.
            let word = so_far.chars().count() > 5
                || matches!(
                    so_far,
                    "under" | "over" | "pre" | "post" | "mid" | "top" | "past"
                );
            let name = self
                .chars
                .get(self.at)
                .is_some_and(|(_, it)| it.is_uppercase());
            return if word && !name {
                After::Apart
            } else {
                After::Code
            };
        }
        let rest = self.chars.iter().skip(at + 1).take(20);
        let blanks = rest.take_while(|(_, it)| it.is_whitespace());
        let (count, line) = blanks.fold((0, false), |(count, line), (_, it)| {
            (count + 1, line || *it == '\n')
        });
        let lower = |it: char| it.is_lowercase();
        if line
            && so_far.chars().next_back().is_some_and(lower)
            && self.char(at + 1 + count).is_some_and(lower)
        {
            return After::Joined(at + 1 + count);
        }
        After::Apart
    }

    fn number(&mut self) {
        let from = self.at;
        let mut text = String::new();
        if self.char(self.at).is_some_and(is_minus) {
            text.push('-');
            self.at += 1;
        }
        self.digits(&mut text);
        if text.starts_with('.') {
            text.insert(0, '0');
        }
        self.exponent(&mut text);
        let glued = self.chars.iter().skip(self.at).map(|&(_, it)| it);
        let glued: String = glued
            .take_while(|it| it.is_alphanumeric())
            .take(LONGEST)
            .collect();
        let first = glued.chars().next();
        if first.is_some_and(char::is_alphabetic) && !units::may_be_glued(&glued) {
            self.word(from);
        } else {
            self.push(from, self.at, text, Kind::Number);
        }
    }

    /// Digits with a point and with commas between groups of three.
    fn digits(&mut self, text: &mut String) {
        let from = self.at;
        let digit = |at: usize| self.char(at).is_some_and(|it| it.is_ascii_digit());
        let mut at = from;
        let mut point = false;
        while let Some(letter) = self.char(at) {
            if at - from >= LONGEST {
                break;
            }
            if letter.is_ascii_digit() {
                text.push(letter);
            } else if letter == '.' && !point && digit(at + 1) {
                point = true;
                text.push('.');
            } else if is_group(letter)
                && !point
                && (1..=3).all(|it| digit(at + it))
                && !digit(at + 4)
            {
                // The next three digits are of the same number.
            } else {
                break;
            }
            at += 1;
        }
        self.at = at.max(from + 1);
    }

    /// `e-5`, `× 10^5`, `×10⁻⁵`, and `10^5` by itself.
    fn exponent(&mut self, text: &mut String) {
        let power = if matches!(self.char(self.at), Some('e' | 'E')) {
            self.power(self.at + 1)
        } else if text == "10"
            && let Some(found) = self.raised(self.at)
        {
            "1".clone_into(text);
            Some(found)
        } else {
            self.times_ten()
        };
        if let Some((power, at)) = power {
            text.push('e');
            text.push_str(&power.to_string());
            self.at = at;
        }
    }

    fn times_ten(&self) -> Option<(i32, usize)> {
        let skip = |mut at: usize| {
            while matches!(
                self.char(at),
                Some(' ' | '\u{a0}' | '\u{2009}' | '\u{202f}')
            ) {
                at += 1;
            }
            at
        };
        let at = skip(self.at);
        if !matches!(self.char(at), Some('×' | 'x' | '*' | '·')) {
            return None;
        }
        let at = skip(at + 1);
        if self.char(at) != Some('1') || self.char(at + 1) != Some('0') {
            return None;
        }
        self.raised(at + 2).or_else(|| self.power(at + 2))
    }

    /// A power that is marked as one.
    fn raised(&self, at: usize) -> Option<(i32, usize)> {
        match self.char(at)? {
            '^' => self.power(at + 1),
            it if superscript(it).is_some() => self.power(at),
            _ => None,
        }
    }

    fn power(&self, mut at: usize) -> Option<(i32, usize)> {
        let mut text = String::new();
        while let Some(letter) = self.char(at) {
            let plain = superscript(letter).unwrap_or(letter);
            if plain.is_ascii_digit() && text.len() < 5 {
                text.push(plain);
            } else if text.is_empty() && (is_minus(plain) || plain == '+') {
                if plain != '+' {
                    text.push('-');
                }
            } else {
                break;
            }
            at += 1;
        }
        let power = text.parse().ok()?;
        Some((power, at))
    }
}

enum After {
    Joined(usize),
    Code,
    Apart,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(of("1,200 and 1200"), ["1200", "and", "1200"]);
        assert_eq!(
            of("3.2 × 10−5, 10⁻³, 1e6"),
            ["3.2e-5", ",", "1e-3", ",", "1e6"]
        );
        assert_eq!(of("from 3-5 to -7"), ["from", "3", "-", "5", "to", "-7"]);
        assert_eq!(
            of("10mg of IL-6 in 3D"),
            ["10", "mg", "of", "il-6", "in", "3d"]
        );
    }

    #[test]
    fn words_are_joined_over_lines_and_ligatures_undone() {
        assert_eq!(
            of("ef\u{ad}fect of exam-\nple ﬁnding"),
            ["effect", "of", "example", "finding"]
        );
    }

    #[test]
    fn every_token_stands_where_it_says() {
        let text = "Été — 12 % (p < 0.05)…";
        for token in tokens(text) {
            assert!(text.get(token.start..token.end).is_some());
        }
    }
}
