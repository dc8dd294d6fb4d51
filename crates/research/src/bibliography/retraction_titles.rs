//! Retractions that are marked in the title of a work.

use deliberate_core::Article;

/// Prefixes that publishers add to the title of a retracted work.
const RETRACTION_PREFIXES: &[&str] = &[
    "retracted article:",
    "article retracted:",
    "retracted:",
    "retracted -",
    "[retracted]",
    "withdrawn:",
];

/// Removes such a prefix from the title and marks the work as retracted.
pub(super) fn strip_retraction_prefix(mut work: Article) -> Article {
    let title = work.title.trim();
    let mark = RETRACTION_PREFIXES.iter().find_map(|mark| {
        let start = title.get(..mark.len())?;
        start.eq_ignore_ascii_case(mark).then_some(mark.len())
    });
    if let Some(rest) = mark.and_then(|it| title.get(it..)) {
        work.title = rest.trim().to_owned();
        work.retracted = Some(true);
    }
    work
}
