//! Scores and reranks passages with the model of the call: one request for all of them, with integer
//! scores. A failure leaves the order as it is.

use deliberate_core::{PromptFence, truncate_chars};
use deliberate_llm::{ChatMessage, ModelRequest, PlainText, Purpose};
use deliberate_toolkit::{ToolContext, ToolError, answer_schema};
use schemars::JsonSchema;
use serde::Deserialize;

use super::query::RetrievedPassage;
use crate::prompt_fence::{fence_passage, prompt_fence};

/// Characters of a passage that the model is shown.
pub(crate) const SCORED_CHARS: usize = 1_200;

/// The most passages that are reranked; the others stay after them.
const MAX_RERANKED: usize = 30;

/// Further scores in a reply are ignored.
const MAX_SCORES: usize = 240;

/// Scores that a model gave to passages.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct PassageScores {
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

impl PassageScores {
    /// The score of a passage, 0 to 1, if the model gave one.
    pub(crate) fn get(&self, at: usize) -> Option<f64> {
        let number = |it: &serde_json::Value| -> Option<usize> {
            let text = it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        let mut scores = self.scores.iter().take(MAX_SCORES);
        let found = scores.find(|it| number(&it.passage) == Some(at + 1));
        let score = found.map(|it| it.score / 100.0)?;
        score.is_finite().then(|| score.clamp(0.0, 1.0))
    }
}

/// Builds the request for scores of passages that are rendered with ids from `p1` on.
pub(crate) fn score_request(
    key: String,
    purpose: &'static str,
    question: &str,
    passages: &str,
    count: usize,
    fence: &PromptFence,
) -> ModelRequest {
    let question = fence.wrap("question", question);
    ModelRequest {
        key,
        purpose: Purpose::new(purpose),
        system: include_str!("score.md").trim().to_owned(),
        messages: vec![ChatMessage::user(format!(
            "{passages}\n\n{question}\n\nScore all {count} passages."
        ))],
        schema: answer_schema::<PassageScores>(),
        plain_text: PlainText::IsRefused,
        max_tokens: 1_800,
        temperature: 0.0,
        ..ModelRequest::default()
    }
}

/// Sorts by score. What has no score comes last, in its previous order.
pub(crate) fn sort_by_score<T>(items: &mut [T], score: impl Fn(&T) -> Option<f64>) {
    let score = |it: &T| score(it).unwrap_or(-1.0);
    items.sort_by(|one, other| score(other).total_cmp(&score(one)));
}

/// Sorts the passages by the model's scores. Without an available model or a usable reply they keep
/// their order, and a note says so.
pub(crate) async fn rerank_with_model(
    call: &ToolContext,
    question: &str,
    mut passages: Vec<RetrievedPassage>,
    notes: &mut Vec<String>,
) -> Result<Vec<RetrievedPassage>, ToolError> {
    if passages.len() < 2 {
        return Ok(passages);
    }
    if !call.has_model().await {
        notes.push("The passages were not reranked because no model is available.".to_owned());
        return Ok(passages);
    }
    let fence = prompt_fence(call);
    let shown = passages.iter().take(MAX_RERANKED).enumerate();
    let shown = shown.map(|(at, it)| {
        let text = truncate_chars(&it.passage.text, SCORED_CHARS);
        fence_passage(&fence, &[("id", &format!("p{}", at + 1))], &text)
    });
    let shown: Vec<String> = shown.collect();
    let (key, all) = ("rerank".to_owned(), shown.join("\n\n"));
    let request = score_request(key, "rerank", question, &all, shown.len(), &fence);
    let scores = match call.ask::<PassageScores>(request, None).await {
        Ok(thinking) => thinking.value,
        Err(error @ ToolError::Cancelled) => return Err(error),
        Err(error) => {
            notes.push(format!(
                "The passages were not reranked because the model failed: {error}."
            ));
            return Ok(passages);
        }
    };
    for (at, passage) in passages.iter_mut().enumerate().take(MAX_RERANKED) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a score between 0 and 1 needs no more digits"
        )]
        let score = scores.get(at).map(|it| it as f32);
        passage.rerank_score = score.or(passage.rerank_score);
    }
    sort_by_score(&mut passages, |it| it.rerank_score.map(f64::from));
    Ok(passages)
}
