//! Builds words from glyphs, in the order of the document.

use super::{
    Glyph,
    bidi::reverse_if_rtl,
    glyph_cleanup::{GlyphReplacement, compose_accent, is_accent, replace_glyph},
};

/// A run of glyphs without a space.
#[derive(Debug, Clone)]
pub(super) struct LayoutWord {
    pub(super) text: String,
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) baseline: f32,
    pub(super) size: f32,
    pub(super) bold: bool,
    /// Whether the document has a space before it.
    pub(super) space_before: bool,
    /// The position of the last letter, for an accent that follows it.
    last_char_span: (f32, f32),
}

/// A wider gap, as a share of the size, separates two words.
const WORD_GAP: f32 = 0.1;
/// A larger step back starts a new word.
const MAX_STEP_BACK: f32 = -0.25;
/// A larger shift of the baseline starts a new word, as for a superscript.
const MAX_BASELINE_SHIFT: f32 = 0.08;

/// Returns the words of glyphs with the same rotation.
pub(super) fn build_words<'g>(glyphs: impl Iterator<Item = &'g Glyph>) -> Vec<LayoutWord> {
    let mut words: Vec<LayoutWord> = Vec::new();
    let mut open = false;
    let mut spaced = false;
    for glyph in glyphs {
        let tidied = replace_glyph(glyph.letter);
        match tidied {
            GlyphReplacement::Drop => continue,
            GlyphReplacement::Char(' ') => {
                open = false;
                spaced = true;
                continue;
            }
            _ => {}
        }
        if let (GlyphReplacement::Char(letter), Some(word)) = (tidied, words.last_mut())
            && !spaced
            && apply_accent(word, letter, glyph)
        {
            continue;
        }
        match words.last_mut() {
            Some(word) if open && continues_word(word, glyph) => push_glyph(word, tidied, glyph),
            _ => {
                let mut word = LayoutWord {
                    text: String::new(),
                    left: glyph.left,
                    right: glyph.right,
                    baseline: glyph.baseline,
                    size: glyph.size,
                    bold: glyph.bold,
                    space_before: spaced,
                    last_char_span: (glyph.left, glyph.right),
                };
                push_glyph(&mut word, tidied, glyph);
                words.push(word);
                open = true;
            }
        }
        spaced = false;
    }
    words.iter_mut().for_each(reverse_if_rtl);
    words
}

fn continues_word(word: &LayoutWord, glyph: &Glyph) -> bool {
    let gap = glyph.left - word.right;
    let size = word.size.max(glyph.size);
    gap <= WORD_GAP * size
        && gap >= MAX_STEP_BACK * size
        && (glyph.baseline - word.baseline).abs() <= MAX_BASELINE_SHIFT * size
        && (glyph.size - word.size).abs() <= 0.05 * size
}

fn push_glyph(word: &mut LayoutWord, tidied: GlyphReplacement, glyph: &Glyph) {
    match tidied {
        GlyphReplacement::Drop => {}
        GlyphReplacement::Char(letter) => word.text.push(letter),
        GlyphReplacement::Text(letters) => word.text.push_str(letters),
    }
    word.right = word.right.max(glyph.right);
    word.last_char_span = (glyph.left, glyph.right);
}

/// Composes an accent with its letter if they overlap, whichever came first.
fn apply_accent(word: &mut LayoutWord, letter: char, glyph: &Glyph) -> bool {
    let (left, right) = word.last_char_span;
    let Some(last) = word.text.chars().last() else {
        return false;
    };
    if is_accent(letter) == is_accent(last)
        || (glyph.baseline - word.baseline).abs() > 0.5 * word.size
    {
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
    match compose_accent(base, mark) {
        Some(whole) if over => {
            word.text.pop();
            word.text.push(whole);
            word.left = word.left.min(glyph.left);
            word.right = word.right.max(glyph.right);
            word.last_char_span = (left.min(glyph.left), right.max(glyph.right));
            true
        }
        _ => false,
    }
}
