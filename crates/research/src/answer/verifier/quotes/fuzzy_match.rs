//! Search for quotes in a passage. Ignores whitespace, case, the style of quotation marks and
//! dashes, ligatures, line-end hyphens, and omissions marked by an ellipsis.

use std::ops::Range;

use crate::answer::verifier::text::char_folding::{
    fold_to_string, is_apostrophe, is_hyphen, superscript_digit,
};

/// A text reduced to the characters that a quote must match, with their origins.
#[derive(Debug, Clone, Default)]
pub(crate) struct NormalizedText {
    text: String,
    /// Offset of each character in `text`, and the bytes of the original.
    origins: Vec<(usize, Range<usize>)>,
}

/// Distance, in characters, of two pieces of a quote with an ellipsis.
const MAX_PIECE_GAP: usize = 1_500;

/// Search attempts when the text is found only inside longer words.
const MAX_SEARCHES: usize = 500;

impl NormalizedText {
    pub(crate) fn new(text: &str) -> Self {
        let mut stream = Self::default();
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let char = |at: usize| chars.get(at).map(|&(_, it)| it);
        let mut at = 0;
        while let Some(&(byte, letter)) = chars.get(at) {
            let end = chars.get(at + 1).map_or(text.len(), |&(byte, _)| byte);
            let next = char(at + 1);
            let before = at.checked_sub(1).and_then(char);
            if letter.is_alphanumeric() || superscript_digit(letter).is_some_and(|it| it != '-') {
                for plain in fold_to_string(letter).chars() {
                    stream.push(plain, byte, end);
                }
            } else if is_hyphen(letter) {
                at += stream.push_hyphen((byte, end), before, &chars, at);
            } else if is_significant(letter) {
                // `5 %` and `5%`, `p < 0.05` and `p<0.05`.
                stream.trim();
                stream.push(letter, byte, end);
            } else if is_number_separator(letter, before, next) {
                stream.push(letter, byte, end);
            } else if !is_ignored(letter) {
                stream.push_space(byte, end);
            }
            at += 1;
        }
        stream.trim();
        stream
    }

    /// Adds a hyphen: between letters it joins them, before a digit it is significant. Returns the
    /// number of characters to skip after it.
    fn push_hyphen(
        &mut self,
        (byte, end): (usize, usize),
        before: Option<char>,
        chars: &[(usize, char)],
        at: usize,
    ) -> usize {
        let rest = chars.iter().skip(at + 1);
        let blanks = rest.clone().take_while(|(_, it)| it.is_whitespace());
        let blanks = blanks.count();
        let line = rest.clone().take(blanks).any(|(_, it)| *it == '\n');
        let next = chars.get(at + 1 + blanks).map(|&(_, it)| it);
        let after_word = before.is_some_and(char::is_alphanumeric);
        let joins = (blanks == 0 || line) && after_word;
        if next.is_some_and(|it| it.is_ascii_digit()) && (blanks == 0 || joins) {
            self.push('-', byte, end);
            return if joins { blanks } else { 0 };
        }
        if joins && next.is_some_and(char::is_alphanumeric) {
            return blanks;
        }
        self.push_space(byte, end);
        0
    }

    fn push(&mut self, letter: char, byte: usize, end: usize) {
        self.origins.push((self.text.len(), byte..end));
        self.text.push(letter);
    }

    fn push_space(&mut self, byte: usize, end: usize) {
        let last = self.text.chars().next_back();
        if last.is_some_and(|it| it != ' ' && !is_significant(it)) {
            self.push(' ', byte, end);
        }
    }

    fn trim(&mut self) {
        if self.text.ends_with(' ') {
            self.text.pop();
            self.origins.pop();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn word_count(&self) -> usize {
        let filled = usize::from(!self.text.is_empty());
        self.text.matches(' ').count() + filled
    }

    /// Finds `wanted` as whole words, from offset `from` on.
    fn find(&self, wanted: &str, from: usize) -> Option<Range<usize>> {
        if wanted.is_empty() {
            return None;
        }
        let goes_on = |it: char| it.is_alphanumeric() || matches!(it, '-' | '.');
        let mut from = from;
        for _ in 0..MAX_SEARCHES {
            let start = from + self.text.get(from..)?.find(wanted)?;
            let end = start + wanted.len();
            let before = self.text.get(..start)?.chars().next_back();
            let after = self.text.get(end..)?.chars().next();
            let free = |edge: Option<char>, beside: Option<char>| {
                edge.is_some_and(is_significant) || !beside.is_some_and(goes_on)
            };
            let mut edges = wanted.chars();
            let first = edges.next();
            if free(first, before) && free(edges.next_back().or(first), after) {
                return Some(start..end);
            }
            from = start + first.map_or(1, char::len_utf8);
        }
        None
    }

    /// Finds a quote and returns its byte range in the original text.
    pub(crate) fn find_quote(&self, quote: &Quote) -> Option<Range<usize>> {
        let mut from = 0;
        let mut whole: Option<Range<usize>> = None;
        for piece in &quote.pieces {
            let found = self.find(&piece.text, from)?;
            if let Some(whole) = &whole
                && found.start - whole.end > MAX_PIECE_GAP
            {
                return None;
            }
            let start = whole.map_or(found.start, |it| it.start);
            from = found.end;
            whole = Some(start..found.end);
        }
        self.byte_range(&whole?)
    }

    /// Converts a range of the normalized text to bytes of the original.
    fn byte_range(&self, letters: &Range<usize>) -> Option<Range<usize>> {
        let first = self.origins.partition_point(|(at, _)| *at < letters.start);
        let after = self.origins.partition_point(|(at, _)| *at < letters.end);
        let start = self.origins.get(first)?.1.start;
        let end = self.origins.get(after.checked_sub(1)?)?.1.end;
        Some(start..end)
    }

    /// Whether no character comes from these bytes.
    fn is_blank(&self, bytes: Range<usize>) -> bool {
        let first = self
            .origins
            .partition_point(|(_, it)| it.start < bytes.start);
        let there = self.origins.iter().skip(first);
        let mut there = there.take_while(|(_, it)| it.start < bytes.end);
        !there.any(|(at, _)| self.text.get(*at..).is_some_and(|it| !it.starts_with(' ')))
    }

    /// Finds a text of whole sentences, if the match begins and ends at sentence boundaries.
    pub(crate) fn find_sentences(
        &self,
        wanted: &Self,
        sentences: &[Range<usize>],
    ) -> Option<Range<usize>> {
        let mut from = 0;
        for _ in 0..MAX_SEARCHES {
            let found = self.find(&wanted.text, from)?;
            let bytes = self.byte_range(&found)?;
            let first = sentences.partition_point(|it| it.end <= bytes.start);
            let last = sentences.partition_point(|it| it.start < bytes.end);
            let begins = sentences
                .get(first)
                .is_some_and(|it| it.start <= bytes.start && self.is_blank(it.start..bytes.start));
            let ends = last
                .checked_sub(1)
                .and_then(|it| sentences.get(it))
                .is_some_and(|it| bytes.end <= it.end && self.is_blank(bytes.end..it.end));
            if begins && ends {
                return Some(bytes);
            }
            let first = wanted.text.chars().next();
            from = found.start + first.map_or(1, char::len_utf8);
        }
        None
    }
}

/// A quote, split at its ellipses.
#[derive(Debug, Clone)]
pub(crate) struct Quote {
    /// Original text.
    pub(crate) text: String,
    pieces: Vec<NormalizedText>,
}

impl Quote {
    /// Parses a quote; `None` if it has no characters to match.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = text
            .replace("[...]", "…")
            .replace("[…]", "…")
            .replace("(...)", "…")
            .replace("(…)", "…")
            .replace(". . .", "…")
            .replace("...", "…")
            .replace("[sic]", "")
            .replace(['[', ']'], "");
        let pieces: Vec<NormalizedText> = plain
            .split('…')
            .map(NormalizedText::new)
            .filter(|it| it.len() > 0)
            .collect();
        (!pieces.is_empty()).then(|| Self {
            text: text.to_owned(),
            pieces,
        })
    }

    pub(crate) fn has_ellipsis(&self) -> bool {
        self.pieces.len() > 1
    }

    pub(crate) fn word_count(&self) -> usize {
        self.pieces.iter().map(NormalizedText::word_count).sum()
    }
}

/// The quotes of a claim, and their byte ranges including the quotation marks.
pub(crate) fn extract_quotes(text: &str) -> Vec<(Quote, Range<usize>)> {
    const QUOTATION_MARKS: [(char, char); 4] = [('“', '”'), ('"', '"'), ('«', '»'), ('„', '“')];
    let mut found = Vec::new();
    let mut open: Option<(char, usize, usize)> = None;
    for (at, letter) in text.char_indices() {
        match open {
            Some((close, from, inside)) if letter == close => {
                let end = at + letter.len_utf8();
                let quote = text.get(inside..at).and_then(Quote::parse);
                found.extend(quote.map(|it| (it, from..end)));
                open = None;
            }
            Some(_) => {}
            None => {
                let mark = QUOTATION_MARKS.iter().find(|(opens, _)| *opens == letter);
                open = mark.map(|(_, close)| (*close, at, at + letter.len_utf8()));
            }
        }
    }
    found
}

/// Whether a sign is significant in a quote.
fn is_significant(letter: char) -> bool {
    matches!(
        letter,
        '%' | '<' | '>' | '=' | '±' | '×' | '≤' | '≥' | '≈' | '~' | '°' | '+' | '$' | '€' | '£'
    )
}

/// Whether the character is a decimal point within a number.
fn is_number_separator(letter: char, before: Option<char>, next: Option<char>) -> bool {
    let digit = |it: Option<char>| it.is_some_and(|it| it.is_ascii_digit());
    letter == '.' && digit(before) && digit(next)
}

/// Whether the character is dropped: marks within words and numbers.
fn is_ignored(letter: char) -> bool {
    is_apostrophe(letter) || letter == '\u{ad}' || letter == '\u{200b}' || letter == ','
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in<'a>(passage: &'a str, quote: &str) -> Option<&'a str> {
        let range = NormalizedText::new(passage).find_quote(&Quote::parse(quote)?)?;
        passage.get(range)
    }

    #[test]
    fn what_does_not_matter() {
        let passage = "The ﬁnal out-\ncome was  “better” — at 1,200 m (p < 0.05) it isn’t so.";
        assert_eq!(
            find_in(passage, "final outcome was \"better\""),
            Some("ﬁnal out-\ncome was  “better")
        );
        assert_eq!(find_in(passage, "at 1200 m"), Some("at 1,200 m"));
        assert_eq!(
            find_in(passage, "The final ... it isn't so"),
            Some("The ﬁnal out-\ncome was  “better” — at 1,200 m (p < 0.05) it isn’t so")
        );
        assert_eq!(
            find_in(passage, "[t]he final outcome"),
            Some("The ﬁnal out-\ncome")
        );
    }

    #[test]
    fn what_does() {
        let passage = "The outcome was not better at -5 °C or 3.5 m.";
        assert_eq!(find_in(passage, "outcome was better"), None);
        assert_eq!(find_in(passage, "at 5 °C"), None);
        assert_eq!(find_in(passage, "35 m"), None);
        assert_eq!(find_in(passage, "come was not"), None);
        assert_eq!(find_in(passage, "3.5 m … The outcome"), None);
    }

    #[test]
    fn quotes_are_found_in_claims() {
        let texts: Vec<String> = extract_quotes("It \"works well\", they say: “yes … no”.")
            .into_iter()
            .map(|(it, _)| it.text)
            .collect();
        assert_eq!(texts, ["works well", "yes … no"]);
    }
}
