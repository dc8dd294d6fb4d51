//! Search inside one text: where words stand, with what stands around them. One pass over each page,
//! whatever is looked for.

use std::str::Chars;

use super::{Place, Text};

/// How much is shown around a find, in characters each side.
const AROUND: usize = 160;

/// A find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundInside {
    /// Where the words stand.
    pub(crate) place: Place,
    /// They, and what stands around them, on one line.
    pub(crate) context: String,
}

/// Where the words stand, in order, up to `most` places, and how many there are in all. The words
/// as they are written one after the other, or, if they never are, sentences that hold all of them.
/// Case does not count, nor how words are set apart.
pub(crate) fn find_inside(text: &Text, words: &str, most: usize) -> (Vec<FoundInside>, usize) {
    let phrase = searched(words.trim());
    let wanted: Vec<&str> = phrase.split(' ').filter(|it| !it.is_empty()).collect();
    if wanted.is_empty() {
        return (Vec::new(), 0);
    }
    let found = on_all_pages(text, most, |page| phrases(page, &phrase));
    if found.1 > 0 || wanted.len() == 1 {
        return found;
    }
    on_all_pages(text, most, |page| sentences_with(page, &wanted))
}

/// What is found on the pages, and how many times. `look` finds stretches of a page in the form it
/// is searched in, in order.
fn on_all_pages(
    text: &Text,
    most: usize,
    look: impl Fn(&str) -> Vec<(usize, usize)>,
) -> (Vec<FoundInside>, usize) {
    let (mut shown, mut total) = (Vec::new(), 0);
    for (number, page) in (1..).zip(&text.pages) {
        let stretches = look(&searched(page));
        total += stretches.len();
        let room = most - shown.len();
        let mut walk = Walk::along(page);
        for (from, to) in stretches.into_iter().take(room) {
            let (start, end) = (walk.begin(from), walk.end(to));
            shown.extend(found(page, number, start, end));
        }
    }
    (shown, total)
}

fn found(page: &str, number: u32, start: usize, end: usize) -> Option<FoundInside> {
    Some(FoundInside {
        place: Place {
            page: number,
            start: u32::try_from(start).ok()?,
            end_page: number,
            end: u32::try_from(end).ok()?,
        },
        context: around(page, start, end),
    })
}

/// Where a phrase stands.
fn phrases(page: &str, phrase: &str) -> Vec<(usize, usize)> {
    let at = memchr::memmem::find_iter(page.as_bytes(), phrase.as_bytes());
    at.map(|at| (at, at + phrase.len())).collect()
}

/// Sentences in which all words stand.
fn sentences_with(page: &str, words: &[&str]) -> Vec<(usize, usize)> {
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

/// What stands there and around it, on one line, with the ends marked where it goes on.
fn around(page: &str, start: usize, end: usize) -> String {
    let from = start.saturating_sub(AROUND);
    let mut letters = page.chars().skip(from);
    let shown: String = letters.by_ref().take(end + AROUND - from).collect();
    let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if letters.next().is_some() { "…" } else { "" };
    format!("{before}{line}{after}")
}

/// A text in the form it is searched in: in one case, letter for letter, words set apart by one
/// space.
fn searched(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_space = false;
    for letter in text.chars() {
        out.extend(counted(letter, &mut in_space));
    }
    out
}

/// What a letter is in that form; nothing for a space behind a space.
fn counted(letter: char, in_space: &mut bool) -> Option<char> {
    let after_space = std::mem::replace(in_space, letter.is_whitespace());
    if letter.is_whitespace() {
        return (!after_space).then_some(' ');
    }
    let mut lower = letter.to_lowercase();
    Some(match (lower.next(), lower.next()) {
        (Some('ς'), None) => 'σ',
        (Some(one), None) => one,
        // What becomes several letters stays as it is: places count characters.
        _ => letter,
    })
}

/// Walks along a page and knows which byte of its searched form it is at.
struct Walk<'p> {
    letters: Chars<'p>,
    /// The character it is before.
    at: usize,
    byte: usize,
    in_space: bool,
}

impl<'p> Walk<'p> {
    fn along(page: &'p str) -> Self {
        Self {
            letters: page.chars(),
            at: 0,
            byte: 0,
            in_space: false,
        }
    }

    /// The character whose searched form begins at a byte.
    fn begin(&mut self, byte: usize) -> usize {
        self.end(byte);
        let spaces = self
            .letters
            .clone()
            .take_while(|it| self.in_space && it.is_whitespace());
        let spaces = spaces.count();
        for _ in 0..spaces {
            self.step();
        }
        self.at
    }

    /// The character after the one whose searched form ends at a byte.
    fn end(&mut self, byte: usize) -> usize {
        while self.byte < byte && self.step().is_some() {}
        self.at
    }

    fn step(&mut self) -> Option<()> {
        let letter = self.letters.next()?;
        self.at += 1;
        self.byte += counted(letter, &mut self.in_space).map_or(0, char::len_utf8);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pages: &[&str]) -> Text {
        Text {
            pages: pages.iter().map(|&it| it.to_owned()).collect(),
            ..Text::default()
        }
    }

    #[test]
    fn a_find_is_where_it_says() {
        let text = text(&["İs Été here. The Self  Attention\nlayer.", "self attention"]);
        let (found, total) = find_inside(&text, "self attention", 1);
        assert_eq!(total, 2);
        let at = text.at(&found[0].place).unwrap();
        assert_eq!(at, "Self  Attention");
        assert!(found[0].context.contains("The Self Attention layer."));
        let (found, _) = find_inside(&text, "été", 5);
        assert_eq!(text.at(&found[0].place).unwrap(), "Été");
    }

    #[test]
    fn words_apart_are_found_in_one_sentence() {
        let text = text(&["We train long. The loss of training falls. Nothing else."]);
        let (found, total) = find_inside(&text, "falls loss", 5);
        assert_eq!(total, 1);
        assert_eq!(
            text.at(&found[0].place).unwrap(),
            "The loss of training falls."
        );
        assert_eq!(find_inside(&text, "falls nothing", 5).1, 0);
        assert_eq!(find_inside(&text, " ", 5).1, 0);
    }

    #[test]
    fn a_word_in_capitals_is_the_same_word() {
        let text = text(&["Η ΟΔΟΣ and ODOS. The odos", "İstanbul"]);
        assert_eq!(find_inside(&text, "οδος", 5).1, 1);
        assert_eq!(find_inside(&text, "ΟΔΟΣ", 5).1, 1);
        assert_eq!(find_inside(&text, "odos", 5).1, 2);
        assert_eq!(find_inside(&text, "İSTANBUL", 5).1, 1);
    }

    /// It would take minutes if each place were looked at for all of the words.
    #[test]
    fn what_repeats_itself_is_one_pass() {
        let text = text(&["a ".repeat(2_000_000).as_str()]);
        let words = format!("{} b", "a ".repeat(240));
        assert_eq!(find_inside(&text, &words, 5), (Vec::new(), 0));
        let (found, total) = find_inside(&text, "a a", 3);
        assert_eq!((found.len(), total), (3, 1_000_000));
    }

    proptest::proptest! {
        #[test]
        fn every_find_reads_as_what_was_looked_for(
            page in "[aAß é\n\tΣσς.]{0,60}",
            words in "[aAß éΣσς]{1,4}",
        ) {
            let text = text(&[page.as_str()]);
            let wanted = searched(words.trim());
            let (found, total) = find_inside(&text, &words, 100);
            proptest::prop_assert_eq!(found.len(), total.min(100));
            let is_phrase = searched(&page).contains(&wanted);
            for it in found.iter().filter(|_| is_phrase) {
                let there = text.at(&it.place).unwrap();
                proptest::prop_assert_eq!(searched(&there), wanted.clone());
            }
        }
    }
}
