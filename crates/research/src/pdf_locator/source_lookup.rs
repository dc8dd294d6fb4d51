//! Who is asked about a paper, under which of its names, and in which order they are believed.

use std::sync::Arc;

use deliberate_core::Article;
use futures::FutureExt as _;

use super::SourceLookupFuture;
use crate::sources::{PaperId, PaperSource};

/// Those who are believed first; others follow. Names are compared by their letters alone.
const SOURCE_PRIORITY: &[&str] = &["crossref", "semanticscholar", "openalex", "europepmc"];

/// Asks all who know the paper under some name.
pub(super) fn query_sources<'a>(
    sources: &'a [Arc<dyn PaperSource>],
    article: &Article,
) -> Vec<SourceLookupFuture<'a>> {
    let mut asked: Vec<(usize, String, PaperId, &'a Arc<dyn PaperSource>)> = Vec::new();
    for source in sources {
        let name = source.info().name;
        let letters = normalize_source_name(&name);
        // Where arXiv's files are is known without asking.
        if letters == "arxiv" || !has_pdf_locations(&name) {
            continue;
        }
        if let Some(id) = paper_id_for(&letters, article) {
            let rank = SOURCE_PRIORITY.iter().position(|it| *it == letters);
            asked.push((rank.unwrap_or(SOURCE_PRIORITY.len()), name, id, source));
        }
    }
    asked.sort_by_key(|(rank, ..)| *rank);
    let ask = |(_, name, id, source): (usize, String, PaperId, &'a Arc<dyn PaperSource>)| {
        async move { (name, source.open_pdfs(&id).await) }.boxed()
    };
    asked.into_iter().map(ask).collect()
}

/// Whether a source knows where PDFs are: PubMed has records alone.
pub(crate) fn has_pdf_locations(source: &str) -> bool {
    normalize_source_name(source) != "pubmed"
}

/// A source's name as it is compared: people write `Semantic Scholar`, `semantic-scholar` and
/// `arXiv`.
pub(crate) fn normalize_source_name(name: &str) -> String {
    let joins = |it: char| it.is_whitespace() || matches!(it, '-' | '_');
    let letters = name.chars().filter(|it| !joins(*it));
    letters.flat_map(char::to_lowercase).collect()
}

/// The name that a source knows the paper best by.
fn paper_id_for(source: &str, article: &Article) -> Option<PaperId> {
    let doi = article.doi.clone().map(PaperId::Doi);
    let arxiv = article.arxiv_id.clone().map(PaperId::Arxiv);
    let pubmed = article.pmid.clone().map(PaperId::Pubmed);
    let pmc = article.pmcid.clone().map(PaperId::Pmc);
    match source {
        "crossref" => doi,
        "semanticscholar" => {
            let own = article.s2_id.clone().map(PaperId::SemanticScholar);
            own.or(doi).or(arxiv).or(pubmed)
        }
        "openalex" => {
            let own = article.openalex_id.clone().map(PaperId::OpenAlex);
            own.or(doi).or(pubmed)
        }
        "europepmc" => pmc.or(pubmed).or(doi),
        _ => doi.or(arxiv).or(pubmed).or(pmc),
    }
}
