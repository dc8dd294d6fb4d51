//! Whether a citation is what it says: the work exists, is called so, is by them, of that year, and
//! still stands. Sources that could not be asked make it unknown, never wrong.

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
    sources::{PaperId, PaperNotice, PaperNoticeKind, PaperOrder, PaperQuery, PaperSource},
};

/// What a check came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CitationCheck {
    /// In one word.
    pub status: CitationStatus,
    /// As it was given.
    pub given: Article,
    /// The work that was found, as sources describe it.
    pub found: Option<Article>,
    /// Where none was found: a work of that title, which may be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Article>,
    /// How like the two are, 0 to 1.
    pub likeness: f32,
    /// In what they differ.
    pub differences: Vec<Difference>,
    /// Corrections, retractions.
    pub notices: Vec<PaperNotice>,
    /// Whether it was retracted or withdrawn; absent unless all who could know it were asked.
    pub retracted: Option<bool>,
    /// What a whole citation of it would need.
    pub missing: Vec<MissingField>,
    /// Why it is not verified, and what could not be asked.
    pub reasons: Vec<String>,
}

/// A check in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CitationStatus {
    /// It exists and is what is said of it.
    Verified,
    /// It exists, and some of what is said of it is wrong.
    Differs,
    /// Its DOI or other id is another work's.
    WrongIdentifier,
    /// No source that answered knows it.
    NotFound,
    /// Not enough sources could be asked, or there is nothing to ask for.
    Unknown,
}

impl CitationStatus {
    /// In words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Differs => "exists, but differs",
            Self::WrongIdentifier => "its identifier is another work's",
            Self::NotFound => "not found",
            Self::Unknown => "unknown: it could not be checked",
        }
    }
}

/// Sources that know works by what they are called, best first.
const LOOKUP_SOURCES: &[&str] = &[
    "crossref",
    "openalex",
    "semantic_scholar",
    "arxiv",
    "pubmed",
    "europe_pmc",
];

/// How many works of a title are compared, and how much of it is asked for.
const MAX_CANDIDATES: usize = 10;
const MAX_TITLE_CHARS: usize = 400;

/// Checks a citation.
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
    // What became of another work says nothing of this one.
    if let Some(found) = checked.found.clone().filter(|_| is_meant) {
        check_retractions(lab, &found, &mut checked).await;
    }
    if given.retracted == Some(true) {
        checked.retracted = given.retracted;
    }
    dedup_reasons(&mut checked.reasons);
    checked
}

/// A source that is asked for several things and can't answer is told of once.
fn dedup_reasons(reasons: &mut Vec<String>) {
    let mut told = BTreeSet::new();
    reasons.retain(|reason| {
        let first = reason.split([' ', ':']).next().unwrap_or("");
        !LOOKUP_SOURCES.contains(&first) || told.insert(first.to_owned())
    });
}

/// Without its abstract, which says nothing of whether it is cited rightly.
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

fn lookup_sources(lab: &ResearchServices) -> Vec<Arc<dyn PaperSource>> {
    LOOKUP_SOURCES
        .iter()
        .filter_map(|name| lab.source(name).cloned())
        .collect()
}

/// What the ids of a citation lead to.
#[derive(Default)]
struct IdLookup {
    /// The work, and the id that led to it.
    matched: Option<(PaperId, Article)>,
    /// Ids that were tried before, and that nobody who answered knows.
    unconfirmed: Vec<PaperId>,
    /// Whether somebody could not be asked for those.
    is_incomplete: bool,
}

/// The work of one of its ids, as those say who know such ids.
async fn look_up_ids(
    lab: &ResearchServices,
    given: &Article,
    checked: &mut CitationCheck,
) -> IdLookup {
    let mut named = IdLookup::default();
    for id in paper_ids(given) {
        let answer = look_up(lab, &id).await;
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
    /// What to make of a work that is found: what is said of it must be so, and its ids must be its
    /// own.
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

/// Whether an id is one of the work's.
fn has_id(work: &Article, id: &PaperId) -> bool {
    let arxivs = match id {
        PaperId::Doi(doi) => doi.arxiv_id(),
        _ => None,
    };
    paper_ids(work).contains(id) || arxivs.is_some() && arxivs == work.arxiv_id
}

/// The found work of the given id against what is said of it.
fn compare_found(
    checked: &mut CitationCheck,
    given: &Article,
    found: Article,
    by: &PaperId,
    named: &IdLookup,
) {
    let found = strip_retraction_prefix(found);
    let given = strip_retraction_prefix(given.clone());
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
        named.decide_status(&found, &like.differs, checked)
    };
    if nameless {
        // Nobody said more than what it is called, so nothing that was said is missing.
        checked.missing = missing_fields(&found);
    }
    let alone = nameless && checked.status == CitationStatus::Verified;
    checked.likeness = if alone { 1.0 } else { like.score };
    checked.differences = like.differs;
    checked.found = Some(without_abstract(found));
}

/// Whether it is an id that led to the work though the work's record prefers another: a preprint's
/// or an earlier one.
fn is_alternate_id(given: &Article, found: &Article, by: &PaperId, it: &Difference) -> bool {
    match it.field.as_str() {
        "doi" => given
            .doi
            .clone()
            .map(PaperId::Doi)
            .is_some_and(|doi| doi == *by || has_id(found, &doi)),
        "arxiv_id" => matches!(by, PaperId::Arxiv(_)),
        _ => false,
    }
}

/// Titles less alike than this are those of two works.
const SAME_TITLE: f32 = 0.8;

/// Works of that title, and which of them it is.
async fn search_by_title(
    lab: &ResearchServices,
    given: &Article,
    checked: &mut CitationCheck,
) -> (Option<Article>, SameWorkDecision) {
    let given = strip_retraction_prefix(given.clone());
    let query = PaperQuery {
        words: truncate_chars(&given.title, MAX_TITLE_CHARS),
        limit: MAX_CANDIDATES,
        order: PaperOrder::Relevance,
        ..PaperQuery::default()
    };
    let found = search(
        &lookup_sources(lab),
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

/// Finds the work that is meant by a citation whose identifier is another's; whether it did.
async fn find_intended_work(
    lab: &ResearchServices,
    given: &Article,
    checked: &mut CitationCheck,
) -> bool {
    let (best, decision) = search_by_title(lab, given, checked).await;
    let Some(best) = best.filter(|_| is_same_work(&decision)) else {
        return false;
    };
    checked.likeness = decision.likeness.score;
    checked.differences = decision.likeness.differs;
    checked.found = Some(best);
    true
}

/// The work of that title, where no id led to one.
async fn check_by_title(
    lab: &ResearchServices,
    given: &Article,
    named: &IdLookup,
    checked: &mut CitationCheck,
) {
    if given.title.trim().is_empty() {
        if paper_ids(given).is_empty() {
            let why = "nothing to look for: it has neither an identifier nor a title";
            checked.reasons.push(why.to_owned());
        } else if !named.is_incomplete {
            checked.status = CitationStatus::NotFound;
            checked
                .reasons
                .push("no source knows the identifier, and there is no title".to_owned());
        }
        return;
    }
    let (best, decision) = search_by_title(lab, given, checked).await;
    checked.likeness = decision.likeness.score;
    let Some(best) = best else {
        checked.status = not_found_status(checked);
        return;
    };
    let differs = decision.likeness.differs.as_slice();
    if is_same_work(&decision) {
        checked.status = named.decide_status(&best, differs, checked);
        checked.found = Some(best);
    } else {
        checked.status = not_found_status(checked);
        checked.reasons.insert(0, near_match_reason(&best, differs));
        checked.near = Some(best);
    }
    checked.differences = decision.likeness.differs;
}

/// Nobody can say that a work does not exist who was not let ask.
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

/// What became of the work. Sources know different retractions, so all are asked.
async fn check_retractions(lab: &ResearchServices, found: &Article, checked: &mut CitationCheck) {
    let mut retracted = found.retracted;
    let mut all_asked = true;
    if let Some(id) = paper_ids(found).first() {
        let sources = lookup_sources(lab);
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
    // Who could not be asked may know of one.
    checked.retracted = retracted.filter(|it| *it || all_asked);
}
