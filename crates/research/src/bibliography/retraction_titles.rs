//! Works that say in their titles that they were taken back.

use deliberate_core::Article;

/// What publishers write before the title of a work that was taken back.
const RETRACTION_PREFIXES: &[&str] = &[
    "retracted article:",
    "article retracted:",
    "retracted:",
    "retracted -",
    "[retracted]",
    "withdrawn:",
];

/// The work without such words, which are remembered as what they mean.
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
