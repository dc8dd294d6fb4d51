//! Reranking of passages by the model of the call: one request for all passages with integer
//! scores. A failure leaves the order as it is.

use deliberate_llm::ModelRequest;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{passage_pool::PassagePool, prompts::PromptTemplate};

/// Scores that a model gave to passages.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct PassageScores {
    #[schemars(length(max = 120))]
    scores: Vec<PassageScore>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct PassageScore {
    #[schemars(length(max = 8))]
    passage: serde_json::Value,
    /// 0 to 100
    #[schemars(range(min = 0, max = 100))]
    score: f64,
}

const SCORE_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "grade",
    text: include_str!("prompts/score.md"),
    max_tokens: 1_800,
    temperature: 0.0,
};

/// Further scores in a reply are ignored.
const MAX_SCORES: usize = 240;

/// Characters of a passage that the model is shown.
const SCORED_CHARS: usize = 1_200;

/// Builds the request for scores and returns the passages that fit into it.
pub(super) fn score_request(
    key: String,
    question: &str,
    pool: &PassagePool,
    wanted: &[usize],
) -> (ModelRequest, Vec<usize>) {
    let (passages, shown) = pool.render_with(wanted, |_, it| {
        deliberate_core::truncate_chars(&it.passage.text, SCORED_CHARS)
    });
    let ask = SCORE_PROMPT.build_request::<PassageScores>(
        key,
        &[
            ("passages", &passages),
            ("question", &pool.fence().wrap("question", question)),
            ("count", &shown.len().to_string()),
        ],
    );
    (ask, shown)
}

impl PassageScores {
    /// The score of a passage, 0 to 1, if the model gave one.
    pub(super) fn get(&self, at: usize) -> Option<f64> {
        let wanted = at + 1;
        let number = |it: &serde_json::Value| -> Option<usize> {
            let text = it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        let found = self
            .scores
            .iter()
            .take(MAX_SCORES)
            .find(|it| number(&it.passage) == Some(wanted));
        let score = found.map(|it| it.score / 100.0)?;
        score.is_finite().then(|| score.clamp(0.0, 1.0))
    }
}

/// Sorts passages by score. Those without a score come last, in their previous order.
pub(super) fn sort_by_score(
    mut passages: Vec<usize>,
    score: impl Fn(usize) -> Option<f64>,
) -> Vec<usize> {
    passages.sort_by(|one, other| {
        let of = |at: usize| score(at).unwrap_or(-1.0);
        of(*other).total_cmp(&of(*one))
    });
    passages
}
