//! Divides a text into sections by its headings.

use super::{FullText, Outline, title_key};

/// A section, from its heading to the next one of the same or a higher level, so it includes its
/// subsections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SectionSpan {
    /// The printed number or, in a text without printed numbers, the position in the outline. Empty
    /// for unnumbered headings of a numbered text, because the two could be confused.
    pub(crate) number: String,
    /// The heading without a printed number.
    pub(crate) title: String,
    /// The level, 1 is the highest.
    pub(crate) level: u8,
    /// The first page.
    pub(crate) page: u32,
    /// The start in [`FullText::join_pages`], in bytes.
    pub(crate) start: usize,
    /// The end in [`FullText::join_pages`], in bytes.
    pub(crate) end: usize,
    has_printed_number: bool,
}

impl SectionSpan {
    /// The number, if there is one, and the heading.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.number, self.title)
            .trim_start()
            .to_owned()
    }
}

/// The headings of an outline without printed numbers, in order.
pub(crate) fn section_titles(outline: &Outline) -> impl Iterator<Item = String> {
    outline
        .headings
        .iter()
        .map(|it| split_heading_number(&it.title).1)
}

/// The sections of a text, in order.
pub(crate) fn sections(text: &FullText) -> Vec<SectionSpan> {
    let whole =
        text.page_starts().last().copied().unwrap_or(0) + text.pages.last().map_or(0, String::len);
    let mut found: Vec<SectionSpan> = Vec::new();
    let mut counts: Vec<u32> = Vec::new();
    for (heading, start) in text.outline.headings.iter().zip(text.heading_starts()) {
        let Some(start) = start else {
            continue;
        };
        let counted = next_number(&mut counts, heading.level.max(1));
        let (printed, title) = split_heading_number(&heading.title);
        found.push(SectionSpan {
            number: printed.clone().unwrap_or(counted),
            title,
            level: heading.level.max(1),
            page: heading.page,
            start,
            end: whole,
            has_printed_number: printed.is_some(),
        });
    }
    if found.iter().any(|it| it.has_printed_number) {
        let counted = found.iter_mut().filter(|it| !it.has_printed_number);
        counted.for_each(|it| it.number.clear());
    }
    found.sort_by_key(|it| it.start);
    close(&mut found);
    found
}

/// Ends each section at the next one of the same or a higher level.
fn close(all: &mut [SectionSpan]) {
    let mut open: Vec<(usize, u8)> = Vec::new();
    for at in 0..all.len() {
        let Some((start, level)) = all.get(at).map(|it| (it.start, it.level)) else {
            continue;
        };
        while let Some((last, _)) = open.pop_if(|(_, other)| *other >= level) {
            if let Some(section) = all.get_mut(last) {
                section.end = start;
            }
        }
        open.push((at, level));
    }
}

/// Finds a section by its number or heading, or by a part of the heading if it is unambiguous.
pub(crate) fn find_section<'a>(all: &'a [SectionSpan], name: &str) -> Option<&'a SectionSpan> {
    let name = name.trim().trim_start_matches('§').trim();
    let number = name.trim_end_matches('.');
    let by_number = |it: &&SectionSpan| it.number.eq_ignore_ascii_case(number);
    if let Some(found) = all.iter().find(by_number).filter(|_| !number.is_empty()) {
        return Some(found);
    }
    let key = title_key(&split_heading_number(name).1);
    if key.is_empty() {
        return None;
    }
    if let Some(found) = all.iter().find(|it| title_key(&it.title) == key) {
        return Some(found);
    }
    let mut holding = all.iter().filter(|it| title_key(&it.title).contains(&key));
    let first = holding.next()?;
    let deeper = |it: &SectionSpan| it.start >= first.start && it.end <= first.end;
    holding.all(deeper).then_some(first)
}

/// Finds the sections of a role that papers name in several ways.
pub(crate) fn find_sections_by_role<'a>(
    all: &'a [SectionSpan],
    wanted: &str,
) -> Vec<&'a SectionSpan> {
    let words: &[&str] = match wanted {
        "introduction" => &["introduction", "background"],
        "methods" => &[
            "method",
            "approach",
            "model",
            "materials",
            "experimental setup",
        ],
        "results" => &["result", "experiment", "evaluation", "finding"],
        "discussion" => &["discussion", "conclusion", "limitation"],
        "references" => &["references", "bibliography", "works cited"],
        other => &[other],
    };
    let fits = |it: &&SectionSpan| {
        let key = title_key(&it.title);
        words.iter().any(|word| key.contains(word))
    };
    let mut found: Vec<&SectionSpan> = Vec::new();
    for section in all.iter().filter(fits) {
        // Subsections are part of a section that was already taken.
        if found.last().is_none_or(|last| section.start >= last.end) {
            found.push(section);
        }
    }
    found
}

/// Counts the number of the next heading of a level.
fn next_number(counts: &mut Vec<u32>, level: u8) -> String {
    let level = usize::from(level);
    counts.truncate(level);
    if counts.len() < level {
        counts.resize(level, 0);
    }
    if let Some(last) = counts.last_mut() {
        *last += 1;
    }
    let shown: Vec<String> = counts.iter().map(|it| (*it).max(1).to_string()).collect();
    shown.join(".")
}

/// Splits a heading into its printed number, if there is one, and the rest.
fn split_heading_number(heading: &str) -> (Option<String>, String) {
    let heading = heading.trim().trim_start_matches('#').trim();
    let Some((first, rest)) = heading.split_once(char::is_whitespace) else {
        return (None, heading.to_owned());
    };
    let number = first.trim_end_matches(['.', ')', ':']);
    let digits = !number.is_empty()
        && number.starts_with(|it: char| it.is_ascii_digit())
        && number.chars().all(|it| it.is_ascii_digit() || it == '.')
        && number.len() <= 12;
    let marked = first.len() > number.len();
    let roman = marked && number.chars().all(|it| "IVXLC".contains(it)) && !number.is_empty();
    let letter = marked && number.len() == 1 && number.chars().all(|it| it.is_ascii_uppercase());
    if digits || roman || letter {
        return (Some(number.to_owned()), rest.trim().to_owned());
    }
    (None, heading.to_owned())
}

#[cfg(test)]
mod tests {
    use deliberate_extract::Heading;

    use super::*;

    fn text(headings: &[(u8, &str)]) -> FullText {
        let mut page = String::from("Opening.\n");
        let mut outline = Outline::default();
        for (level, title) in headings {
            outline.headings.push(Heading {
                level: *level,
                title: (*title).to_owned(),
                page: 1,
                offset: u32::try_from(page.chars().count()).unwrap(),
            });
            for part in [title, "\nText of ", title, " é.\n"] {
                page.push_str(part);
            }
        }
        FullText {
            pages: vec![page],
            outline,
            version: 0,
        }
    }

    /// It would take minutes if each heading were searched from the beginning.
    #[test]
    fn a_heading_on_every_line_is_one_pass() {
        let mut page = String::new();
        let mut outline = Outline::default();
        for at in 0..200_000_u32 {
            outline.headings.push(Heading {
                level: u8::try_from(at % 3).unwrap() + 1,
                title: format!("h{at}"),
                page: 1,
                offset: 2 * at,
            });
            page.push_str("\u{e9}\n");
        }
        let text = FullText {
            pages: vec![page],
            outline,
            version: 0,
        };
        let all = sections(&text);
        assert_eq!(all.len(), 200_000);
        assert!(all.iter().zip(0..).all(|(it, at)| it.start == 3 * at));
        assert_eq!(all[0].end, all[3].start);
        assert_eq!(all[1].end, all[3].start);
        assert_eq!(all[2].end, all[3].start);
    }

    #[test]
    fn a_section_holds_those_below_it() {
        let text = text(&[
            (1, "1 Introduction"),
            (1, "2 Method"),
            (2, "2.1 Data"),
            (1, "3 End"),
        ]);
        let all = sections(&text);
        let whole = text.join_pages();
        let shown = |name: &str| {
            let found = find_section(&all, name)?;
            whole.get(found.start..found.end)
        };
        assert_eq!(shown("2"), shown("method"));
        let method = shown("2. Method").unwrap();
        assert!(
            method.contains("Text of 2.1 Data") && !method.contains("3 End"),
            "{method}"
        );
        assert_eq!(shown("2.1"), shown("Data"));
        assert_eq!(shown("§3"), shown("end"));
        assert_eq!(shown("4"), None);
        assert_eq!(shown(""), None);
    }

    #[test]
    fn headings_without_numbers_are_counted() {
        let all = sections(&text(&[
            (1, "Why"),
            (2, "Because"),
            (2, "Also"),
            (1, "How"),
        ]));
        let numbers: Vec<&str> = all.iter().map(|it| it.number.as_str()).collect();
        assert_eq!(numbers, ["1", "1.1", "1.2", "2"]);
        assert_eq!(find_section(&all, "1.2").unwrap().title, "Also");
    }
}
