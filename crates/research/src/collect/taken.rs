//! Ids that an article may not have because another has them: no two may have the same.

use std::collections::BTreeSet;

use deliberate_toolkit::ToolError;

use super::{Kept, Library, Version, library::ids_of};

/// The article, or, if it is not kept yet and somebody has its ids by now, the one that has them
/// with what is known of it: fetching a file takes its time.
pub(super) async fn still_new(library: Library<'_>, of: Version) -> Result<Version, ToolError> {
    if of.version > 0 {
        return Ok(of);
    }
    let there = library.of_its_ids(&of.kept.article).await?;
    let Some(mut there) = there else {
        return Ok(of);
    };
    deliberate_citations::merge(&mut there.kept.article, &of.kept.article);
    Ok(there)
}

/// Leaves out ids that another article has: no two may have the same.
pub(crate) async fn without_taken_ids(
    library: Library<'_>,
    kept: &mut Kept,
    notes: &mut Vec<String>,
) -> Result<(), ToolError> {
    without_ids_of_others(library, kept, &BTreeSet::new(), notes).await
}

/// The same; ids that are its own stay.
pub(super) async fn without_ids_of_others(
    library: Library<'_>,
    kept: &mut Kept,
    own: &BTreeSet<(&'static str, String)>,
    notes: &mut Vec<String>,
) -> Result<(), ToolError> {
    let ids = ids_of(&kept.article).filter(|it| !own.contains(it));
    for (name, value) in ids.collect::<Vec<_>>() {
        let other = library.by_key(name, &value).await?;
        let Some(other) = other.filter(|it| it.kept.id != kept.id) else {
            continue;
        };
        let article = &mut kept.article;
        match name {
            "doi" => article.doi = None,
            "arxiv" => article.arxiv_id = None,
            "pmid" => article.pmid = None,
            "pmcid" => article.pmcid = None,
            "s2" => article.s2_id = None,
            _ => article.openalex_id = None,
        }
        notes.push(format!(
            "The {name} id {value} was left out: the article {} has it.",
            other.kept.cite_key
        ));
    }
    Ok(())
}
