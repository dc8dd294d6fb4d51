//! Where a paper's bibliography is: what stands in it is neither said by the paper nor cites
//! anything.

use crate::collect::{Text, title_key};

/// Whether a heading, in the form that is compared, opens the bibliography.
pub(super) fn is_bibliography(key: &str) -> bool {
    const ENDINGS: &[&str] = &["references", "bibliography"];
    const NAMES: &[&str] = &[
        "literature cited",
        "cited literature",
        "works cited",
        "references cited",
        "references and notes",
        "literature",
    ];
    let words = key.trim_start_matches(|it: char| it.is_numeric() || it == ' ');
    ENDINGS.iter().any(|it| key.ends_with(it)) || NAMES.contains(&words)
}

/// Where it begins, in bytes of the whole.
pub(super) fn start_of(text: &Text) -> Option<usize> {
    let mut headings = text.outline.headings.iter().rev();
    let Some(heading) = headings.find(|it| is_bibliography(&title_key(&it.title))) else {
        return first_entry(text);
    };
    let page = usize::try_from(heading.page).ok()?.checked_sub(1)?;
    let offset = usize::try_from(heading.offset).ok()?;
    let before = text.pages.get(page)?.char_indices().nth(offset)?.0;
    Some(text.page_starts().get(page)? + before)
}

/// Where the first entry begins, where no heading says so.
fn first_entry(text: &Text) -> Option<usize> {
    let entry = text.outline.references.first()?;
    let page = usize::try_from(entry.page).ok()?.checked_sub(1)?;
    let beginning: String = entry.text.chars().take(20).collect();
    let before = text.pages.get(page)?.rfind(&beginning)?;
    Some(text.page_starts().get(page)? + before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bibliography_is_known_by_its_heading() {
        for heading in [
            "7 References",
            "Bibliography",
            "Literature Cited",
            "8. Literature",
        ] {
            assert!(is_bibliography(&title_key(heading)), "{heading}");
        }
        for heading in ["Literature review", "Cross-referencing", "Works"] {
            assert!(!is_bibliography(&title_key(heading)), "{heading}");
        }
    }
}
