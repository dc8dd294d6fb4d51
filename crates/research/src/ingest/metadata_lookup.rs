//! Looks up a paper's metadata by its identifier: asks all sources for such identifiers
//! concurrently and merges their records. A failed source is reported and does not fail the lookup.

use std::{sync::Arc, time::Duration};

use deliberate_core::Article;
use futures::future::join_all;

use crate::{
    ResearchServices,
    http::HttpClientError,
    sources::{PaperId, PaperSource, rank_sources},
};

const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);

/// The merged answer of the sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MetadataLookup {
    pub(crate) article: Option<Article>,
    /// The sources that failed, with the reasons.
    pub(crate) notes: Vec<String>,
    /// Whether any source answered.
    pub(crate) answered: bool,
}

/// Looks up the paper with this identifier.
pub(crate) async fn look_up(lab: &ResearchServices, id: &PaperId) -> MetadataLookup {
    let sources = sources_for_id(lab, id);
    if sources.is_empty() {
        return MetadataLookup {
            notes: vec!["No enabled source knows such IDs.".to_owned()],
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
                "{name}: no response within {} s.",
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

/// The sources for such identifiers, the most trusted first.
fn sources_for_id<'a>(
    services: &'a ResearchServices,
    id: &PaperId,
) -> Vec<&'a Arc<dyn PaperSource>> {
    rank_sources(services.sources(), |it| it.metadata_rank(id))
}

/// The identifier that is best for looking up a work.
pub(crate) fn best_id(article: &Article) -> Option<PaperId> {
    let doi = article.doi.clone().map(PaperId::Doi);
    let arxiv = article.arxiv_id.clone().map(PaperId::Arxiv);
    let pubmed = article.pmid.clone().map(PaperId::Pubmed);
    let pmc = article.pmcid.clone().map(PaperId::Pmc);
    let s2 = article.s2_id.clone().map(PaperId::SemanticScholar);
    let openalex = article.openalex_id.clone().map(PaperId::OpenAlex);
    doi.or(arxiv).or(pubmed).or(pmc).or(s2).or(openalex)
}
