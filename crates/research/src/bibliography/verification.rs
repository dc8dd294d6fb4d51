//! Verification of a citation: the work exists, its title, authors, and year are right, and it is
//! not retracted. A source that could not be asked makes the result unknown, never wrong.

use std::{collections::BTreeSet, sync::Arc};

use deliberate_citations::{
    MissingField, missing_fields,
    same_work::{Difference, SameWorkDecision, SameWorkVerdict, decide_same_work, similarity},
};
use deliberate_core::{Article, truncate_chars};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{near_match::near_match_reason, retraction_titles::strip_retraction_prefix};
use crate::{
    ResearchServices,
    discovery::search::{PaperSearchOptions, SourceReport, search},
    http::HttpClientError,
    ingest::metadata_lookup::look_up,
    sources::{
        PaperId, PaperNotice, PaperNoticeKind, PaperOrder, PaperQuery, PaperSource, rank_sources,
    },
};

/// Result of checking a citation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CitationCheck {
    pub status: CitationStatus,
    /// The citation as given
    pub given: Article,
    /// The work, as sources describe it
    pub found: Option<Article>,
    /// If not found: a work with that title, which may be meant
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Article>,
    /// Similarity, 0 to 1
    pub likeness: f32,
    pub differences: Vec<Difference>,
    /// Corrections and retractions
    pub notices: Vec<PaperNotice>,
    /// Retracted or withdrawn; absent unless every source that could know was asked
    pub retracted: Option<bool>,
    /// Fields that a complete citation needs
    pub missing: Vec<MissingField>,
    /// Why it is not verified, and failed requests
    pub reasons: Vec<String>,
}

/// Status of a checked citation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CitationStatus {
    /// The work exists and the citation is right.
    Verified,
    /// The work exists, but details of the citation are wrong.
    Differs,
    /// The DOI or other id belongs to another work.
    WrongIdentifier,
    /// No source that answered knows the work.
    NotFound,
    /// Not enough sources answered, or the citation has nothing to search for.
    Unknown,
}

impl CitationStatus {
    /// Readable name.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Differs => "exists, but differs",
            Self::WrongIdentifier => "its identifier belongs to another work",
            Self::NotFound => "not found",
            Self::Unknown => "unknown: it could not be checked",
        }
    }
}

/// Works with the title that are compared, and characters of the title in the query.
const MAX_CANDIDATES: usize = 10;
const MAX_TITLE_CHARS: usize = 400;

/// Checks a citation against the sources.
pub async fn check_citation(lab: &ResearchServices, given: &Article) -> CitationCheck {
    let mut checked = CitationCheck {
        status: CitationStatus::Unknown,
        given: without_abstract(given.clone()),
        found: None,
        near: None,
        likeness: 0.0,
        differences: Vec::new(),
        notices: Vec::new(),
        retracted: None,
        missing: missing_fields(given),
        reasons: Vec::new(),
    };
    let named = look_up_ids(lab, given, &mut checked).await;
    match named.matched.clone() {
        Some((id, found)) => compare_found(&mut checked, given, found, &id, &named),
        None => check_by_title(lab, given, &named, &mut checked).await,
    }
    let is_meant = match checked.status {
        CitationStatus::WrongIdentifier => find_intended_work(lab, given, &mut checked).await,
        _ => true,
    };
    // Retractions of a different work say nothing about this one.
    if let Some(found) = checked.found.clone().filter(|_| is_meant) {
        check_retractions(lab, &found, &mut checked).await;
    }
    if given.retracted == Some(true) {
        checked.retracted = given.retracted;
    }
    dedup_reasons(lab, &mut checked.reasons);
    checked
}

/// Keeps only one reason per source that failed several requests.
fn dedup_reasons(services: &ResearchServices, reasons: &mut Vec<String>) {
    let names: Vec<String> = lookup_sources(services)
        .iter()
        .map(|it| it.info().name)
        .collect();
    let mut told = BTreeSet::new();
    reasons.retain(|reason| {
        let first = reason.split([' ', ':']).next().unwrap_or("");
        !names.iter().any(|it| it == first) || told.insert(first.to_owned())
    });
}

/// Removes the abstract, which is irrelevant to the check.
fn without_abstract(article: Article) -> Article {
    Article {
        summary: None,
        ..article
    }
}

fn paper_ids(article: &Article) -> Vec<PaperId> {
    let ids = [
        article.doi.clone().map(PaperId::Doi),
        article.arxiv_id.clone().map(PaperId::Arxiv),
        article.pmid.clone().map(PaperId::Pubmed),
        article.pmcid.clone().map(PaperId::Pmc),
        article.s2_id.clone().map(PaperId::SemanticScholar),
        article.openalex_id.clone().map(PaperId::OpenAlex),
    ];
    ids.into_iter().flatten().collect()
}

fn lookup_sources(services: &ResearchServices) -> Vec<Arc<dyn PaperSource>> {
    let ranked = rank_sources(services.sources(), |it| it.citation_check_rank());
    ranked.into_iter().cloned().collect()
}

/// Result of looking up the ids of a citation.
#[derive(Default)]
struct IdLookup {
    /// The work, and the id that led to it.
    matched: Option<(PaperId, Article)>,
    /// Ids that were tried before and that no answering source knows.
    unconfirmed: Vec<PaperId>,
    /// Whether a source failed to look up one of those.
    is_incomplete: bool,
}

/// Looks up the ids in turn until one leads to a work.
async fn look_up_ids(
    services: &ResearchServices,
    given: &Article,
    checked: &mut CitationCheck,
) -> IdLookup {
    let mut named = IdLookup::default();
    for id in paper_ids(given) {
        let answer = look_up(services, &id).await;
        let failed = !answer.notes.is_empty();
        checked.reasons.extend(answer.notes);
        if let Some(article) = answer.article {
            named.matched = Some((id, article));
            break;
        }
        named.is_incomplete |= failed;
        named.unconfirmed.push(id);
    }
    named
}

impl IdLookup {
    /// Decides the status for a work that was found: its details must match, and the ids must be
    /// its own.
    fn decide_status(
        &self,
        work: &Article,
        differs: &[Difference],
        checked: &mut CitationCheck,
    ) -> CitationStatus {
        let unconfirmed = self.unconfirmed.iter().find(|id| !has_id(work, id));
        if let Some(id) = unconfirmed {
            let why = format!("no source that answered knows {}", describe_id(id));
            checked.reasons.insert(0, why);
        }
        match unconfirmed {
            _ if !differs.is_empty() => CitationStatus::Differs,
            None => CitationStatus::Verified,
            Some(_) if self.is_incomplete => CitationStatus::Unknown,
            Some(_) => CitationStatus::Differs,
        }
    }
}

fn has_id(work: &Article, id: &PaperId) -> bool {
    let arxivs = match id {
        PaperId::Doi(doi) => doi.arxiv_id(),
        _ => None,
    };
    paper_ids(work).contains(id) || arxivs.is_some() && arxivs == work.arxiv_id
}

/// Compares the citation with the work that its id leads to.
fn compare_found(
    checked: &mut CitationCheck,
    article: &Article,
    found: Article,
    by: &PaperId,
    lookup: &IdLookup,
) {
    let found = strip_retraction_prefix(found);
    let given = strip_retraction_prefix(article.clone());
    let mut like = similarity(&given, &found);
    like.differs
        .retain(|it| !is_alternate_id(&given, &found, by, it));
    let nameless = given.title.trim().is_empty();
    checked.status = if !nameless && like.title < SAME_TITLE {
        checked
            .reasons
            .insert(0, format!("the identifier leads to {:?}", found.title));
        CitationStatus::WrongIdentifier
    } else {
        lookup.decide_status(&found, &like.differs, checked)
    };
    if nameless {
        // The citation gave only an id, so its own fields cannot be called missing.
        checked.missing = missing_fields(&found);
    }
    let alone = nameless && checked.status == CitationStatus::Verified;
    checked.likeness = if alone { 1.0 } else { like.score };
    checked.differences = like.differs;
    checked.found = Some(without_abstract(found));
}

/// Whether the difference is only an alternative id: the given one led to the work, although its
/// record prefers another, such as that of the preprint or of an earlier version.
fn is_alternate_id(article: &Article, found: &Article, by: &PaperId, it: &Difference) -> bool {
    match it.field.as_str() {
        "doi" => article
            .doi
            .clone()
            .map(PaperId::Doi)
            .is_some_and(|doi| doi == *by || has_id(found, &doi)),
        "arxiv_id" => matches!(by, PaperId::Arxiv(_)),
        _ => false,
    }
}

/// Less similar titles belong to different works.
const SAME_TITLE: f32 = 0.8;

/// Searches for works with the title and decides which of them is meant.
async fn search_by_title(
    services: &ResearchServices,
    article: &Article,
    checked: &mut CitationCheck,
) -> (Option<Article>, SameWorkDecision) {
    let given = strip_retraction_prefix(article.clone());
    let query = PaperQuery {
        words: truncate_chars(&given.title, MAX_TITLE_CHARS),
        limit: MAX_CANDIDATES,
        order: PaperOrder::Relevance,
        ..PaperQuery::default()
    };
    let found = search(
        &lookup_sources(services),
        &query,
        &PaperSearchOptions::with_limit(MAX_CANDIDATES),
    )
    .await;
    let problems = found.reports.iter().filter_map(SourceReport::problem);
    checked.reasons.extend(problems);
    let candidates = found.papers.into_iter();
    let candidates: Vec<Article> = candidates
        .map(|it| without_abstract(strip_retraction_prefix(it.article)))
        .collect();
    let decision = decide_same_work(&given, &candidates);
    let best = decision.best.and_then(|at| candidates.get(at)).cloned();
    (best, decision)
}

fn is_same_work(decision: &SameWorkDecision) -> bool {
    matches!(
        decision.verdict,
        SameWorkVerdict::Same | SameWorkVerdict::Probably
    )
}

/// Searches for the intended work of a citation with a wrong identifier; whether it was found.
async fn find_intended_work(
    services: &ResearchServices,
    article: &Article,
    checked: &mut CitationCheck,
) -> bool {
    let (best, decision) = search_by_title(services, article, checked).await;
    let Some(best) = best.filter(|_| is_same_work(&decision)) else {
        return false;
    };
    checked.likeness = decision.likeness.score;
    checked.differences = decision.likeness.differs;
    checked.found = Some(best);
    true
}

/// Checks a citation by its title, because no id led to a work.
async fn check_by_title(
    services: &ResearchServices,
    article: &Article,
    lookup: &IdLookup,
    checked: &mut CitationCheck,
) {
    if article.title.trim().is_empty() {
        if paper_ids(article).is_empty() {
            let why = "nothing to search for: the citation has neither an identifier nor a title";
            checked.reasons.push(why.to_owned());
        } else if !lookup.is_incomplete {
            checked.status = CitationStatus::NotFound;
            checked
                .reasons
                .push("no source knows the identifier, and there is no title".to_owned());
        }
        return;
    }
    let (best, decision) = search_by_title(services, article, checked).await;
    checked.likeness = decision.likeness.score;
    let Some(best) = best else {
        checked.status = not_found_status(checked);
        return;
    };
    let differs = decision.likeness.differs.as_slice();
    if is_same_work(&decision) {
        checked.status = lookup.decide_status(&best, differs, checked);
        checked.found = Some(best);
    } else {
        checked.status = not_found_status(checked);
        checked.reasons.insert(0, near_match_reason(&best, differs));
        checked.near = Some(best);
    }
    checked.differences = decision.likeness.differs;
}

/// The status if nothing was found: unknown if a source failed, because it may know the work.
fn not_found_status(checked: &CitationCheck) -> CitationStatus {
    if checked.reasons.is_empty() {
        CitationStatus::NotFound
    } else {
        CitationStatus::Unknown
    }
}

fn describe_id(id: &PaperId) -> String {
    match id {
        PaperId::Doi(doi) => format!("the DOI {doi}"),
        PaperId::Arxiv(id) => format!("the arXiv id {id}"),
        PaperId::Pubmed(id) => format!("the PubMed id {id}"),
        PaperId::Pmc(id) | PaperId::SemanticScholar(id) | PaperId::OpenAlex(id) => {
            format!("the id {id}")
        }
    }
}

/// Looks up retractions and corrections. Sources know different ones, so all are asked.
async fn check_retractions(
    services: &ResearchServices,
    found: &Article,
    checked: &mut CitationCheck,
) {
    let mut retracted = found.retracted;
    let mut all_asked = true;
    if let Some(id) = paper_ids(found).first() {
        let sources = lookup_sources(services);
        let asked = sources
            .iter()
            .map(|source| async move { (source.info().title, source.notices(id).await) });
        for (name, answer) in join_all(asked).await {
            match answer {
                Ok(Some(notices)) => {
                    retracted.get_or_insert(false);
                    checked.notices.extend(notices);
                }
                Ok(None) | Err(HttpClientError::NotFound { .. }) => {}
                Err(error) => {
                    all_asked = false;
                    let why = format!("retractions by {name}: {error}");
                    checked.reasons.push(why);
                }
            }
        }
    }
    let taken_back = |it: &PaperNotice| {
        matches!(
            it.kind,
            PaperNoticeKind::Retraction | PaperNoticeKind::Withdrawal
        )
    };
    if checked.notices.iter().any(taken_back) {
        retracted = Some(true);
    }
    // A source that failed may know of a retraction.
    checked.retracted = retracted.filter(|it| *it || all_asked);
}
