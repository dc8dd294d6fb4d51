//! Checks whether claims are supported by the passages that they cite.
//!
//! Code only: no model and no I/O. A claim is compared with the sentences that share its words.
//! Quotes must be verbatim, numbers must be the same numbers of the same things, and names must be
//! there. A bound or an end of a range is not a value. A sentence with nearly the same words
//! supports the claim unless it negates, reverses, refutes, or hedges it. A claim in other words is
//! not checked: its verdict is left to a model, or to the reader. Instructions inside a passage
//! have no effect: a passage is only text that is compared.

mod citation_check;
mod claim;
mod corpus;
mod evidence_comparison;
mod evidence_span;
mod exact_parts;
mod heuristic;
pub(crate) mod numbers;
mod polarity;
pub(crate) mod quotes;
mod sentence_features;
mod sentence_window;
pub(crate) mod text;
mod verdict;
mod window_comparison;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::articles::TextSpan;

pub use heuristic::{Heuristic, HeuristicSet};
pub use verdict::Verifier;

/// A passage that claims are checked against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidencePassage {
    /// Id by which claims cite the passage.
    pub id: String,
    /// Id of the article.
    pub work: String,
    /// Verbatim text, with a form feed at each page break.
    pub text: String,
    /// Position in the article.
    pub place: TextSpan,
    pub credit: Attribution,
}

/// Author, year and title of a passage, as an author-year citation names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// Family names.
    pub authors: Vec<String>,
    pub year: Option<u16>,
    pub title: String,
}

/// A sentence of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub text: String,
    /// Ids of the cited passages.
    pub cited: Vec<String>,
    /// Text that one of the cited passages is said to contain.
    pub quote: Option<String>,
}

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// A passage supports the claim.
    Supported,
    /// A passage contradicts the claim.
    Contradicted,
    /// A sentence of a paper supports the claim, and another sentence of the same paper gives a
    /// different value for the same thing.
    Disputed,
    /// No passage contains a quote, number, or name of the claim, or the claim cites nothing.
    NotFound,
    /// Code cannot judge the claim: a cited passage may say it in other words.
    NotChecked,
    /// The sentence claims nothing: a question, a heading, or that the passages do not answer.
    NoClaim,
}

/// Result of checking a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimCheck {
    pub verdict: ClaimVerdict,
    /// Supporting or contradicting evidence, best first.
    pub evidence: Vec<EvidenceSpan>,
    /// Evidence that disagrees although other evidence supports the claim.
    pub disputed: Vec<EvidenceSpan>,
    pub problems: Vec<ClaimProblem>,
    /// Share of the claim's words that the evidence contains, 0 to 1.
    pub overlap: f64,
    /// Whether a passage that the claim does not cite supports it, and no cited passage does.
    pub corrected: bool,
}

/// A span of a passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceSpan {
    /// Id of the passage.
    pub passage: String,
    /// Id of the article.
    pub work: String,
    /// Position in the article.
    pub place: TextSpan,
    /// Text of the span.
    pub quote: String,
}

/// A problem of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimProblem {
    pub kind: ClaimProblemKind,
    /// Text of the claim.
    pub claimed: String,
    /// Text that the passage has instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// Kind of problem of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimProblemKind {
    /// A quote.
    Quote,
    /// A number or its unit.
    Number,
    /// A name.
    Name,
    /// Negation.
    Negation,
    /// Direction: more or less, better or worse.
    Direction,
    /// Order of the two sides of a comparison.
    Order,
    /// The passage calls the statement wrong.
    Refuted,
    /// The passage states it under a condition or as a possibility.
    Condition,
    /// No passage is about it.
    Matter,
    /// A citation.
    Citation,
    /// What a model says against it.
    Judgment,
}

impl ClaimProblem {
    pub(super) fn new(
        kind: ClaimProblemKind,
        claimed: impl Into<String>,
        instead: Option<String>,
    ) -> Self {
        Self {
            kind,
            claimed: deliberate_core::truncate_chars(&claimed.into(), MAX_PROBLEM_CHARS),
            instead: instead.map(|it| deliberate_core::truncate_chars(&it, MAX_PROBLEM_CHARS)),
        }
    }
}

/// Splits a text into sentences.
pub fn split_sentences(text: &str) -> Vec<String> {
    let spans = crate::sentences::sentence_spans(text).into_iter();
    let texts = spans.filter_map(|it| text.get(it));
    texts.map(str::to_owned).collect()
}

/// Splits a text of a model into claims: sentences, list items, and table rows, without text that
/// looks like our citation marks.
pub fn split_claims(text: &str) -> Vec<String> {
    text::markdown_lines::split_blocks(text)
        .into_iter()
        .flat_map(split_sentences)
        .map(|it| claim::strip_citation_marks(&it))
        .filter(|it| !it.is_empty())
        .collect()
}

/// Match keys of the words of a text, without stop words.
pub(super) fn content_words(text: &str) -> std::collections::HashSet<String> {
    let analysis = sentence_features::SentenceFeatures::extract(text, &|_| None);
    analysis.keys.into_iter().flatten().collect()
}

/// Characters of text that a problem shows.
const MAX_PROBLEM_CHARS: usize = 300;

impl std::fmt::Display for ClaimProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let claimed = &self.claimed;
        match (self.kind, &self.instead) {
            (ClaimProblemKind::Quote, Some(instead)) => {
                write!(
                    f,
                    "the passage has “{instead}” in place of the quote “{claimed}”"
                )
            }
            (ClaimProblemKind::Quote, None) => {
                write!(f, "no passage contains the quote “{claimed}”")
            }
            (ClaimProblemKind::Number, Some(instead)) => {
                write!(
                    f,
                    "the passage has “{instead}” in place of the number “{claimed}”"
                )
            }
            (ClaimProblemKind::Number, None) => {
                write!(f, "the passage does not contain the number “{claimed}”")
            }
            (ClaimProblemKind::Name, Some(instead)) => {
                write!(f, "the passage has “{instead}” in place of “{claimed}”")
            }
            (ClaimProblemKind::Name, None) => write!(f, "the passage does not name “{claimed}”"),
            (ClaimProblemKind::Negation, _) => {
                write!(f, "only one of claim and passage negates “{claimed}”")
            }
            (ClaimProblemKind::Direction, Some(instead)) => {
                write!(
                    f,
                    "the passage says the opposite of “{claimed}”: “{instead}”"
                )
            }
            (ClaimProblemKind::Direction, None) => {
                write!(f, "the passage says the opposite of “{claimed}”")
            }
            (ClaimProblemKind::Order, _) => {
                write!(f, "the passage has “{claimed}” in the opposite order")
            }
            (ClaimProblemKind::Refuted, _) => {
                write!(f, "only one of claim and passage calls it wrong")
            }
            (ClaimProblemKind::Condition, _) => write!(
                f,
                "the passage says it only under a condition, as a possibility, or as a former belief"
            ),
            (ClaimProblemKind::Matter, _) => write!(f, "no passage says this"),
            (ClaimProblemKind::Judgment, _) => write!(f, "a model says: {claimed}"),
            (ClaimProblemKind::Citation, Some(instead)) if claimed.is_empty() => write!(
                f,
                "it cites none of the passages; the check found that {instead} supports it"
            ),
            (ClaimProblemKind::Citation, None) if claimed.is_empty() => {
                write!(f, "it cites nothing")
            }
            (ClaimProblemKind::Citation, Some(instead)) => {
                write!(
                    f,
                    "the cited passage ({claimed}) does not support it, but {instead} does"
                )
            }
            (ClaimProblemKind::Citation, None) => {
                write!(f, "it cites {claimed}, which is not a passage")
            }
        }
    }
}
