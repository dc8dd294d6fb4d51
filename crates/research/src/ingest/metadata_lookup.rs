//! What the sources know of a paper that is named by an id: all that know such names are asked at
//! once, and what they say is put together. Who could not answer is told, and is no reason to fail.

use std::{sync::Arc, time::Duration};

use deliberate_core::Article;
use futures::future::join_all;

use crate::{
    ResearchServices,
    http::HttpClientError,
    sources::{PaperId, PaperSource},
};

/// The longest a source is waited for.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);

/// What the sources know.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MetadataLookup {
    /// The paper, if any of them knows it.
    pub(crate) article: Option<Article>,
    /// Who could not answer, and why.
    pub(crate) notes: Vec<String>,
    /// Whether anyone answered at all.
    pub(crate) answered: bool,
}

/// Asks for the paper of that id.
pub(crate) async fn look_up(lab: &ResearchServices, id: &PaperId) -> MetadataLookup {
    let sources = sources_for_id(lab, id);
    if sources.is_empty() {
        return MetadataLookup {
            notes: vec!["No source that knows such ids may be asked.".to_owned()],
            ..MetadataLookup::default()
        };
    }
    let asked = sources.iter().map(|source| async {
        let name = source.info().name;
        let told = tokio::time::timeout(LOOKUP_TIMEOUT, source.look_up(id)).await;
        (name, told)
    });
    let mut all = MetadataLookup::default();
    for (name, told) in join_all(asked).await {
        match told {
            Ok(Ok(Some(found))) => all.add(found),
            Ok(Ok(None) | Err(HttpClientError::NotFound { .. })) => all.answered = true,
            Ok(Err(error)) => all.notes.push(format!("{name}: {error}.")),
            Err(_) => all.notes.push(format!(
                "{name}: no answer within {} s.",
                LOOKUP_TIMEOUT.as_secs()
            )),
        }
    }
    all
}

impl MetadataLookup {
    fn add(&mut self, found: Article) {
        self.answered = true;
        match &mut self.article {
            Some(known) => deliberate_citations::merge(known, &found),
            None => self.article = Some(found),
        }
    }
}

/// Those who know such names, the most trusted first.
fn sources_for_id<'a>(lab: &'a ResearchServices, id: &PaperId) -> Vec<&'a Arc<dyn PaperSource>> {
    let names: &[&str] = match id {
        PaperId::Doi(doi) if is_rxiv(doi.as_str()) => &[
            "biorxiv",
            "medrxiv",
            "crossref",
            "openalex",
            "semantic_scholar",
        ],
        PaperId::Doi(_) => &["crossref", "openalex", "semantic_scholar"],
        PaperId::Arxiv(_) => &["arxiv", "semantic_scholar", "openalex"],
        PaperId::Pubmed(_) => &["pubmed", "europe_pmc"],
        PaperId::Pmc(_) => &["europe_pmc", "pubmed"],
        PaperId::SemanticScholar(_) => &["semantic_scholar"],
        PaperId::OpenAlex(_) => &["openalex"],
    };
    names.iter().filter_map(|name| lab.source(name)).collect()
}

fn is_rxiv(doi: &str) -> bool {
    doi.starts_with("10.1101/") || doi.starts_with("10.64898/")
}

/// The best id of a work, to look it up by.
pub(crate) fn best_id(article: &Article) -> Option<PaperId> {
    let doi = article.doi.clone().map(PaperId::Doi);
    let arxiv = article.arxiv_id.clone().map(PaperId::Arxiv);
    let pubmed = article.pmid.clone().map(PaperId::Pubmed);
    let pmc = article.pmcid.clone().map(PaperId::Pmc);
    let s2 = article.s2_id.clone().map(PaperId::SemanticScholar);
    let openalex = article.openalex_id.clone().map(PaperId::OpenAlex);
    doi.or(arxiv).or(pubmed).or(pmc).or(s2).or(openalex)
}
