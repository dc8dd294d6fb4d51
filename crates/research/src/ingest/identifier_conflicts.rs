//! Resolves identifier conflicts: no two articles may have the same identifier.

use std::collections::BTreeSet;

use deliberate_toolkit::ToolError;

use crate::articles::{
    ArticleRecord, ArticleRepository, VersionedArticle, repository::article_id_keys,
};

/// Returns the article. If it is new and another article has its identifiers by now, it is merged
/// into that one; downloading a file takes long enough for this to happen.
pub(crate) async fn merge_with_existing(
    library: ArticleRepository<'_>,
    of: VersionedArticle,
) -> Result<VersionedArticle, ToolError> {
    if of.version > 0 {
        return Ok(of);
    }
    let there = library.find_by_ids(&of.record.article).await?;
    let Some(mut there) = there else {
        return Ok(of);
    };
    deliberate_citations::merge(&mut there.record.article, &of.record.article);
    Ok(there)
}

/// Removes identifiers that another article has.
pub(crate) async fn remove_conflicting_ids(
    library: ArticleRepository<'_>,
    record: &mut ArticleRecord,
    notes: &mut Vec<String>,
) -> Result<(), ToolError> {
    remove_conflicting_ids_except(library, record, &BTreeSet::new(), notes).await
}

/// Removes identifiers that another article has, except those in `own`.
pub(crate) async fn remove_conflicting_ids_except(
    library: ArticleRepository<'_>,
    record: &mut ArticleRecord,
    own: &BTreeSet<(&'static str, String)>,
    notes: &mut Vec<String>,
) -> Result<(), ToolError> {
    let ids = article_id_keys(&record.article).filter(|it| !own.contains(it));
    for (name, value) in ids.collect::<Vec<_>>() {
        let other = library.find_by_key(name, &value).await?;
        let Some(other) = other.filter(|it| it.record.id != record.id) else {
            continue;
        };
        let article = &mut record.article;
        match name {
            "doi" => article.doi = None,
            "arxiv" => article.arxiv_id = None,
            "pmid" => article.pmid = None,
            "pmcid" => article.pmcid = None,
            "s2" => article.s2_id = None,
            _ => article.openalex_id = None,
        }
        notes.push(format!(
            "The {name} ID {value} was dropped because the article {} has it.",
            other.record.cite_key
        ));
    }
    Ok(())
}
