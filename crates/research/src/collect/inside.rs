//! Search inside one text: where words stand, with what stands around them.

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
    let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if wanted.is_empty() {
        return (Vec::new(), 0);
    }
    let pages: Vec<Page> = text.pages.iter().map(|page| Page::of(page)).collect();
    let mut finds = collect(&pages, |page| page.phrase(&wanted));
    if finds.is_empty() && wanted.len() > 1 {
        finds = collect(&pages, |page| page.together(&wanted));
    }
    let total = finds.len();
    let shown = finds
        .into_iter()
        .take(most)
        .filter_map(|(number, start, end)| {
            let page = pages.get(number)?;
            let page_number = u32::try_from(number).ok()? + 1;
            Some(FoundInside {
                place: Place {
                    page: page_number,
                    start: u32::try_from(start).ok()?,
                    end_page: page_number,
                    end: u32::try_from(end).ok()?,
                },
                context: page.around(start, end),
            })
        });
    (shown.collect(), total)
}

/// Page by page: where something stands, in characters.
fn collect(
    pages: &[Page],
    find: impl Fn(&Page) -> Vec<(usize, usize)>,
) -> Vec<(usize, usize, usize)> {
    let on = |(number, page)| {
        let found: Vec<(usize, usize)> = find(page);
        found
            .into_iter()
            .map(move |(start, end)| (number, start, end))
    };
    pages.iter().enumerate().flat_map(on).collect()
}

/// A page as characters, and in the form it is searched in.
struct Page {
    letters: Vec<char>,
    /// Lower case, one character for one.
    lower: Vec<char>,
}

impl Page {
    fn of(text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let lower = letters.iter().map(|it| {
            let mut lower = it.to_lowercase();
            // What becomes several characters stays as it is: places count characters.
            match (lower.next(), lower.next()) {
                (Some(one), None) => one,
                _ => *it,
            }
        });
        Self {
            lower: lower.collect(),
            letters,
        }
    }

    /// Where the words stand one after the other.
    fn phrase(&self, words: &[String]) -> Vec<(usize, usize)> {
        let words: Vec<Vec<char>> = words.iter().map(|it| it.chars().collect()).collect();
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.lower.len() {
            match self.phrase_at(at, &words) {
                Some(end) => {
                    found.push((at, end));
                    at = end.max(at + 1);
                }
                None => at += 1,
            }
        }
        found
    }

    fn phrase_at(&self, start: usize, words: &[Vec<char>]) -> Option<usize> {
        let mut at = start;
        for (number, word) in words.iter().enumerate() {
            if number > 0 {
                let space = |it: &&char| it.is_whitespace();
                let gap = self.lower.get(at..)?.iter().take_while(space).count();
                if gap == 0 {
                    return None;
                }
                at += gap;
            }
            if !self.lower.get(at..)?.starts_with(word) {
                return None;
            }
            at += word.len();
        }
        Some(at)
    }

    /// Sentences in which all words stand.
    fn together(&self, words: &[String]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut start = 0;
        for (at, letter) in self.lower.iter().enumerate() {
            let ends = matches!(letter, '.' | '!' | '?')
                && self.lower.get(at + 1).is_none_or(|it| it.is_whitespace());
            let last = at + 1 == self.lower.len();
            if !(ends || last) {
                continue;
            }
            let sentence: String = self
                .lower
                .get(start..=at)
                .unwrap_or_default()
                .iter()
                .collect();
            if words.iter().all(|word| sentence.contains(word.as_str())) {
                let space = sentence.chars().take_while(|it| it.is_whitespace()).count();
                found.push((start + space, at + 1));
            }
            start = at + 1;
        }
        found
    }

    /// What stands there and around it, on one line, with the ends marked where it goes on.
    fn around(&self, start: usize, end: usize) -> String {
        let from = start.saturating_sub(AROUND);
        let to = end.saturating_add(AROUND).min(self.letters.len());
        let shown: String = self
            .letters
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .collect();
        let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let before = if from > 0 { "…" } else { "" };
        let after = if to < self.letters.len() { "…" } else { "" };
        format!("{before}{line}{after}")
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
}
