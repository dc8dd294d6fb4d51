//! Whether words stand in a passage just so: without regard to blanks, case, the style of quotes
//! and dashes, ligatures, hyphens at line ends, and what dots leave out.

use std::ops::Range;

use super::letters::{folded, is_apostrophe, is_hyphen, superscript};

/// A text reduced to what a quote must share with it, and where each letter came from.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    letters: String,
    /// Where each letter begins in `letters`, and the bytes that it came from.
    from: Vec<(usize, Range<usize>)>,
}

/// How far apart two pieces of one quote may stand, in letters.
const FARTHEST: usize = 1_500;

/// How often words are looked for that stand in the midst of others.
const MOST_TRIES: usize = 500;

impl Stream {
    pub(super) fn of(text: &str) -> Self {
        let mut stream = Self::default();
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let char = |at: usize| chars.get(at).map(|&(_, it)| it);
        let mut at = 0;
        while let Some(&(byte, letter)) = chars.get(at) {
            let end = chars.get(at + 1).map_or(text.len(), |&(byte, _)| byte);
            let next = char(at + 1);
            let before = at.checked_sub(1).and_then(char);
            if letter.is_alphanumeric() || superscript(letter).is_some_and(|it| it != '-') {
                for plain in folded(letter).chars() {
                    stream.push(plain, byte, end);
                }
            } else if is_hyphen(letter) {
                at += stream.hyphen((byte, end), before, &chars, at);
            } else if kept(letter) {
                // `5 %` and `5%`, `p < 0.05` and `p<0.05`.
                stream.trim();
                stream.push(letter, byte, end);
            } else if parts_number(letter, before, next) {
                stream.push(letter, byte, end);
            } else if !is_dropped(letter) {
                stream.blank(byte, end);
            }
            at += 1;
        }
        stream.trim();
        stream
    }

    /// A hyphen between letters joins them; before a digit it means something. How many characters
    /// behind it are passed over.
    fn hyphen(
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
        self.blank(byte, end);
        0
    }

    fn push(&mut self, letter: char, byte: usize, end: usize) {
        self.from.push((self.letters.len(), byte..end));
        self.letters.push(letter);
    }

    fn blank(&mut self, byte: usize, end: usize) {
        let last = self.letters.chars().next_back();
        if last.is_some_and(|it| it != ' ' && !kept(it)) {
            self.push(' ', byte, end);
        }
    }

    fn trim(&mut self) {
        if self.letters.ends_with(' ') {
            self.letters.pop();
            self.from.pop();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// How many words it has.
    pub(super) fn words(&self) -> usize {
        let filled = usize::from(!self.letters.is_empty());
        self.letters.matches(' ').count() + filled
    }

    /// Where `wanted` stands in it as whole words, behind `from`.
    fn find(&self, wanted: &str, from: usize) -> Option<Range<usize>> {
        if wanted.is_empty() {
            return None;
        }
        let goes_on = |it: char| it.is_alphanumeric() || matches!(it, '-' | '.');
        let mut from = from;
        for _ in 0..MOST_TRIES {
            let start = from + self.letters.get(from..)?.find(wanted)?;
            let end = start + wanted.len();
            let before = self.letters.get(..start)?.chars().next_back();
            let after = self.letters.get(end..)?.chars().next();
            let free = |edge: Option<char>, beside: Option<char>| {
                edge.is_some_and(kept) || !beside.is_some_and(goes_on)
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

    /// Where a quote stands in it, as bytes of the text it was made of.
    pub(super) fn find_quote(&self, quote: &Quote) -> Option<Range<usize>> {
        let mut from = 0;
        let mut whole: Option<Range<usize>> = None;
        for piece in &quote.pieces {
            let found = self.find(&piece.letters, from)?;
            if let Some(whole) = &whole
                && found.start - whole.end > FARTHEST
            {
                return None;
            }
            let start = whole.map_or(found.start, |it| it.start);
            from = found.end;
            whole = Some(start..found.end);
        }
        self.bytes(&whole?)
    }

    /// The bytes of a stretch of letters.
    fn bytes(&self, letters: &Range<usize>) -> Option<Range<usize>> {
        let first = self.from.partition_point(|(at, _)| *at < letters.start);
        let after = self.from.partition_point(|(at, _)| *at < letters.end);
        let start = self.from.get(first)?.1.start;
        let end = self.from.get(after.checked_sub(1)?)?.1.end;
        Some(start..end)
    }

    /// Whether no letter came from these bytes.
    fn is_blank(&self, bytes: Range<usize>) -> bool {
        let first = self.from.partition_point(|(_, it)| it.start < bytes.start);
        let there = self.from.iter().skip(first);
        let mut there = there.take_while(|(_, it)| it.start < bytes.end);
        !there.any(|(at, _)| {
            self.letters
                .get(*at..)
                .is_some_and(|it| !it.starts_with(' '))
        })
    }

    /// Where the words of a text that is whole sentences stand in it, if they begin and end where
    /// sentences do.
    pub(super) fn find_whole(
        &self,
        wanted: &Self,
        sentences: &[Range<usize>],
    ) -> Option<Range<usize>> {
        let mut from = 0;
        for _ in 0..MOST_TRIES {
            let found = self.find(&wanted.letters, from)?;
            let bytes = self.bytes(&found)?;
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
            let first = wanted.letters.chars().next();
            from = found.start + first.map_or(1, char::len_utf8);
        }
        None
    }
}

/// A quote, in the pieces that dots leave of it.
#[derive(Debug, Clone)]
pub(super) struct Quote {
    /// As it is written.
    pub(super) text: String,
    pieces: Vec<Stream>,
}

impl Quote {
    /// A quote, if there is something to it.
    pub(super) fn of(text: &str) -> Option<Self> {
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
        let pieces: Vec<Stream> = plain
            .split('…')
            .map(Stream::of)
            .filter(|it| it.len() > 0)
            .collect();
        (!pieces.is_empty()).then(|| Self {
            text: text.to_owned(),
            pieces,
        })
    }

    /// Whether dots leave something out of it.
    pub(super) fn is_cut(&self) -> bool {
        self.pieces.len() > 1
    }

    /// How many words it has.
    pub(super) fn words(&self) -> usize {
        self.pieces.iter().map(Stream::words).sum()
    }
}

/// The quotes of a claim, and the bytes they take up with their marks.
pub(super) fn quotes(text: &str) -> Vec<(Quote, Range<usize>)> {
    const MARKS: [(char, char); 4] = [('“', '”'), ('"', '"'), ('«', '»'), ('„', '“')];
    let mut found = Vec::new();
    let mut open: Option<(char, usize, usize)> = None;
    for (at, letter) in text.char_indices() {
        match open {
            Some((close, from, inside)) if letter == close => {
                let end = at + letter.len_utf8();
                let quote = text.get(inside..at).and_then(Quote::of);
                found.extend(quote.map(|it| (it, from..end)));
                open = None;
            }
            Some(_) => {}
            None => {
                let mark = MARKS.iter().find(|(opens, _)| *opens == letter);
                open = mark.map(|(_, close)| (*close, at, at + letter.len_utf8()));
            }
        }
    }
    found
}

/// Signs that mean something in a quote.
fn kept(letter: char) -> bool {
    matches!(
        letter,
        '%' | '<' | '>' | '=' | '±' | '×' | '≤' | '≥' | '≈' | '~' | '°' | '+' | '$' | '€' | '£'
    )
}

/// A point or a comma within a number.
fn parts_number(letter: char, before: Option<char>, next: Option<char>) -> bool {
    let digit = |it: Option<char>| it.is_some_and(|it| it.is_ascii_digit());
    letter == '.' && digit(before) && digit(next)
}

/// What is passed over without a trace: marks within words and numbers.
fn is_dropped(letter: char) -> bool {
    is_apostrophe(letter) || letter == '\u{ad}' || letter == '\u{200b}' || letter == ','
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(passage: &'a str, quote: &str) -> Option<&'a str> {
        let range = Stream::of(passage).find_quote(&Quote::of(quote)?)?;
        passage.get(range)
    }

    #[test]
    fn what_does_not_matter() {
        let passage = "The ﬁnal out-\ncome was  “better” — at 1,200 m (p < 0.05) it isn’t so.";
        assert_eq!(
            found(passage, "final outcome was \"better\""),
            Some("ﬁnal out-\ncome was  “better")
        );
        assert_eq!(found(passage, "at 1200 m"), Some("at 1,200 m"));
        assert_eq!(
            found(passage, "The final ... it isn't so"),
            Some("The ﬁnal out-\ncome was  “better” — at 1,200 m (p < 0.05) it isn’t so")
        );
        assert_eq!(
            found(passage, "[t]he final outcome"),
            Some("The ﬁnal out-\ncome")
        );
    }

    #[test]
    fn what_does() {
        let passage = "The outcome was not better at -5 °C or 3.5 m.";
        assert_eq!(found(passage, "outcome was better"), None);
        assert_eq!(found(passage, "at 5 °C"), None);
        assert_eq!(found(passage, "35 m"), None);
        assert_eq!(found(passage, "come was not"), None);
        assert_eq!(found(passage, "3.5 m … The outcome"), None);
    }

    #[test]
    fn quotes_are_found_in_claims() {
        let texts: Vec<String> = quotes("It \"works well\", they say: “yes … no”.")
            .into_iter()
            .map(|(it, _)| it.text)
            .collect();
        assert_eq!(texts, ["works well", "yes … no"]);
    }
}
