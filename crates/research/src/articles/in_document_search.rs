//! Searches for words inside one text and shows them in context. It takes one pass over each page,
//! whatever the query.

use std::str::Chars;

use super::{FullText, TextSpan};

/// The characters of context on each side of a hit.
const CONTEXT_CHARS: usize = 160;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InDocumentHit {
    /// The position of the words.
    pub(crate) span: TextSpan,
    /// The words with their context, on one line.
    pub(crate) context: String,
}

/// Finds the words as a phrase or, if the phrase never occurs, sentences that contain all of them.
/// Returns up to `most` hits in order and the number of all hits. Case and white space are ignored.
pub(crate) fn search_in_document(
    text: &FullText,
    words: &str,
    most: usize,
) -> (Vec<InDocumentHit>, usize) {
    let phrase = normalize_for_search(words.trim());
    let wanted: Vec<&str> = phrase.split(' ').filter(|it| !it.is_empty()).collect();
    if wanted.is_empty() {
        return (Vec::new(), 0);
    }
    let found = search_pages(text, most, |page| find_phrase(page, &phrase));
    if found.1 > 0 || wanted.len() == 1 {
        return found;
    }
    search_pages(text, most, |page| find_sentences(page, &wanted))
}

/// Applies `look`, which finds byte ranges in the normalized form of a page, to all pages; returns
/// the hits in order and their number.
fn search_pages(
    text: &FullText,
    most: usize,
    look: impl Fn(&str) -> Vec<(usize, usize)>,
) -> (Vec<InDocumentHit>, usize) {
    let (mut shown, mut total) = (Vec::new(), 0);
    for (number, page) in (1..).zip(&text.pages) {
        let stretches = look(&normalize_for_search(page));
        total += stretches.len();
        let room = most - shown.len();
        let mut walk = OffsetMapper::new(page);
        for (from, to) in stretches.into_iter().take(room) {
            let (start, end) = (walk.char_start(from), walk.char_end(to));
            shown.extend(build_hit(page, number, start, end));
        }
    }
    (shown, total)
}

fn build_hit(page: &str, number: u32, start: usize, end: usize) -> Option<InDocumentHit> {
    Some(InDocumentHit {
        span: TextSpan {
            page: number,
            start: u32::try_from(start).ok()?,
            end_page: number,
            end: u32::try_from(end).ok()?,
        },
        context: context_snippet(page, start, end),
    })
}

fn find_phrase(page: &str, phrase: &str) -> Vec<(usize, usize)> {
    let at = memchr::memmem::find_iter(page.as_bytes(), phrase.as_bytes());
    at.map(|at| (at, at + phrase.len())).collect()
}

/// The sentences that contain all words.
fn find_sentences(page: &str, words: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    let ends = page.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    for end in ends.chain([page.len()]) {
        if page
            .get(end..)
            .is_some_and(|it| !it.is_empty() && !it.starts_with(' '))
        {
            continue;
        }
        let sentence = page.get(start..end).unwrap_or_default();
        if words.iter().all(|word| sentence.contains(word)) {
            let space = sentence.len() - sentence.trim_start().len();
            found.push((start + space, end));
        }
        start = end;
    }
    found
}

/// The hit with its context on one line; an ellipsis marks where the text continues.
fn context_snippet(page: &str, start: usize, end: usize) -> String {
    let from = start.saturating_sub(CONTEXT_CHARS);
    let mut letters = page.chars().skip(from);
    let shown: String = letters.by_ref().take(end + CONTEXT_CHARS - from).collect();
    let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if letters.next().is_some() { "…" } else { "" };
    format!("{before}{line}{after}")
}

/// Normalizes text for the search: one case, character by character, words separated by one space.
fn normalize_for_search(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_space = false;
    for letter in text.chars() {
        out.extend(normalize_char(letter, &mut in_space));
    }
    out
}

/// Normalizes one character; `None` for a space after a space.
fn normalize_char(letter: char, in_space: &mut bool) -> Option<char> {
    let after_space = std::mem::replace(in_space, letter.is_whitespace());
    if letter.is_whitespace() {
        return (!after_space).then_some(' ');
    }
    let mut lower = letter.to_lowercase();
    Some(match (lower.next(), lower.next()) {
        (Some('ς'), None) => 'σ',
        (Some(one), None) => one,
        // A character that would become several stays as it is, because positions count characters.
        _ => letter,
    })
}

/// Maps byte offsets of the normalized form of a page to characters of the page.
struct OffsetMapper<'p> {
    letters: Chars<'p>,
    /// The index of the next character.
    char_index: usize,
    byte: usize,
    in_space: bool,
}

impl<'p> OffsetMapper<'p> {
    fn new(page: &'p str) -> Self {
        Self {
            letters: page.chars(),
            char_index: 0,
            byte: 0,
            in_space: false,
        }
    }

    /// The character whose normalized form begins at a byte offset.
    fn char_start(&mut self, byte: usize) -> usize {
        self.char_end(byte);
        let spaces = self
            .letters
            .clone()
            .take_while(|it| self.in_space && it.is_whitespace());
        let spaces = spaces.count();
        for _ in 0..spaces {
            self.advance();
        }
        self.char_index
    }

    /// The character after the one whose normalized form ends at a byte offset.
    fn char_end(&mut self, byte: usize) -> usize {
        while self.byte < byte && self.advance().is_some() {}
        self.char_index
    }

    fn advance(&mut self) -> Option<()> {
        let letter = self.letters.next()?;
        self.char_index += 1;
        self.byte += normalize_char(letter, &mut self.in_space).map_or(0, char::len_utf8);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pages: &[&str]) -> FullText {
        FullText {
            pages: pages.iter().map(|&it| it.to_owned()).collect(),
            ..FullText::default()
        }
    }

    #[test]
    fn a_find_is_where_it_says() {
        let text = text(&["İs Été here. The Self  Attention\nlayer.", "self attention"]);
        let (found, total) = search_in_document(&text, "self attention", 1);
        assert_eq!(total, 2);
        let at = text.excerpt(&found[0].span).unwrap();
        assert_eq!(at, "Self  Attention");
        assert!(found[0].context.contains("The Self Attention layer."));
        let (found, _) = search_in_document(&text, "été", 5);
        assert_eq!(text.excerpt(&found[0].span).unwrap(), "Été");
    }

    #[test]
    fn words_apart_are_found_in_one_sentence() {
        let text = text(&["We train long. The loss of training falls. Nothing else."]);
        let (found, total) = search_in_document(&text, "falls loss", 5);
        assert_eq!(total, 1);
        assert_eq!(
            text.excerpt(&found[0].span).unwrap(),
            "The loss of training falls."
        );
        assert_eq!(search_in_document(&text, "falls nothing", 5).1, 0);
        assert_eq!(search_in_document(&text, " ", 5).1, 0);
    }

    #[test]
    fn a_word_in_capitals_is_the_same_word() {
        let text = text(&["Η ΟΔΟΣ and ODOS. The odos", "İstanbul"]);
        assert_eq!(search_in_document(&text, "οδος", 5).1, 1);
        assert_eq!(search_in_document(&text, "ΟΔΟΣ", 5).1, 1);
        assert_eq!(search_in_document(&text, "odos", 5).1, 2);
        assert_eq!(search_in_document(&text, "İSTANBUL", 5).1, 1);
    }

    /// The search would take minutes if all words were compared at each position.
    #[test]
    fn what_repeats_itself_is_one_pass() {
        let text = text(&["a ".repeat(2_000_000).as_str()]);
        let words = format!("{} b", "a ".repeat(240));
        assert_eq!(search_in_document(&text, &words, 5), (Vec::new(), 0));
        let (found, total) = search_in_document(&text, "a a", 3);
        assert_eq!((found.len(), total), (3, 1_000_000));
    }

    proptest::proptest! {
        #[test]
        fn every_find_reads_as_what_was_looked_for(
            page in "[aAß é\n\tΣσς.]{0,60}",
            words in "[aAß éΣσς]{1,4}",
        ) {
            let text = text(&[page.as_str()]);
            let wanted = normalize_for_search(words.trim());
            let (found, total) = search_in_document(&text, &words, 100);
            proptest::prop_assert_eq!(found.len(), total.min(100));
            let is_phrase = normalize_for_search(&page).contains(&wanted);
            for it in found.iter().filter(|_| is_phrase) {
                let there = text.excerpt(&it.span).unwrap();
                proptest::prop_assert_eq!(normalize_for_search(&there), wanted.clone());
            }
        }
    }
}
