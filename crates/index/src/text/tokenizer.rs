//! The Unicode tokenizer: runs of letters in every script. Combining marks stay with their letters,
//! invisible characters are left out, accents are removed. Knows nothing of languages.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Longer words are noise: hashes, URLs, tables without spaces.
const MAX_WORD_CHARS: usize = 64;

/// Splits text into runs of letters and digits.
#[derive(Clone, Default)]
pub(crate) struct UnicodeTokenizer {
    token: Token,
}

impl Tokenizer for UnicodeTokenizer {
    type TokenStream<'a> = UnicodeTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> UnicodeTokenStream<'a> {
        self.token.reset();
        UnicodeTokenStream {
            rest: text,
            dense: String::new(),
            position: 0,
            previous: None,
            pair: None,
            token: &mut self.token,
        }
    }
}

pub(crate) struct UnicodeTokenStream<'a> {
    rest: &'a str,
    /// A run in a script without spaces, and how much of it was emitted.
    dense: String,
    position: usize,
    /// The start of the letter before.
    previous: Option<usize>,
    /// The start and end of the pair that comes next.
    pair: Option<(usize, usize)>,
    token: &'a mut Token,
}

/// The role of a character in a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    /// A letter or digit of a script with spaces.
    Letter,
    /// A letter of a script without spaces.
    Dense,
    /// Belongs to the letter before it.
    Mark,
    Ignored,
    Separator,
}

fn char_class(it: char) -> CharClass {
    if it.is_ascii() {
        return if it.is_ascii_alphanumeric() {
            CharClass::Letter
        } else {
            CharClass::Separator
        };
    }
    match it {
        // Soft hyphens, joiners, bidirectional marks, the Arabic tatweel.
        '\u{ad}'
        | '\u{640}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}' => CharClass::Ignored,
        _ if is_mark(it) => CharClass::Mark,
        _ if is_dense(it) => CharClass::Dense,
        _ if it.is_alphanumeric() => CharClass::Letter,
        _ => CharClass::Separator,
    }
}

/// A combining mark; half-width kana have two signs of their own.
fn is_mark(it: char) -> bool {
    is_combining_mark(it) || matches!(it, '\u{ff9e}' | '\u{ff9f}')
}

/// Letters of scripts that do not separate words: Thai, Lao, Burmese, Khmer, Chinese, Japanese; and
/// Korean, whose endings attach to the words.
fn is_dense(it: char) -> bool {
    matches!(
        u32::from(it),
        0xE00..=0xEFF
            | 0x1000..=0x109F
            | 0x1100..=0x11FF
            | 0x1780..=0x17FF
            | 0x2E80..=0x2FDF
            | 0x3005..=0x3007
            | 0x3040..=0x31FF
            | 0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xA960..=0xA97F
            | 0xAC00..=0xD7FF
            | 0xF900..=0xFAFF
            | 0xFF66..=0xFFDC
            | 0x2_0000..=0x3_FFFF
    ) && it.is_alphanumeric()
}

/// Accents, and Hebrew and Arabic points, which are optional in writing.
fn is_accent(it: char) -> bool {
    matches!(
        u32::from(it),
        0x300..=0x36F
            | 0x483..=0x487
            | 0x591..=0x5C7
            | 0x610..=0x61A
            | 0x64B..=0x65F
            | 0x670
            | 0x1AB0..=0x1AFF
            | 0x1DC0..=0x1DFF
            | 0x20D0..=0x20FF
            | 0xFE20..=0xFE2F
    )
}

/// The normalized form of a run. Letters keep their case.
fn fold_run(run: &str) -> String {
    let plain = run
        .chars()
        .filter(|it| char_class(*it) != CharClass::Ignored)
        .nfkd()
        .filter(|it| !is_accent(*it));
    plain
        .nfc()
        .map(|it| if it == 'ς' { 'σ' } else { it })
        .collect()
}

impl<'a> UnicodeTokenStream<'a> {
    /// The next run and its class.
    fn next_run(&mut self) -> Option<(&'a str, CharClass)> {
        let starts = |it: char| matches!(char_class(it), CharClass::Letter | CharClass::Dense);
        let rest = self.rest.get(self.rest.find(starts)?..)?;
        let kind = char_class(rest.chars().next()?);
        let ends = |it: char| {
            let part = char_class(it);
            part != kind && !matches!(part, CharClass::Mark | CharClass::Ignored)
        };
        let (run, rest) = rest.split_at_checked(rest.find(ends).unwrap_or(rest.len()))?;
        self.rest = rest;
        Some((run, kind))
    }

    /// Emits the next letter of a script without spaces, or the pair with the one before.
    fn next_dense(&mut self) -> bool {
        let (start, end) = if let Some(pair) = self.pair.take() {
            pair
        } else {
            let rest = self.dense.get(self.position..).unwrap_or_default();
            let mut next = rest.char_indices().skip(1);
            let next = next.find(|(_, it)| !is_combining_mark(*it));
            let letter = (
                self.position,
                self.position + next.map_or(rest.len(), |(at, _)| at),
            );
            self.pair = self.previous.map(|before| (before, letter.1));
            (self.position, self.previous) = (letter.1, Some(letter.0));
            letter
        };
        if start == end {
            self.pair = None;
            return false;
        }
        let word = self.dense.get(start..end).unwrap_or_default();
        emit_token(self.token, word);
        true
    }
}

fn emit_token(token: &mut Token, word: &str) {
    token.text.clear();
    token.text.push_str(word);
    token.position = token.position.wrapping_add(1);
}

impl TokenStream for UnicodeTokenStream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            if self.next_dense() {
                return true;
            }
            let Some((run, kind)) = self.next_run() else {
                return false;
            };
            if kind == CharClass::Dense {
                self.dense = fold_run(run);
                (self.position, self.previous, self.pair) = (0, None, None);
            } else if run.is_ascii() {
                if run.len() < MAX_WORD_CHARS {
                    emit_token(self.token, run);
                    return true;
                }
            } else {
                let word = fold_run(run);
                if word.chars().count() < MAX_WORD_CHARS {
                    emit_token(self.token, &word);
                    return true;
                }
            }
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
