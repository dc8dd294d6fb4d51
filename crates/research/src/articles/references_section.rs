//! Finds the bibliographies of a paper. Their text is neither a statement of the paper nor does it
//! cite anything.

use std::ops::Range;

use deliberate_extract::{DocumentReference, split_references};

use super::{
    FullText,
    sections::{SectionSpan, sections},
    title_key,
};

/// Whether a normalized heading may open a bibliography.
pub(crate) fn is_bibliography(key: &str) -> bool {
    const LAST: &[&str] = &["references", "bibliography"];
    const NAMES: &[&str] = &[
        "literature cited",
        "cited literature",
        "works cited",
        "references cited",
        "references and notes",
        "literature",
        "literatur",
        "literaturverzeichnis",
        "bibliographie",
        "bibliografia",
        "referencias",
    ];
    let words = key.trim_start_matches(|it: char| it.is_numeric() || it == ' ');
    let last = words.rsplit(' ').next().unwrap_or_default();
    LAST.contains(&last) || NAMES.contains(&words)
}

/// The byte ranges of the bibliographies with their headings, in order.
pub(crate) fn bibliographies(text: &FullText) -> Vec<Range<usize>> {
    let whole = text.join_pages();
    let sections = sections(text);
    let names = |it: &SectionSpan| is_bibliography(&title_key(&it.title));
    if !sections.iter().any(names) {
        return find_unheaded(text, &whole, &sections).into_iter().collect();
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, section) in sections.iter().enumerate() {
        let within = found.last().is_some_and(|it| section.start < it.end);
        if names(section) && !within {
            let end = bibliography_end(&whole, &sections, at);
            found.extend(end.map(|end| section.start..end));
        }
    }
    found
}

/// The end of the bibliography under a heading, if it lists works. Lower headings may divide it;
/// but heading levels may be guessed, and the text under a lower heading may be an appendix.
fn bibliography_end(whole: &str, sections: &[SectionSpan], at: usize) -> Option<usize> {
    let first = sections.get(at)?;
    let mut end = None;
    for (number, part) in sections.iter().enumerate().skip(at) {
        if number > at && (part.level <= first.level || part.start >= first.end) {
            break;
        }
        let next = sections.get(number + 1).map_or(whole.len(), |it| it.start);
        let under = whole.get(part.start..next).unwrap_or_default();
        let under = under.split_once('\n').map_or("", |(_, rest)| rest);
        let heads_others = number == at && under.trim().is_empty();
        let lists = if number == at {
            is_reference_list(under, is_plausible_entry)
        } else {
            is_reference_list(under, is_complete_entry)
        };
        if !lists && !heads_others {
            break;
        }
        end = lists.then_some(next).or(end);
    }
    end
}

/// Whether at least half of the entries of a text satisfy the predicate.
fn is_reference_list(text: &str, is_such: impl Fn(&DocumentReference) -> bool) -> bool {
    let entries = split_references(&text.replace('\u{c}', "\n"), 0);
    let such = entries.iter().filter(|it| is_such(it)).count();
    !entries.is_empty() && such * 2 >= entries.len()
}

/// Whether an entry under a bibliography heading looks like a reference. A manual may have a
/// chapter about references, whose paragraphs do not.
fn is_plausible_entry(entry: &DocumentReference) -> bool {
    entry.label.is_some()
        || has_date_or_id(entry)
        || (!entry.authors.is_empty() && entry.title.is_some())
}

/// Whether an entry looks like a reference even without a bibliography heading.
fn is_complete_entry(entry: &DocumentReference) -> bool {
    has_date_or_id(entry) && !entry.authors.is_empty()
}

fn has_date_or_id(entry: &DocumentReference) -> bool {
    entry.year.is_some() || entry.doi.is_some() || entry.arxiv_id.is_some()
}

/// Finds a bibliography without a heading: from its first entry to the next heading.
fn find_unheaded(text: &FullText, whole: &str, sections: &[SectionSpan]) -> Option<Range<usize>> {
    let entry = text.outline.references.first()?;
    let page = usize::try_from(entry.page).ok()?.checked_sub(1)?;
    let beginning: String = entry.text.chars().take(20).collect();
    let on_page = text.pages.get(page)?;
    let before = on_page.get(..on_page.rfind(&beginning)?)?;
    let line = before.rfind('\n').map_or(0, |it| it + 1);
    let start = text.page_starts().get(page)? + line;
    let next = sections.iter().map(|it| it.start).find(|it| *it > start);
    Some(start..next.unwrap_or(whole.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bibliography_texts(page: &str) -> Vec<&str> {
        let ranges = bibliographies(&FullText::from_lines(page)).into_iter();
        ranges.filter_map(|it| page.get(it)).collect()
    }

    #[test]
    fn a_bibliography_is_known_by_its_heading() {
        for heading in [
            "7 References",
            "Supplementary references",
            "Bibliography",
            "Literature Cited",
            "8. Literature",
            "Références",
        ] {
            assert!(is_bibliography(&title_key(heading)), "{heading}");
        }
        for heading in [
            "Literature review",
            "Cross-referencing",
            "Works",
            "User preferences",
        ] {
            assert!(!is_bibliography(&title_key(heading)), "{heading}");
        }
    }

    #[test]
    fn it_goes_from_its_heading_to_what_is_no_part_of_it() {
        let listed = "# References\n\n[1] A. Doe. On bees. Bogs, 2001.\n\n\
                      [2] B. Roe. On é. Bogs, 2002.\n\n";
        let page = format!("# Results\n\nIt grew.\n\n{listed}# Appendix\n\nMore of it.");
        assert_eq!(bibliography_texts(&page), [listed]);
        let page = format!("# Results\n\nIt grew.\n\n{listed}### Proofs\n\nIt is so. And so.");
        assert_eq!(
            bibliography_texts(&page),
            [listed],
            "though its level is a guess"
        );
        let parted = "# Bibliography\n\n## Books\n\nDoe, A. (2001). On the bees. Bogs, 3.\n\n\
                      ## Papers\n\nRoe, B. (2002). On the wasps. Bogs, 4.";
        assert_eq!(bibliography_texts(parted), [parted]);
        let twice = format!("{listed}# Appendix\n\nMore of it.\n\n{listed}");
        assert_eq!(bibliography_texts(&twice).len(), 2);
    }

    #[test]
    fn a_chapter_about_references_is_text() {
        let page = "# Dangling references\n\nA reference may outlive what it points at, and then \
                    nobody knows what is read through it.\n\nThe compiler finds such a thing.";
        assert!(bibliography_texts(page).is_empty());
    }
}
