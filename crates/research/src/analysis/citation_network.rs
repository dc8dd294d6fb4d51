//! Citation network of a work, from what sources know about its citations. The bibliographies in
//! the collection are not part of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use deliberate_core::{Article, truncate_chars};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResearchServices,
    discovery::search::dedup_keys,
    http::HttpClientError,
    sources::{CitationDirection, CitationLink, PaperId, PaperSource},
};

/// A graph of citations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CitationNetwork {
    /// Works; the first is the center
    pub nodes: Vec<NetworkNode>,
    pub edges: Vec<NetworkEdge>,
    /// Failed requests, with reasons
    pub problems: Vec<String>,
    /// Sources that answered
    pub answered: Vec<String>,
    /// Whether a request failed. A source that does not know the work has not failed.
    #[serde(skip)]
    pub failed: bool,
}

/// A work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkNode {
    /// From 0
    pub number: usize,
    /// Citations between it and the center
    pub distance: u32,
    pub article: Article,
}

/// A citation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NetworkEdge {
    /// Number of the citing work
    pub citing: usize,
    /// Number of the cited work
    pub cited: usize,
}

/// Works that are added in each direction, and works from which the network is expanded.
const MAX_PER_DIRECTION: usize = 10;
const MAX_EXPANDED_NODES: usize = 2;

/// Builds the network around a work, `depth` citations deep.
pub async fn build_citation_network(
    services: &ResearchServices,
    article: &Article,
    depth: u32,
) -> CitationNetwork {
    let sources = services
        .sources()
        .iter()
        .filter(|it| it.has_citation_links());
    let sources: Vec<Arc<dyn PaperSource>> = sources.cloned().collect();
    let mut drawing = NetworkBuilder::default();
    drawing.add_node(article.clone(), 0);
    let mut from = vec![0];
    for distance in 1..=depth.clamp(1, 3) {
        let mut next = Vec::new();
        // Each direction is expanded separately: cited works have more citations than citing ones
        // and would crowd them out.
        for direction in [CitationDirection::Citing, CitationDirection::Cited] {
            let mut reached = Vec::new();
            for number in &from {
                reached.extend(drawing.follow(&sources, *number, direction, distance).await);
            }
            next.extend(drawing.most_cited(reached, distance));
        }
        from = next;
    }
    drawing.network.edges = drawing.edges.into_iter().collect();
    drawing.network.problems.sort();
    drawing.network.problems.dedup();
    drawing.network.answered = drawing.answered_sources.into_iter().collect();
    drawing.network
}

#[derive(Default)]
struct NetworkBuilder {
    network: CitationNetwork,
    node_by_key: BTreeMap<String, usize>,
    edges: BTreeSet<NetworkEdge>,
    answered_sources: BTreeSet<String>,
}

/// Answers of the sources about the citations of a work.
#[derive(Default)]
struct CitationLinks {
    /// `None` if no source knows.
    links: Option<Vec<CitationLink>>,
    /// Whether a source failed.
    failed: bool,
}

impl NetworkBuilder {
    /// Adds a work unless it is already a node, and returns its number.
    fn add_node(&mut self, article: Article, distance: u32) -> usize {
        // Sources use different ids for a work; one shared id is enough.
        let keys = dedup_keys(&article);
        let known = keys
            .iter()
            .find_map(|key| self.node_by_key.get(key))
            .copied();
        let number = known.unwrap_or(self.network.nodes.len());
        for key in keys {
            self.node_by_key.entry(key).or_insert(number);
        }
        // The network only shows citations; abstracts would make it large.
        let article = Article {
            summary: None,
            ..article
        };
        match self.network.nodes.get_mut(number) {
            Some(node) => deliberate_citations::merge(&mut node.article, &article),
            None => self.network.nodes.push(NetworkNode {
                number,
                distance,
                article,
            }),
        }
        number
    }

    /// Adds the works that a work cites or that cite it, and returns their numbers.
    async fn follow(
        &mut self,
        sources: &[Arc<dyn PaperSource>],
        number: usize,
        direction: CitationDirection,
        distance: u32,
    ) -> Vec<usize> {
        let node = self.network.nodes.get(number);
        let Some(id) = node.and_then(|it| lookup_id(&it.article)) else {
            let problem = "a work has no identifier that the sources know, so its citations cannot be looked up";
            self.network.problems.push(problem.to_owned());
            return Vec::new();
        };
        let CitationLinks { links, failed } = self.query_sources(sources, &id, direction).await;
        self.network.failed |= failed;
        if links.is_none() {
            self.note_unanswered(number, direction, failed);
        }
        let mut links = links.unwrap_or_default();
        links.sort_by_key(|it| std::cmp::Reverse(it.article.citation_count.unwrap_or(0)));
        self.connect(number, links, direction, distance)
    }

    /// Asks each source for the citations of a work.
    async fn query_sources(
        &mut self,
        sources: &[Arc<dyn PaperSource>],
        id: &PaperId,
        direction: CitationDirection,
    ) -> CitationLinks {
        let answers = sources.iter().map(|source| async move {
            let links = source
                .citation_links(id, direction, MAX_PER_DIRECTION * 3)
                .await;
            (source.info(), links)
        });
        let mut asked = CitationLinks::default();
        for (about, answer) in join_all(answers).await {
            match answer {
                Ok(Some(found)) => {
                    self.answered_sources.insert(about.name);
                    asked.links.get_or_insert_default().extend(found);
                }
                Ok(None) | Err(HttpClientError::NotFound { .. }) => {}
                Err(error) => {
                    asked.failed = true;
                    let problem = format!("{}: {error}", about.title);
                    self.network.problems.push(problem);
                }
            }
        }
        asked
    }

    fn note_unanswered(&mut self, number: usize, direction: CitationDirection, failed: bool) {
        let node = self.network.nodes.get(number);
        let title = node.map_or("", |it| it.article.title.as_str());
        let title = truncate_chars(title, 100);
        let what = match direction {
            CitationDirection::Citing => "what cites",
            CitationDirection::Cited => "what is cited by",
        };
        let could = if failed { "could say" } else { "knows" };
        let problem = format!("no source {could} {what} {title:?}");
        self.network.problems.push(problem);
    }

    /// Adds the first of these links as edges and returns the works that they reach.
    fn connect(
        &mut self,
        number: usize,
        links: Vec<CitationLink>,
        direction: CitationDirection,
        distance: u32,
    ) -> Vec<usize> {
        let mut reached: Vec<usize> = Vec::new();
        for link in links {
            if reached.len() >= MAX_PER_DIRECTION {
                break;
            }
            let other = self.add_node(link.article, distance);
            if other == number || reached.contains(&other) {
                continue;
            }
            reached.push(other);
            let (citing, cited) = match direction {
                CitationDirection::Citing => (other, number),
                CitationDirection::Cited => (number, other),
            };
            self.edges.insert(NetworkEdge { citing, cited });
        }
        reached
    }

    /// The most cited of these works that are not closer to the center; the network expands from
    /// them.
    fn most_cited(&self, mut numbers: Vec<usize>, distance: u32) -> Vec<usize> {
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|number| {
            let node = self.network.nodes.get(*number);
            node.is_some_and(|it| it.distance == distance && lookup_id(&it.article).is_some())
        });
        let count = |number: &usize| {
            let node = self.network.nodes.get(*number);
            std::cmp::Reverse(node.and_then(|it| it.article.citation_count).unwrap_or(0))
        };
        numbers.sort_by_key(count);
        numbers.truncate(MAX_EXPANDED_NODES);
        numbers
    }
}

/// The best id of a work for requests to sources.
pub(crate) fn lookup_id(article: &Article) -> Option<PaperId> {
    let doi = article.doi.clone().map(PaperId::Doi);
    let arxiv = article.arxiv_id.clone().map(PaperId::Arxiv);
    let s2 = article.s2_id.clone().map(PaperId::SemanticScholar);
    let openalex = article.openalex_id.clone().map(PaperId::OpenAlex);
    let pmid = article.pmid.clone().map(PaperId::Pubmed);
    let pmc = article.pmcid.clone().map(PaperId::Pmc);
    doi.or(arxiv).or(s2).or(openalex).or(pmid).or(pmc)
}

impl CitationNetwork {
    /// Works that cite the center or that it cites, most cited first.
    pub fn neighbors(&self, direction: CitationDirection) -> Vec<&NetworkNode> {
        let ends = self.edges.iter().filter_map(|edge| match direction {
            CitationDirection::Citing => (edge.cited == 0).then_some(edge.citing),
            CitationDirection::Cited => (edge.citing == 0).then_some(edge.cited),
        });
        let mut nodes: Vec<&NetworkNode> = ends.filter_map(|it| self.nodes.get(it)).collect();
        nodes.sort_by_key(|it| std::cmp::Reverse(it.article.citation_count.unwrap_or(0)));
        nodes
    }

    /// Works that are cited together with the center, with the number of works that cite both;
    /// needs a network two citations deep.
    pub fn co_cited(&self) -> Vec<(&NetworkNode, usize)> {
        let citing: BTreeSet<usize> = self
            .edges
            .iter()
            .filter(|it| it.cited == 0)
            .map(|it| it.citing)
            .collect();
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for edge in self
            .edges
            .iter()
            .filter(|it| it.cited != 0 && citing.contains(&it.citing))
        {
            *counts.entry(edge.cited).or_default() += 1;
        }
        let mut all: Vec<(&NetworkNode, usize)> = counts
            .into_iter()
            .filter_map(|(number, many)| Some((self.nodes.get(number)?, many)))
            .collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.1));
        all
    }
}
