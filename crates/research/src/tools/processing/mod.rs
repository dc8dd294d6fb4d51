//! Tools that locate, download, and read files.

mod batch;
mod download;
mod locate;
mod metadata;
mod process;
mod validate;

use deliberate_core::Article;
use deliberate_toolkit::{ErrorCode, ToolContext, ToolError};

use super::{ToolRegistrar, rendering::custom_error};
use crate::{
    ResearchServices,
    articles::{ArticleRepository, VersionedArticle},
    ingest::metadata_lookup::look_up,
    sources::PaperId,
};

pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = || adding.services.clone();
    let (locate, download) = (locate::LocatePdf(lab()), download::DownloadPdf(lab()));
    let (process, batch) = (process::ProcessPdf(lab()), batch::BatchProcessPdfs(lab()));
    let (metadata, validate) = (
        metadata::ExtractPdfMetadata(lab()),
        validate::ValidatePdfSources(lab()),
    );
    adding
        .add_common(locate)
        .add_common(download)
        .add_common(process)
        .add_common(batch)
        .add_rare(metadata)
        .add_rare(validate)
}

/// Finds a paper by name in the collection, or by id in the sources.
async fn resolve_paper(
    services: &ResearchServices,
    call: &ToolContext,
    name: &str,
) -> Result<(Article, Option<VersionedArticle>, Vec<String>), ToolError> {
    if let Some(known) = ArticleRepository(call.store()).look_up(name).await? {
        return Ok((known.record.article.clone(), Some(known), Vec::new()));
    }
    let Some(id) = PaperId::parse(name) else {
        return Err(custom_error(
            ErrorCode::ArticleNotFound,
            format!(
                "{:?} is neither an article of the collection nor a DOI, arXiv id or other known id",
                deliberate_core::truncate_chars(name, 200)
            ),
            "search_papers finds papers and their ids by title.",
        ));
    };
    let found = look_up(services, &id).await;
    let article = found.article.unwrap_or_else(|| article_from_id(&id));
    Ok((article, None, found.notes))
}

/// An article of which only the id is known.
fn article_from_id(id: &PaperId) -> Article {
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
