//! Who cites whom: what sources know of a work's citations, as one graph. What the collection's own
//! bibliographies say is not in it.

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
    /// Works; the first is the one in the middle.
    pub nodes: Vec<NetworkNode>,
    /// Who cites whom.
    pub edges: Vec<NetworkEdge>,
    /// What could not be asked, each with why.
    pub problems: Vec<String>,
    /// Who was asked and answered.
    pub answered: Vec<String>,
    /// Whether somebody could not be asked; who does not know the work could.
    #[serde(skip)]
    pub failed: bool,
}

/// A work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkNode {
    /// Its number, from 0.
    pub number: usize,
    /// How many citations it is away from the one in the middle.
    pub distance: u32,
    /// The work.
    pub article: Article,
}

/// One cites the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NetworkEdge {
    /// The one that cites, by its number.
    pub citing: usize,
    /// The one that is cited.
    pub cited: usize,
}

/// Sources that know citations.
const CITATION_SOURCES: &[&str] = &["semantic_scholar", "openalex", "europe_pmc", "crossref"];

/// How many works are told each way, and from how many of them it goes on.
const MAX_PER_DIRECTION: usize = 10;
const MAX_EXPANDED_NODES: usize = 2;

/// The graph around a work, so many citations deep.
pub async fn build_citation_network(
    lab: &ResearchServices,
    article: &Article,
    depth: u32,
) -> CitationNetwork {
    let sources: Vec<Arc<dyn PaperSource>> = CITATION_SOURCES
        .iter()
        .filter_map(|name| lab.source(name).cloned())
        .collect();
    let mut drawing = NetworkBuilder::default();
    drawing.add_node(article.clone(), 0);
    let mut from = vec![0];
    for distance in 1..=depth.clamp(1, 3) {
        let mut next = Vec::new();
        // Both ways on: what is cited is cited more than what cites, and would crowd it out.
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

/// What sources said of a work's citations.
#[derive(Default)]
struct CitationLinks {
    /// Nothing if none of them knows.
    links: Option<Vec<CitationLink>>,
    /// Whether one could not answer.
    failed: bool,
}

impl NetworkBuilder {
    /// The number of a work, which is a node from now on.
    fn add_node(&mut self, article: Article, distance: u32) -> usize {
        // Sources name works by different ids; one that two of them share is enough.
        let keys = dedup_keys(&article);
        let known = keys
            .iter()
            .find_map(|key| self.node_by_key.get(key))
            .copied();
        let number = known.unwrap_or(self.network.nodes.len());
        for key in keys {
            self.node_by_key.entry(key).or_insert(number);
        }
        // A graph says who cites whom; what the works say would only make it large.
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

    /// The works at the other ends of a work's citations.
    async fn follow(
        &mut self,
        sources: &[Arc<dyn PaperSource>],
        number: usize,
        direction: CitationDirection,
        distance: u32,
    ) -> Vec<usize> {
        let node = self.network.nodes.get(number);
        let Some(id) = node.and_then(|it| lookup_id(&it.article)) else {
            let problem =
                "a work has no identifier that sources know, so its citations can't be asked for";
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

    /// What each source says of a work's citations.
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

    /// Draws the first of these links, and says which works they reach.
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

    /// Of these the most cited that were not met nearer to the middle, from which the graph goes on.
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

/// What sources know a work by, the best first.
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
    /// Works that cite the one in the middle, or that it cites, the most cited first.
    pub fn neighbors(&self, direction: CitationDirection) -> Vec<&NetworkNode> {
        let ends = self.edges.iter().filter_map(|edge| match direction {
            CitationDirection::Citing => (edge.cited == 0).then_some(edge.citing),
            CitationDirection::Cited => (edge.citing == 0).then_some(edge.cited),
        });
        let mut nodes: Vec<&NetworkNode> = ends.filter_map(|it| self.nodes.get(it)).collect();
        nodes.sort_by_key(|it| std::cmp::Reverse(it.article.citation_count.unwrap_or(0)));
        nodes
    }

    /// Works that are cited by the same works as the one in the middle, with how many of them;
    /// known only where the graph is two deep.
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
