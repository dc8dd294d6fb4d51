//! Whether a citation is what it says: the work exists, is called so, is by them, of that year, and
//! still stands. Sources that could not be asked make it unknown, never wrong.

use std::sync::Arc;

use deliberate_citations::{
    Missing, missing,
    same::{Decision, Difference, Verdict, decide, likeness},
};
use deliberate_core::{Article, cut_to_chars};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// How like the two are, 0 to 1.
    pub likeness: f32,
    /// In what they differ.
    pub differences: Vec<Difference>,
    /// Corrections, retractions.
    pub notices: Vec<Notice>,
    /// Whether it was retracted or withdrawn.
    pub retracted: bool,
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
    /// Not enough sources could be asked.
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
            Self::Unknown => "unknown: sources could not be asked",
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
        likeness: 0.0,
        differences: Vec::new(),
        notices: Vec::new(),
        retracted: given.retracted == Some(true),
        missing: missing(given),
        reasons: Vec::new(),
    };
    let ids = ids_of(given);
    match by_id(lab, &ids, &mut checked).await {
        Some(found) => compare(&mut checked, given, found),
        None => by_title(lab, given, &ids, &mut checked).await,
    }
    if checked.status == CitationStatus::WrongIdentifier {
        the_right_one(lab, given, &mut checked).await;
    }
    if let Some(found) = checked.found.clone() {
        note_fate(lab, &found, &mut checked).await;
    }
    checked
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

/// The work of one of these ids, as those say who know such ids.
async fn by_id(lab: &Lab, ids: &[PaperId], checked: &mut Checked) -> Option<Article> {
    for id in ids {
        let answer = look_up(lab, id).await;
        checked.reasons.extend(answer.notes);
        if answer.article.is_some() {
            return answer.article;
        }
    }
    None
}

/// What publishers write before the title of a work that was taken back.
const TAKEN_BACK: &[&str] = &[
    "retracted article:",
    "article retracted:",
    "retracted:",
    "retracted -",
    "[retracted]",
    "withdrawn:",
];

/// The work without such words, and whether it had them.
fn without_mark(mut found: Article) -> (Article, bool) {
    let title = found.title.trim();
    let mark = TAKEN_BACK.iter().find_map(|mark| {
        let start = title.get(..mark.len())?;
        start.eq_ignore_ascii_case(mark).then_some(mark.len())
    });
    let Some(rest) = mark.and_then(|it| title.get(it..)) else {
        return (found, false);
    };
    found.title = rest.trim().to_owned();
    (found, true)
}

/// The found work of the given id against what is said of it.
fn compare(checked: &mut Checked, given: &Article, found: Article) {
    let (found, taken_back) = without_mark(found);
    let given = without_mark(given.clone()).0;
    let like = likeness(&given, &found);
    let nameless = given.title.trim().is_empty();
    checked.status = if !nameless && like.title < SAME_TITLE {
        checked
            .reasons
            .insert(0, format!("the identifier leads to {:?}", found.title));
        CitationStatus::WrongIdentifier
    } else if like.differs.is_empty() {
        CitationStatus::Verified
    } else {
        CitationStatus::Differs
    };
    if nameless {
        // Nobody said more than what it is called, so nothing that was said is missing.
        checked.missing = missing(&found);
    }
    checked.retracted |= taken_back;
    let alone = nameless && checked.status == CitationStatus::Verified;
    checked.likeness = if alone { 1.0 } else { like.score };
    checked.differences = like.differs;
    checked.found = Some(brief(found));
}

/// Titles less alike than this are those of two works.
const SAME_TITLE: f32 = 0.8;

/// Works of that title, and which of them it is.
async fn titled(lab: &Lab, given: &Article, checked: &mut Checked) -> (Option<Article>, Decision) {
    let given = without_mark(given.clone()).0;
    let query = PaperQuery {
        words: cut_to_chars(&given.title, LONGEST_TITLE),
        limit: CANDIDATES,
        order: PaperOrder::Relevance,
        ..PaperQuery::default()
    };
    let found = search(&knowing(lab), &query, &SearchOptions::of(CANDIDATES)).await;
    let problems = found.reports.iter().filter_map(SourceReport::problem);
    checked.reasons.extend(problems);
    let candidates = found.papers.into_iter().map(|it| without_mark(it.article));
    let candidates: Vec<Article> = candidates
        .map(|(article, taken_back)| Article {
            retracted: if taken_back {
                Some(true)
            } else {
                article.retracted
            },
            ..brief(article)
        })
        .collect();
    let decision = decide(&given, &candidates);
    let best = decision.best.and_then(|at| candidates.get(at)).cloned();
    (best, decision)
}

fn is_it(decision: &Decision) -> bool {
    matches!(decision.verdict, Verdict::Same | Verdict::Probably)
}

/// The work that is meant by a citation whose identifier is another's, if it is found.
async fn the_right_one(lab: &Lab, given: &Article, checked: &mut Checked) {
    let (best, decision) = titled(lab, given, checked).await;
    if let Some(best) = best.filter(|_| is_it(&decision)) {
        checked.likeness = decision.likeness.score;
        checked.differences = decision.likeness.differs;
        checked.found = Some(best);
    }
}

/// The work of that title, where no id led to one.
async fn by_title(lab: &Lab, given: &Article, ids: &[PaperId], checked: &mut Checked) {
    // Whoever could not be asked might know the id.
    let ids_asked = checked.reasons.is_empty();
    if given.title.trim().is_empty() {
        if ids_asked {
            checked.status = CitationStatus::NotFound;
            checked
                .reasons
                .push("no source knows the identifier, and there is no title".to_owned());
        }
        return;
    }
    let (best, decision) = titled(lab, given, checked).await;
    checked.likeness = decision.likeness.score;
    let Some(best) = best.filter(|_| decision.verdict != Verdict::Different) else {
        checked.status = not_found(checked);
        return;
    };
    if !is_it(&decision) {
        checked.status = not_found(checked);
        checked
            .reasons
            .insert(0, format!("the nearest work is {:?}", best.title));
        return;
    }
    let has = ids_of(&best);
    let unconfirmed = ids
        .first()
        .filter(|_| !ids.iter().any(|id| has.contains(id)));
    checked.status = match unconfirmed {
        _ if !decision.likeness.differs.is_empty() => CitationStatus::Differs,
        None => CitationStatus::Verified,
        Some(_) if ids_asked => CitationStatus::Differs,
        Some(_) => CitationStatus::Unknown,
    };
    if let Some(id) = unconfirmed {
        let why = format!("no source that answered knows {}", said(id));
        checked.reasons.insert(0, why);
    }
    checked.differences = decision.likeness.differs;
    checked.found = Some(best);
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
    let ids = ids_of(found);
    let Some(id) = ids.first() else {
        checked.retracted |= found.retracted == Some(true);
        return;
    };
    let sources = knowing(lab);
    let asked = sources
        .iter()
        .map(|source| async move { (source.about().title, source.notices(id).await) });
    for (name, answer) in join_all(asked).await {
        match answer {
            Ok(Some(notices)) => checked.notices.extend(notices),
            Ok(None) | Err(WebError::NotThere { .. }) => {}
            Err(error) => checked
                .reasons
                .push(format!("retractions by {name}: {error}")),
        }
    }
    let taken_back =
        |it: &Notice| matches!(it.kind, NoticeKind::Retraction | NoticeKind::Withdrawal);
    checked.retracted |= found.retracted == Some(true) || checked.notices.iter().any(taken_back);
}
