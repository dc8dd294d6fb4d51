//! Whether a citation is what it says: the work exists, is called so, is by them, of that year, and
//! still stands. Sources that could not be asked make it unknown, never wrong.

use std::{collections::BTreeSet, sync::Arc};

use deliberate_citations::{
    Missing, missing,
    same::{Decision, Difference, Verdict, decide, likeness},
};
use deliberate_core::{Article, cut_to_chars};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{near::may_be_meant, taken_back::without_mark};
use crate::{
    Lab,
    collect::enrich::look_up,
    discover::search::{SearchOptions, SourceReport, search},
    sources::{Notice, NoticeKind, PaperId, PaperOrder, PaperQuery, Source},
    web::WebError,
};

/// What a check came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
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
    pub notices: Vec<Notice>,
    /// Whether it was retracted or withdrawn; absent unless all who could know it were asked.
    pub retracted: Option<bool>,
    /// What a whole citation of it would need.
    pub missing: Vec<Missing>,
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
    pub const fn said(self) -> &'static str {
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
const KNOWING: &[&str] = &[
    "crossref",
    "openalex",
    "semantic_scholar",
    "arxiv",
    "pubmed",
    "europe_pmc",
];

/// How many works of a title are compared, and how much of it is asked for.
const CANDIDATES: usize = 10;
const LONGEST_TITLE: usize = 400;

/// Checks a citation.
pub async fn check(lab: &Lab, given: &Article) -> Checked {
    let mut checked = Checked {
        status: CitationStatus::Unknown,
        given: brief(given.clone()),
        found: None,
        near: None,
        likeness: 0.0,
        differences: Vec::new(),
        notices: Vec::new(),
        retracted: None,
        missing: missing(given),
        reasons: Vec::new(),
    };
    let named = by_ids(lab, given, &mut checked).await;
    match named.found.clone() {
        Some((id, found)) => compare(&mut checked, given, found, &id, &named),
        None => by_title(lab, given, &named, &mut checked).await,
    }
    let is_meant = match checked.status {
        CitationStatus::WrongIdentifier => the_right_one(lab, given, &mut checked).await,
        _ => true,
    };
    // What became of another work says nothing of this one.
    if let Some(found) = checked.found.clone().filter(|_| is_meant) {
        note_fate(lab, &found, &mut checked).await;
    }
    if given.retracted == Some(true) {
        checked.retracted = given.retracted;
    }
    say_once(&mut checked.reasons);
    checked
}

/// A source that is asked for several things and can't answer is told of once.
fn say_once(reasons: &mut Vec<String>) {
    let mut told = BTreeSet::new();
    reasons.retain(|reason| {
        let first = reason.split([' ', ':']).next().unwrap_or("");
        !KNOWING.contains(&first) || told.insert(first.to_owned())
    });
}

/// Without its abstract, which says nothing of whether it is cited rightly.
fn brief(article: Article) -> Article {
    Article {
        summary: None,
        ..article
    }
}

fn ids_of(article: &Article) -> Vec<PaperId> {
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

fn knowing(lab: &Lab) -> Vec<Arc<dyn Source>> {
    KNOWING
        .iter()
        .filter_map(|name| lab.source(name).cloned())
        .collect()
}

/// What the ids of a citation lead to.
#[derive(Default)]
struct Named {
    /// The work, and the id that led to it.
    found: Option<(PaperId, Article)>,
    /// Ids that were tried before, and that nobody who answered knows.
    unconfirmed: Vec<PaperId>,
    /// Whether somebody could not be asked for those.
    in_doubt: bool,
}

/// The work of one of its ids, as those say who know such ids.
async fn by_ids(lab: &Lab, given: &Article, checked: &mut Checked) -> Named {
    let mut named = Named::default();
    for id in ids_of(given) {
        let answer = look_up(lab, &id).await;
        let failed = !answer.notes.is_empty();
        checked.reasons.extend(answer.notes);
        if let Some(article) = answer.article {
            named.found = Some((id, article));
            break;
        }
        named.in_doubt |= failed;
        named.unconfirmed.push(id);
    }
    named
}

impl Named {
    /// What to make of a work that is found: what is said of it must be so, and its ids must be its
    /// own.
    fn settle(
        &self,
        work: &Article,
        differs: &[Difference],
        checked: &mut Checked,
    ) -> CitationStatus {
        let unconfirmed = self.unconfirmed.iter().find(|id| !is_named(work, id));
        if let Some(id) = unconfirmed {
            let why = format!("no source that answered knows {}", said(id));
            checked.reasons.insert(0, why);
        }
        match unconfirmed {
            _ if !differs.is_empty() => CitationStatus::Differs,
            None => CitationStatus::Verified,
            Some(_) if self.in_doubt => CitationStatus::Unknown,
            Some(_) => CitationStatus::Differs,
        }
    }
}

/// Whether an id is one of the work's.
fn is_named(work: &Article, id: &PaperId) -> bool {
    let arxivs = match id {
        PaperId::Doi(doi) => doi.arxiv_id(),
        _ => None,
    };
    ids_of(work).contains(id) || arxivs.is_some() && arxivs == work.arxiv_id
}

/// The found work of the given id against what is said of it.
fn compare(checked: &mut Checked, given: &Article, found: Article, by: &PaperId, named: &Named) {
    let found = without_mark(found);
    let given = without_mark(given.clone());
    let mut like = likeness(&given, &found);
    like.differs
        .retain(|it| !leads_here(&given, &found, by, it));
    let nameless = given.title.trim().is_empty();
    checked.status = if !nameless && like.title < SAME_TITLE {
        checked
            .reasons
            .insert(0, format!("the identifier leads to {:?}", found.title));
        CitationStatus::WrongIdentifier
    } else {
        named.settle(&found, &like.differs, checked)
    };
    if nameless {
        // Nobody said more than what it is called, so nothing that was said is missing.
        checked.missing = missing(&found);
    }
    let alone = nameless && checked.status == CitationStatus::Verified;
    checked.likeness = if alone { 1.0 } else { like.score };
    checked.differences = like.differs;
    checked.found = Some(brief(found));
}

/// Whether it is an id that led to the work though the work's record prefers another: a preprint's
/// or an earlier one.
fn leads_here(given: &Article, found: &Article, by: &PaperId, it: &Difference) -> bool {
    match it.field.as_str() {
        "doi" => given
            .doi
            .clone()
            .map(PaperId::Doi)
            .is_some_and(|doi| doi == *by || is_named(found, &doi)),
        "arxiv_id" => matches!(by, PaperId::Arxiv(_)),
        _ => false,
    }
}

/// Titles less alike than this are those of two works.
const SAME_TITLE: f32 = 0.8;

/// Works of that title, and which of them it is.
async fn titled(lab: &Lab, given: &Article, checked: &mut Checked) -> (Option<Article>, Decision) {
    let given = without_mark(given.clone());
    let query = PaperQuery {
        words: cut_to_chars(&given.title, LONGEST_TITLE),
        limit: CANDIDATES,
        order: PaperOrder::Relevance,
        ..PaperQuery::default()
    };
    let found = search(&knowing(lab), &query, &SearchOptions::of(CANDIDATES)).await;
    let problems = found.reports.iter().filter_map(SourceReport::problem);
    checked.reasons.extend(problems);
    let candidates = found.papers.into_iter();
    let candidates: Vec<Article> = candidates
        .map(|it| brief(without_mark(it.article)))
        .collect();
    let decision = decide(&given, &candidates);
    let best = decision.best.and_then(|at| candidates.get(at)).cloned();
    (best, decision)
}

fn is_it(decision: &Decision) -> bool {
    matches!(decision.verdict, Verdict::Same | Verdict::Probably)
}

/// Finds the work that is meant by a citation whose identifier is another's; whether it did.
async fn the_right_one(lab: &Lab, given: &Article, checked: &mut Checked) -> bool {
    let (best, decision) = titled(lab, given, checked).await;
    let Some(best) = best.filter(|_| is_it(&decision)) else {
        return false;
    };
    checked.likeness = decision.likeness.score;
    checked.differences = decision.likeness.differs;
    checked.found = Some(best);
    true
}

/// The work of that title, where no id led to one.
async fn by_title(lab: &Lab, given: &Article, named: &Named, checked: &mut Checked) {
    if given.title.trim().is_empty() {
        if ids_of(given).is_empty() {
            let why = "nothing to look for: it has neither an identifier nor a title";
            checked.reasons.push(why.to_owned());
        } else if !named.in_doubt {
            checked.status = CitationStatus::NotFound;
            checked
                .reasons
                .push("no source knows the identifier, and there is no title".to_owned());
        }
        return;
    }
    let (best, decision) = titled(lab, given, checked).await;
    checked.likeness = decision.likeness.score;
    let Some(best) = best else {
        checked.status = not_found(checked);
        return;
    };
    let differs = decision.likeness.differs.as_slice();
    if is_it(&decision) {
        checked.status = named.settle(&best, differs, checked);
        checked.found = Some(best);
    } else {
        checked.status = not_found(checked);
        checked.reasons.insert(0, may_be_meant(&best, differs));
        checked.near = Some(best);
    }
    checked.differences = decision.likeness.differs;
}

/// Nobody can say that a work does not exist who was not let ask.
fn not_found(checked: &Checked) -> CitationStatus {
    if checked.reasons.is_empty() {
        CitationStatus::NotFound
    } else {
        CitationStatus::Unknown
    }
}

fn said(id: &PaperId) -> String {
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
async fn note_fate(lab: &Lab, found: &Article, checked: &mut Checked) {
    let mut retracted = found.retracted;
    let mut all_asked = true;
    if let Some(id) = ids_of(found).first() {
        let sources = knowing(lab);
        let asked = sources
            .iter()
            .map(|source| async move { (source.about().title, source.notices(id).await) });
        for (name, answer) in join_all(asked).await {
            match answer {
                Ok(Some(notices)) => {
                    retracted.get_or_insert(false);
                    checked.notices.extend(notices);
                }
                Ok(None) | Err(WebError::NotThere { .. }) => {}
                Err(error) => {
                    all_asked = false;
                    let why = format!("retractions by {name}: {error}");
                    checked.reasons.push(why);
                }
            }
        }
    }
    let taken_back =
        |it: &Notice| matches!(it.kind, NoticeKind::Retraction | NoticeKind::Withdrawal);
    if checked.notices.iter().any(taken_back) {
        retracted = Some(true);
    }
    // Who could not be asked may know of one.
    checked.retracted = retracted.filter(|it| *it || all_asked);
}
