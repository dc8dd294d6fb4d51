//! Structured data of an answer, as clients receive it.

use deliberate_core::truncate_chars;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    checked_answer::CheckedAnswer,
    markdown,
    passage_pool::PassagePool,
    verifier::{Claim, ClaimCheck, ClaimProblem, ClaimVerdict, EvidenceSpan},
};
use crate::RetrievedPassage;

/// Outcome of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerStatus {
    /// Enough of the answer is supported.
    Answered,
    /// The best result when a budget was exhausted or no model was available.
    Partial,
    /// Too little of the answer is supported, so it is not returned.
    Withheld,
    /// The collection does not answer the question.
    NothingFound,
}

/// A sentence of an answer, with its evidence.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AnswerSentence {
    text: String,
    verdict: ClaimVerdict,
    judged_by: CheckedBy,
    citations: Vec<AnswerCitation>,
    problems: Vec<SentenceProblem>,
    /// Whether the check supplied the place: no cited passage supports the sentence
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    citation_supplied: bool,
    /// Passages that disagree
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disputed: Vec<AnswerCitation>,
}

/// How a verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum CheckedBy {
    /// By the verifier, without a model
    Code,
    /// By a model, where the verifier could not decide
    Model,
    /// By nobody: the sentence is not checked
    Nobody,
}

/// A problem of a sentence.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SentenceProblem {
    #[serde(flatten)]
    problem: ClaimProblem,
    /// As a sentence
    said: String,
}

/// A place in a paper.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AnswerCitation {
    /// Number in `sources`
    pub source: usize,
    pub article_id: String,
    pub cite_key: String,
    pub title: String,
    /// From 1; 0 for the abstract of a paper without text
    pub page: u32,
    /// Character offset on the page
    pub start: u32,
    pub end_page: u32,
    /// After the last character
    pub end: u32,
    pub quote: String,
}

/// A paper with its passages.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AnswerSource {
    /// Citation number in the answer
    pub number: usize,
    pub article_id: String,
    /// Key in bibliographies
    pub cite_key: String,
    pub title: String,
    /// `Smith & Jones`
    pub authors: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year: Option<u16>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retracted: bool,
    /// Relevance of its best passage, 0 to 1
    pub relevance: f64,
    pub passages: Vec<SourcePassage>,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourcePassage {
    pub page: u32,
    /// Character offset on the page
    pub start: u32,
    pub end_page: u32,
    /// After the last character
    pub end: u32,
    /// Relevance to the question, 0 to 1
    pub relevance: f64,
    pub excerpt: String,
}

/// Result of a graph node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeTrace {
    pub node: &'static str,
    pub outcome: String,
    pub ms: u64,
    pub model_calls: u32,
}

/// Characters of a quote, and of a passage's excerpt.
const QUOTE_CHARS: usize = 600;
const EXCERPT_CHARS: usize = 500;

/// Groups passages by paper. Papers are numbered in the order of their first passage.
pub(super) fn build_sources(
    question: &str,
    pool: &PassagePool,
    used: &[usize],
) -> Vec<AnswerSource> {
    let mut all: Vec<AnswerSource> = Vec::new();
    for &at in used {
        let Some(found) = pool.get(at) else {
            continue;
        };
        let fits = passage_relevance(question, found);
        let passage = SourcePassage {
            page: found.place.page,
            start: found.place.start,
            end_page: found.place.end_page,
            end: found.place.end,
            relevance: fits,
            excerpt: truncate_chars(&markdown::single_line(&found.passage.text), EXCERPT_CHARS),
        };
        if let Some(source) = all.iter_mut().find(|it| it.article_id == found.kept.id) {
            source.relevance = source.relevance.max(fits);
            source.passages.push(passage);
            continue;
        }
        let article = &found.kept.article;
        all.push(AnswerSource {
            number: all.len() + 1,
            article_id: found.kept.id.clone(),
            cite_key: found.kept.cite_key.clone(),
            title: markdown::single_line(&article.title),
            authors: markdown::author_label(article),
            year: article.year(),
            retracted: article.retracted == Some(true),
            relevance: fits,
            passages: vec![passage],
        });
    }
    all
}

/// Relevance of a passage to a question, 0 to 1: the reranker's score if there is one, otherwise
/// the higher of its vector similarity and the share of the question's words in it.
pub(super) fn passage_relevance(question: &str, found: &RetrievedPassage) -> f64 {
    if let Some(score) = found.rerank_score {
        return f64::from(score).clamp(0.0, 1.0);
    }
    let wanted = super::verifier::content_words(question);
    let title = &found.kept.article.title;
    let there = super::verifier::content_words(&format!(
        "{title}. {}",
        truncate_chars(&found.passage.text, 8_000)
    ));
    let shared = wanted.iter().filter(|it| there.contains(*it)).count();
    let words = if wanted.is_empty() {
        0.0
    } else {
        shared as f64 / wanted.len() as f64
    };
    let meaning = f64::from(found.similarity.unwrap_or(0.0)).clamp(0.0, 1.0);
    let best = words.max(meaning);
    (best * 1_000.0).round() / 1_000.0
}

pub(super) fn build_sentences(
    answer: &CheckedAnswer,
    pool: &PassagePool,
    sources: &[AnswerSource],
) -> Vec<AnswerSentence> {
    let all = answer.sentences.iter().enumerate();
    all.map(|(at, (claim, checked))| {
        let mut shown = build_sentence(claim, checked, pool, sources);
        if answer.by_model.contains(&at) {
            shown.judged_by = CheckedBy::Model;
        }
        shown
    })
    .collect()
}

fn build_sentence(
    claim: &Claim,
    checked: &ClaimCheck,
    pool: &PassagePool,
    sources: &[AnswerSource],
) -> AnswerSentence {
    let show = |all: &[EvidenceSpan]| -> Vec<AnswerCitation> {
        all.iter()
            .filter_map(|it| build_citation(it, pool, sources))
            .take(4)
            .collect()
    };
    let problems = checked.problems.iter().map(|it| SentenceProblem {
        said: it.to_string(),
        problem: it.clone(),
    });
    AnswerSentence {
        text: markdown::single_line(&claim.text),
        verdict: checked.verdict,
        judged_by: if checked.verdict == ClaimVerdict::NotChecked {
            CheckedBy::Nobody
        } else {
            CheckedBy::Code
        },
        citations: show(&checked.evidence),
        problems: problems.collect(),
        citation_supplied: checked.corrected,
        disputed: show(&checked.disputed),
    }
}

fn build_citation(
    evidence: &EvidenceSpan,
    pool: &PassagePool,
    sources: &[AnswerSource],
) -> Option<AnswerCitation> {
    let found = pool.by_id(&evidence.passage)?;
    let source = sources.iter().find(|it| it.article_id == evidence.work)?;
    Some(AnswerCitation {
        source: source.number,
        article_id: evidence.work.clone(),
        cite_key: found.kept.cite_key.clone(),
        title: source.title.clone(),
        page: evidence.place.page,
        start: evidence.place.start,
        end_page: evidence.place.end_page,
        end: evidence.place.end,
        quote: truncate_chars(&evidence.quote, QUOTE_CHARS),
    })
}

impl AnswerSentence {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the check found the evidence in a passage that the sentence does not cite.
    pub(super) const fn has_supplied_mark(&self) -> bool {
        self.citation_supplied
    }

    /// Whether a model judged the sentence.
    pub(super) const fn is_by_model(&self) -> bool {
        matches!(self.judged_by, CheckedBy::Model)
    }

    pub(super) const fn verdict(&self) -> ClaimVerdict {
        self.verdict
    }

    pub(super) fn citations(&self) -> &[AnswerCitation] {
        &self.citations
    }

    pub(super) fn disputed(&self) -> &[AnswerCitation] {
        &self.disputed
    }

    /// Descriptions of the problems.
    pub(super) fn problems(&self) -> impl Iterator<Item = &str> {
        self.problems.iter().map(|it| it.said.as_str())
    }
}
