//! Works that a citation may mean although too few of its details match.

use deliberate_citations::same_work::Difference;
use deliberate_core::Article;

/// Describes a work with the cited title: its authors and year.
pub(super) fn near_match_reason(work: &Article, differs: &[Difference]) -> String {
    let nearly = if differs.iter().any(|it| it.field == "title") {
        "nearly "
    } else {
        ""
    };
    let names: Vec<&str> = work.authors.iter().map(|it| it.family.as_str()).collect();
    let who = match names.as_slice() {
        [] => "unknown authors".to_owned(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} & {other}"),
        [first, ..] => format!("{first} et al."),
    };
    let year = work.year().map(|it| format!(", {it}")).unwrap_or_default();
    format!(
        "a work with {nearly}this title, {:?}, is by {who}{year}; the citation may mean that one",
        work.title
    )
}
