//! Splits text into units: sentences, or parts of a sentence that is too long.

/// A piece of text that is not split further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextUnit {
    pub start: usize,
    pub end: usize,
    pub tokens: usize,
    pub starts_paragraph: bool,
}

/// Approximate maximum of letters per token, so that English has 1.3 tokens per word.
const TOKEN_LETTERS: usize = 6;

/// Abbreviations whose full stop does not end a sentence.
const SHORT: [&str; 24] = [
    "al", "e.g", "i.e", "fig", "figs", "eq", "eqs", "sec", "ref", "refs", "no", "vs", "cf", "dr",
    "prof", "mr", "mrs", "ms", "st", "approx", "resp", "ca", "vol", "pp",
];

/// Sentence ends in scripts without spaces, and closing quotation marks after them.
const WIDE_ENDS: [char; 4] = ['。', '！', '？', '｡'];
const WIDE_CLOSERS: [char; 5] = ['」', '』', '）', '”', '’'];

/// Estimates the tokens of a word. Scripts without spaces have one token per letter.
fn token_count(word: &str) -> usize {
    let dense = word.chars().filter(|letter| *letter >= '\u{2e80}').count();
    let other = word.chars().count() - dense;
    (other.div_ceil(TOKEN_LETTERS) + dense).max(1)
}

/// Splits a range of text into units of at most `most` tokens.
pub(super) fn units(text: &str, start: usize, end: usize, most: usize) -> Vec<TextUnit> {
    let words = words(text, start, end);
    let mut units = Vec::new();
    let mut current: Option<TextUnit> = None;
    let mut opens = true;
    for (place, word) in words.iter().enumerate() {
        for (from, to, tokens) in split_word(text, *word, most) {
            let full = current.is_some_and(|unit| unit.tokens + tokens > most);
            if full {
                units.extend(current.take());
            }
            let unit = current.get_or_insert(TextUnit {
                start: from,
                end: to,
                tokens: 0,
                starts_paragraph: std::mem::take(&mut opens),
            });
            unit.end = to;
            unit.tokens += tokens;
        }
        let next = words.get(place + 1);
        let paragraph = next.is_some_and(|next| is_paragraph_break(text, word.1, next.0));
        if paragraph || next.is_none_or(|next| ends_sentence(text, *word, *next)) {
            units.extend(current.take());
        }
        opens = opens || paragraph;
    }
    units.extend(current);
    units
}

/// Splits at white space, and after a sentence end that no space follows.
fn words(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let stretch = text.get(start..end).unwrap_or_default();
    let mut words = Vec::new();
    let mut began = None;
    let mut ended = false;
    for (at, letter) in stretch.char_indices() {
        let ends = WIDE_ENDS.contains(&letter);
        let cut = letter.is_whitespace() || (ended && !ends && !WIDE_CLOSERS.contains(&letter));
        if cut && let Some(from) = began {
            words.push((start + from, start + at));
            began = None;
        }
        if began.is_none() && !letter.is_whitespace() {
            began = Some(at);
        }
        ended = ends || (ended && !cut);
    }
    words.extend(began.map(|from| (start + from, start + stretch.len())));
    words
}

/// Splits an overlong word into pieces of at most `most` tokens.
fn split_word(text: &str, (start, end): (usize, usize), most: usize) -> Vec<(usize, usize, usize)> {
    let word = text.get(start..end).unwrap_or_default();
    let tokens = token_count(word);
    if tokens <= most {
        return vec![(start, end, tokens)];
    }
    let mut bits = Vec::new();
    let mut from = start;
    let mut count = 0;
    for (at, letter) in word.char_indices() {
        // A piece of `most` letters never has more than `most` tokens.
        if count == most {
            bits.push((from, start + at, most));
            from = start + at;
            count = 0;
        }
        count += usize::from(letter.len_utf8() > 0);
    }
    bits.push((from, end, count));
    bits
}

/// Whether a blank line separates two words.
fn is_paragraph_break(text: &str, end: usize, start: usize) -> bool {
    let gap = text.get(end..start).unwrap_or_default();
    gap.chars().filter(|letter| *letter == '\n').count() > 1 || gap.contains('\u{c}')
}

fn ends_sentence(text: &str, word: (usize, usize), next: (usize, usize)) -> bool {
    let word = text.get(word.0..word.1).unwrap_or_default();
    let next = text.get(next.0..next.1).unwrap_or_default();
    let closes =
        |it: char| matches!(it, '"' | '\'' | ')' | ']' | '»') || WIDE_CLOSERS.contains(&it);
    let bare = word.trim_end_matches(closes);
    if bare.ends_with(['!', '?']) || bare.ends_with(WIDE_ENDS) {
        return true;
    }
    let Some(stem) = bare.strip_suffix('.') else {
        return false;
    };
    let goes_on = next.chars().next().is_some_and(char::is_lowercase);
    let stem = stem.trim_start_matches(['(', '[', '"', '\'', '“', '‘']);
    let initial = stem.chars().count() == 1 && stem.chars().all(char::is_uppercase);
    let short = SHORT.iter().any(|short| stem.eq_ignore_ascii_case(short));
    !goes_on && !initial && !short
}
