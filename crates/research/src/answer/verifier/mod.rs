//! Whether what is claimed stands in the passages it is said to stand in.
//!
//! Pure code: no model, no input or output. A claim is compared with the sentences that speak of
//! the same matter: quoted words must stand there just so, numbers must be the same numbers of the
//! same things, names must be there, and nothing may be turned round. A bound, or an end of a range,
//! is no value; what a passage calls wrong, supposes or makes depend on a condition is no fact. To
//! repeat its sentence word for word, with all that, is supported; so are words of one's own that are
//! near in meaning to what is cited, if nothing that can be told exactly is amiss. What a passage
//! tells its reader to do is of no account here; it is text that does or does not hold a claim.

mod citation_check;
mod claim;
mod compound_claims;
mod corpus;
pub(crate) mod entities;
mod evidence_comparison;
mod evidence_span;
pub(crate) mod numbers;
pub(crate) mod polarity;
pub(crate) mod quotes;
mod sentence_features;
mod sentence_window;
pub(crate) mod similarity;
pub(crate) mod text;
mod verdict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::articles::TextSpan;

pub use verdict::Verifier;

/// A passage that claims are checked against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidencePassage {
    /// What claims cite it by.
    pub id: String,
    /// The article it is from.
    pub work: String,
    /// Its text, word for word; a form feed where a page ends.
    pub text: String,
    /// Where it stands in the article.
    pub place: TextSpan,
    /// Whose words they are.
    pub credit: Attribution,
}

/// Whose words a passage is: what an author-year citation names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// Family names.
    pub authors: Vec<String>,
    /// The year.
    pub year: Option<u16>,
    /// The title.
    pub title: String,
}

/// A sentence of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// Ids of the passages it cites.
    pub cited: Vec<String>,
    /// Words that are said to stand in one of them.
    pub quote: Option<String>,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// A passage says so.
    Supported,
    /// A passage says otherwise.
    Contradicted,
    /// One sentence of a paper says so, and another of the same paper gives another value for the
    /// same thing.
    Disputed,
    /// No passage says so.
    NotFound,
    /// It claims nothing: a question, a heading, that the passages do not say.
    NoClaim,
}

/// A claim once it is checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimCheck {
    /// What became of it.
    pub verdict: ClaimVerdict,
    /// What it rests on, or what speaks against it; the best first.
    pub evidence: Vec<EvidenceSpan>,
    /// Places that say otherwise, though one supports it.
    pub disputed: Vec<EvidenceSpan>,
    /// What is wrong with it.
    pub problems: Vec<ClaimProblem>,
    /// How much of what it speaks of the evidence speaks of too, 0 to 1.
    pub overlap: f64,
    /// Whether none of the passages it cites supports it, or it cites none, but another does.
    pub corrected: bool,
}

/// A stretch of a passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceSpan {
    /// The passage.
    pub passage: String,
    /// The article.
    pub work: String,
    /// Where in the article it stands.
    pub place: TextSpan,
    /// What stands there.
    pub quote: String,
}

/// Something wrong with a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimProblem {
    /// What kind of thing.
    pub kind: ClaimProblemKind,
    /// What the claim has.
    pub claimed: String,
    /// What the passage has in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// What can be wrong with a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimProblemKind {
    /// Words in quotes.
    Quote,
    /// A number or its unit.
    Number,
    /// A name.
    Name,
    /// What is denied.
    Negation,
    /// More or less, better or worse.
    Direction,
    /// Who did it to whom.
    Order,
    /// The passage says it is wrong.
    Refuted,
    /// The passage says it on a condition, or as a possibility.
    Condition,
    /// No passage speaks of the matter.
    Matter,
    /// What it cites.
    Citation,
}

impl ClaimProblem {
    fn new(kind: ClaimProblemKind, claimed: impl Into<String>, instead: Option<String>) -> Self {
        Self {
            kind,
            claimed: deliberate_core::truncate_chars(&claimed.into(), MAX_PROBLEM_CHARS),
            instead: instead.map(|it| deliberate_core::truncate_chars(&it, MAX_PROBLEM_CHARS)),
        }
    }
}

/// The sentences of a text, each by itself.
pub fn split_sentences(text: &str) -> Vec<String> {
    let spans = text::sentence_splitter::sentence_spans(text).into_iter();
    let texts = spans.filter_map(|it| text.get(it));
    texts.map(str::to_owned).collect()
}

/// The claims of a text that a model wrote: its sentences, and the items of its lists and rows of its
/// tables each by itself, without marks that look like ours.
pub fn split_claims(text: &str) -> Vec<String> {
    text::markdown_lines::split_blocks(text)
        .into_iter()
        .flat_map(split_sentences)
        .map(|it| claim::strip_citation_marks(&it))
        .filter(|it| !it.is_empty())
        .collect()
}

/// What a text speaks of: its words as they are matched, without those that say nothing.
pub(super) fn content_words(text: &str) -> std::collections::HashSet<String> {
    let analysis = sentence_features::SentenceFeatures::extract(text, &|_| {
        sentence_features::WordUsage::Unknown
    });
    analysis.keys.into_iter().flatten().collect()
}

/// Problems show so many characters of what is wrong.
const MAX_PROBLEM_CHARS: usize = 300;

impl std::fmt::Display for ClaimProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let claimed = &self.claimed;
        match (self.kind, &self.instead) {
            (ClaimProblemKind::Quote, Some(instead)) => {
                write!(f, "the quote “{claimed}” stands there as “{instead}”")
            }
            (ClaimProblemKind::Quote, None) => {
                write!(f, "the quote “{claimed}” stands in no passage")
            }
            (ClaimProblemKind::Number, Some(instead)) => {
                write!(f, "the number “{claimed}” is “{instead}” there")
            }
            (ClaimProblemKind::Number, None) => write!(f, "the number “{claimed}” is not there"),
            (ClaimProblemKind::Name, Some(instead)) => {
                write!(f, "“{claimed}” is “{instead}” there")
            }
            (ClaimProblemKind::Name, None) => write!(f, "“{claimed}” is not named there"),
            (ClaimProblemKind::Negation, _) => {
                write!(f, "“{claimed}” is denied on one side and not on the other")
            }
            (ClaimProblemKind::Direction, Some(instead)) => {
                write!(f, "“{claimed}” is the other way round there: “{instead}”")
            }
            (ClaimProblemKind::Direction, None) => {
                write!(f, "“{claimed}” is the other way round there")
            }
            (ClaimProblemKind::Order, _) => {
                write!(f, "“{claimed}” stands the other way round there")
            }
            (ClaimProblemKind::Refuted, _) => {
                write!(f, "it is called wrong on one side and not on the other")
            }
            (ClaimProblemKind::Condition, _) => write!(
                f,
                "the passage says it only on a condition, as a possibility or as what was thought"
            ),
            (ClaimProblemKind::Matter, _) => write!(f, "no passage says this"),
            (ClaimProblemKind::Citation, Some(instead)) if claimed.is_empty() => write!(
                f,
                "it cites no passage that was given; the check supplied {instead}, which says so"
            ),
            (ClaimProblemKind::Citation, None) if claimed.is_empty() => {
                write!(f, "it cites nothing")
            }
            (ClaimProblemKind::Citation, Some(instead)) => {
                write!(
                    f,
                    "what it cites ({claimed}) does not say so, but {instead} does"
                )
            }
            (ClaimProblemKind::Citation, None) => {
                write!(f, "it cites {claimed}, which is no passage")
            }
        }
    }
}
