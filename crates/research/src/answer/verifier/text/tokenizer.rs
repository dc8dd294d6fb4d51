//! Tokenizer: splits a text into words, numbers, and signs with their positions. It knows only
//! characters; the meaning of words is in the lexicon.

use super::{
    char_folding::{
        fold_char, is_apostrophe, is_break, is_group_separator, is_hyphen, is_minus, is_word_char,
        normalize_sign, superscript_digit,
    },
    stemmer,
};
use crate::answer::verifier::numbers::units;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextTokenKind {
    Word,
    /// A number written in digits.
    Number,
    /// Letters and digits together: `IL-6`, `p53`, `3D`.
    Code,
    /// `%`, `<`, `±` and similar characters.
    Sign,
    /// Punctuation that ends a clause.
    Break,
}

/// Capitalization of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterCase {
    Lower,
    Capital,
    /// More than one capital letter: `DNA`, `SQuAD`.
    MultipleCapitals,
}

/// A token of a text.
#[derive(Debug, Clone)]
pub(crate) struct TextToken {
    /// Start, in bytes.
    pub(crate) start: usize,
    /// End, in bytes.
    pub(crate) end: usize,
    /// Normalized text: lower case, without ligatures; a number without its commas.
    pub(crate) text: String,
    /// Match key for paraphrases.
    pub(crate) stem: String,
    pub(crate) kind: TextTokenKind,
    pub(crate) case: LetterCase,
}

impl TextToken {
    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        self.kind == TextTokenKind::Sign && self.text == sign
    }

    pub(crate) fn is_break(&self, text: &str) -> bool {
        self.kind == TextTokenKind::Break && self.text == text
    }

    /// Whether it is a word or a code.
    pub(crate) fn is_word_like(&self) -> bool {
        matches!(self.kind, TextTokenKind::Word | TextTokenKind::Code)
    }
}

/// Splits a text into tokens.
pub(crate) fn tokenize(text: &str) -> Vec<TextToken> {
    let mut reader = TextTokenizer {
        text,
        chars: text.char_indices().collect(),
        position: 0,
        tokens: Vec::new(),
    };
    while reader.read_next() {}
    reader.tokens
}

struct TextTokenizer<'a> {
    text: &'a str,
    chars: Vec<(usize, char)>,
    position: usize,
    tokens: Vec<TextToken>,
}

const SOFT_HYPHEN: char = '\u{ad}';

/// Characters of a word; the rest of a longer one is another word.
const MAX_WORD_CHARS: usize = 120;

impl TextTokenizer<'_> {
    fn char(&self, at: usize) -> Option<char> {
        self.chars.get(at).map(|&(_, it)| it)
    }

    fn byte(&self, at: usize) -> usize {
        self.chars
            .get(at)
            .map_or(self.text.len(), |&(byte, _)| byte)
    }

    fn previous_char(&self) -> Option<char> {
        self.position.checked_sub(1).and_then(|at| self.char(at))
    }

    fn read_next(&mut self) -> bool {
        let Some(letter) = self.char(self.position) else {
            return false;
        };
        if self.begins_number(letter) {
            self.read_number();
        } else if letter.is_alphabetic() || is_word_char(letter) {
            self.read_word(self.position);
        } else {
            if let Some(sign) = normalize_sign(letter) {
                self.push(
                    self.position,
                    self.position + 1,
                    sign.to_owned(),
                    TextTokenKind::Sign,
                );
            } else if is_break(letter) {
                self.push(
                    self.position,
                    self.position + 1,
                    letter.to_string(),
                    TextTokenKind::Break,
                );
            }
            self.position += 1;
        }
        true
    }

    fn begins_number(&self, letter: char) -> bool {
        if letter.is_ascii_digit() {
            return true;
        }
        let digit_next = self
            .char(self.position + 1)
            .is_some_and(|it| it.is_ascii_digit());
        let free = self
            .previous_char()
            .is_none_or(|it| !it.is_alphanumeric() && !matches!(it, ')' | ']' | '%'));
        digit_next && free && (letter == '.' || is_minus(letter))
    }

    fn push(&mut self, from: usize, to: usize, text: String, kind: TextTokenKind) {
        let (start, end) = (self.byte(from), self.byte(to));
        let capitals = |it: &(usize, char)| it.1.is_uppercase();
        let written = self.chars.get(from..to).unwrap_or_default();
        let case = match written.iter().filter(|it| capitals(it)).count() {
            0 => LetterCase::Lower,
            1 if written.first().is_some_and(capitals) => LetterCase::Capital,
            _ => LetterCase::MultipleCapitals,
        };
        let stem = match kind {
            TextTokenKind::Word => stemmer::stem(&text),
            _ => text.clone(),
        };
        self.tokens.push(TextToken {
            start,
            end,
            text,
            stem,
            kind,
            case,
        });
    }

    /// Reads the word that begins at `from`.
    fn read_word(&mut self, from: usize) {
        let mut text = String::new();
        let mut at = from;
        let mut digits = false;
        while let Some(letter) = self.char(at) {
            let next = self.char(at + 1);
            if at - from >= MAX_WORD_CHARS {
                break;
            }
            if letter.is_alphanumeric() || is_word_char(letter) {
                digits |= fold_char(letter, &mut text);
                at += 1;
            } else if letter == SOFT_HYPHEN {
                at += 1;
            } else if is_apostrophe(letter) && next.is_some_and(char::is_alphabetic) {
                text.push('\'');
                at += 1;
            } else if is_hyphen(letter) {
                match self.classify_hyphen(at, &text) {
                    HyphenRole::JoinsLines(next) => at = next,
                    HyphenRole::Code => {
                        text.push('-');
                        at += 1;
                    }
                    HyphenRole::Separates => break,
                }
            } else {
                break;
            }
        }
        let at = at.max(from + 1);
        let kind = if digits {
            TextTokenKind::Code
        } else {
            TextTokenKind::Word
        };
        self.push(from, at, text, kind);
        self.position = at;
    }

    /// Classifies a hyphen within a word: a line break, part of a code, or a separator.
    fn classify_hyphen(&self, at: usize, so_far: &str) -> HyphenRole {
        let Some(next) = self.char(at + 1) else {
            return HyphenRole::Separates;
        };
        if next.is_ascii_digit() {
            // `IL-6` and `covid-19` are codes, `under-25s` is not.
            let word = so_far.chars().count() > 5
                || matches!(
                    so_far,
                    "under" | "over" | "pre" | "post" | "mid" | "top" | "past"
                );
            let name = self
                .chars
                .get(self.position)
                .is_some_and(|(_, it)| it.is_uppercase());
            return if word && !name {
                HyphenRole::Separates
            } else {
                HyphenRole::Code
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
            return HyphenRole::JoinsLines(at + 1 + count);
        }
        HyphenRole::Separates
    }

    fn read_number(&mut self) {
        let from = self.position;
        let mut text = String::new();
        if self.char(self.position).is_some_and(is_minus) {
            text.push('-');
            self.position += 1;
        }
        self.read_digits(&mut text);
        if text.starts_with('.') {
            text.insert(0, '0');
        }
        self.read_exponent(&mut text);
        let glued = self.chars.iter().skip(self.position).map(|&(_, it)| it);
        let glued: String = glued
            .take_while(|it| it.is_alphanumeric())
            .take(MAX_WORD_CHARS)
            .collect();
        let first = glued.chars().next();
        if first.is_some_and(char::is_alphabetic) && !units::is_unit_suffix(&glued) {
            self.read_word(from);
        } else {
            self.push(from, self.position, text, TextTokenKind::Number);
        }
    }

    /// Reads digits with a decimal point and with commas between groups of three.
    fn read_digits(&mut self, text: &mut String) {
        let from = self.position;
        let digit = |at: usize| self.char(at).is_some_and(|it| it.is_ascii_digit());
        let mut at = from;
        let mut point = false;
        while let Some(letter) = self.char(at) {
            if at - from >= MAX_WORD_CHARS {
                break;
            }
            if letter.is_ascii_digit() {
                text.push(letter);
            } else if letter == '.' && !point && digit(at + 1) {
                point = true;
                text.push('.');
            } else if is_group_separator(letter)
                && !point
                && (1..=3).all(|it| digit(at + it))
                && !digit(at + 4)
            {
                // The next three digits belong to the same number.
            } else {
                break;
            }
            at += 1;
        }
        self.position = at.max(from + 1);
    }

    /// Reads an exponent: `e-5`, `× 10^5`, `×10⁻⁵`, or `10^5` alone.
    fn read_exponent(&mut self, text: &mut String) {
        let power = if matches!(self.char(self.position), Some('e' | 'E')) {
            self.power_at(self.position + 1)
        } else if text == "10"
            && let Some(found) = self.marked_power(self.position)
        {
            "1".clone_into(text);
            Some(found)
        } else {
            self.power_of_ten_at()
        };
        if let Some((power, at)) = power {
            text.push('e');
            text.push_str(&power.to_string());
            self.position = at;
        }
    }

    fn power_of_ten_at(&self) -> Option<(i32, usize)> {
        let skip = |mut at: usize| {
            while matches!(
                self.char(at),
                Some(' ' | '\u{a0}' | '\u{2009}' | '\u{202f}')
            ) {
                at += 1;
            }
            at
        };
        let at = skip(self.position);
        if !matches!(self.char(at), Some('×' | 'x' | '*' | '·')) {
            return None;
        }
        let at = skip(at + 1);
        if self.char(at) != Some('1') || self.char(at + 1) != Some('0') {
            return None;
        }
        self.marked_power(at + 2).or_else(|| self.power_at(at + 2))
    }

    /// Reads an exponent that is marked as one.
    fn marked_power(&self, at: usize) -> Option<(i32, usize)> {
        match self.char(at)? {
            '^' => self.power_at(at + 1),
            it if superscript_digit(it).is_some() => self.power_at(at),
            _ => None,
        }
    }

    fn power_at(&self, mut at: usize) -> Option<(i32, usize)> {
        let mut text = String::new();
        while let Some(letter) = self.char(at) {
            let plain = superscript_digit(letter).unwrap_or(letter);
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

enum HyphenRole {
    JoinsLines(usize),
    Code,
    Separates,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_texts(text: &str) -> Vec<String> {
        tokenize(text).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(token_texts("1,200 and 1200"), ["1200", "and", "1200"]);
        assert_eq!(
            token_texts("3.2 × 10−5, 10⁻³, 1e6"),
            ["3.2e-5", ",", "1e-3", ",", "1e6"]
        );
        assert_eq!(
            token_texts("from 3-5 to -7"),
            ["from", "3", "-", "5", "to", "-7"]
        );
        assert_eq!(
            token_texts("10mg of IL-6 in 3D"),
            ["10", "mg", "of", "il-6", "in", "3d"]
        );
    }

    #[test]
    fn words_are_joined_over_lines_and_ligatures_undone() {
        assert_eq!(
            token_texts("ef\u{ad}fect of exam-\nple ﬁnding"),
            ["effect", "of", "example", "finding"]
        );
    }

    #[test]
    fn every_token_stands_where_it_says() {
        let text = "Été — 12 % (p < 0.05)…";
        for token in tokenize(text) {
            assert!(text.get(token.start..token.end).is_some());
        }
    }
}
