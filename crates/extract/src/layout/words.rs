//! Letters to words, in the order the document shows them.

use super::Glyph;
use super::direction::as_read;
use super::letters::{Tidy, accented, is_accent, tidy};

/// A run of letters with no space between them.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) base: f32,
    pub(super) size: f32,
    pub(super) bold: bool,
    /// Whether the document shows a space before it.
    pub(super) spaced: bool,
    /// The place of its last letter, for an accent that comes after it.
    last: (f32, f32),
}

/// A gap wider than this share of the size parts two words.
const GAP: f32 = 0.1;
/// A step back further than this begins a new word.
const BACK: f32 = -0.25;
/// A base that moves more than this begins a new word, as for a raised figure.
const RISE: f32 = 0.08;

/// The words of letters that all stand the same way.
pub(super) fn words<'g>(glyphs: impl Iterator<Item = &'g Glyph>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut open = false;
    let mut spaced = false;
    for glyph in glyphs {
        let tidied = tidy(glyph.letter);
        match tidied {
            Tidy::Nothing => continue,
            Tidy::One(' ') => {
                open = false;
                spaced = true;
                continue;
            }
            _ => {}
        }
        if let (Tidy::One(letter), Some(word)) = (tidied, words.last_mut())
            && !spaced
            && over_last(word, letter, glyph)
        {
            continue;
        }
        match words.last_mut() {
            Some(word) if open && continues(word, glyph) => push(word, tidied, glyph),
            _ => {
                let mut word = Word {
                    text: String::new(),
                    left: glyph.left,
                    right: glyph.right,
                    base: glyph.base,
                    size: glyph.size,
                    bold: glyph.bold,
                    spaced,
                    last: (glyph.left, glyph.right),
                };
                push(&mut word, tidied, glyph);
                words.push(word);
                open = true;
            }
        }
        spaced = false;
    }
    words.iter_mut().for_each(as_read);
    words
}

fn continues(word: &Word, glyph: &Glyph) -> bool {
    let gap = glyph.left - word.right;
    let size = word.size.max(glyph.size);
    gap <= GAP * size
        && gap >= BACK * size
        && (glyph.base - word.base).abs() <= RISE * size
        && (glyph.size - word.size).abs() <= 0.05 * size
}

fn push(word: &mut Word, tidied: Tidy, glyph: &Glyph) {
    match tidied {
        Tidy::Nothing => {}
        Tidy::One(letter) => word.text.push(letter),
        Tidy::Many(letters) => word.text.push_str(letters),
    }
    word.right = word.right.max(glyph.right);
    word.last = (glyph.left, glyph.right);
}

/// Puts an accent on its letter when the two are printed over each other, whichever came first.
fn over_last(word: &mut Word, letter: char, glyph: &Glyph) -> bool {
    let (left, right) = word.last;
    let Some(last) = word.text.chars().last() else {
        return false;
    };
    if is_accent(letter) == is_accent(last) || (glyph.base - word.base).abs() > 0.5 * word.size {
        return false;
    }
    let shared = right.min(glyph.right) - left.max(glyph.left);
    let narrow = (right - left).min(glyph.right - glyph.left);
    let over =
        shared > 0.5 * narrow || (narrow <= 0.0 && glyph.left >= left - 0.1 && glyph.left <= right);
    let (base, mark) = if is_accent(letter) {
        (last, letter)
    } else {
        (letter, last)
    };
    match accented(base, mark) {
        Some(whole) if over => {
            word.text.pop();
            word.text.push(whole);
            word.left = word.left.min(glyph.left);
            word.right = word.right.max(glyph.right);
            word.last = (left.min(glyph.left), right.max(glyph.right));
            true
        }
        _ => false,
    }
}
