//! From a name to a text: where an open PDF is, fetching it, reading files.

mod batch;
mod download;
mod locate;
mod metadata;
mod process;
mod validate;

use deliberate_core::Article;
use deliberate_toolkit::{Call, ToolError};

use super::{Adding, shown::told};
use crate::{
    Lab,
    collect::{Library, Version, enrich::look_up},
    sources::PaperId,
};

pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
    let lab = || adding.lab.clone();
    let (locate, download) = (locate::LocatePdf(lab()), download::DownloadPdf(lab()));
    let (process, batch) = (process::ProcessPdf(lab()), batch::BatchProcessPdfs(lab()));
    let (metadata, validate) = (
        metadata::ExtractPdfMetadata(lab()),
        validate::ValidatePdfSources(lab()),
    );
    adding
        .common(locate)
        .common(download)
        .common(process)
        .common(batch)
        .rare(metadata)
        .rare(validate)
}

/// The paper of that name: an article of the collection, or what the sources know under the id.
async fn paper(
    lab: &Lab,
    call: &Call,
    name: &str,
) -> Result<(Article, Option<Version>, Vec<String>), ToolError> {
    if let Some(known) = Library(call.store()).look_up(name).await? {
        return Ok((known.kept.article.clone(), Some(known), Vec::new()));
    }
    let Some(id) = PaperId::parse(name) else {
        return Err(told(
            "ArticleNotFound",
            format!(
                "{:?} is neither an article of the collection nor a DOI, arXiv id or other id",
                deliberate_core::cut_to_chars(name, 200)
            ),
            "search_papers finds papers by their titles, with their ids.",
        ));
    };
    let found = look_up(lab, &id).await;
    let article = found.article.unwrap_or_else(|| by_id(&id));
    Ok((article, None, found.notes))
}

/// All that is known of a paper by its id alone.
fn by_id(id: &PaperId) -> Article {
    let mut article = Article::default();
    match id {
        PaperId::Doi(doi) => article.doi = Some(doi.clone()),
        PaperId::Arxiv(id) => article.arxiv_id = Some(id.clone()),
        PaperId::Pubmed(id) => article.pmid = Some(id.clone()),
        PaperId::Pmc(id) => article.pmcid = Some(id.clone()),
        PaperId::SemanticScholar(id) => article.s2_id = Some(id.clone()),
        PaperId::OpenAlex(id) => article.openalex_id = Some(id.clone()),
    }
    article
}
