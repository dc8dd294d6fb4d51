//! Reranks passages with the model of the call, in one request for all of them.

use deliberate_core::PromptFence;
use deliberate_llm::{ChatMessage, ModelRequest, PlainText, Purpose};
use deliberate_toolkit::{ToolContext, ToolError};
use serde::Deserialize;
use serde_json::json;

use super::query::RetrievedPassage;
use crate::prompt_fence::{fence_passage, prompt_fence};

/// The characters of a passage that the model sees.
const PASSAGE_CHARS: usize = 900;

/// The most passages that are reranked; the others stay after them.
const MAX_RERANKED: usize = 30;

#[derive(Deserialize)]
struct RerankReply {
    scores: Vec<RerankScore>,
}

#[derive(Deserialize)]
struct RerankScore {
    passage: usize,
    score: f32,
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
    let asked = call
        .ask::<RerankReply>(
            build_request(question, &passages, &prompt_fence(call)),
            None,
        )
        .await;
    let judged = match asked {
        Ok(thinking) => thinking.value,
        Err(error @ ToolError::Cancelled) => return Err(error),
        Err(error) => {
            notes.push(format!(
                "The passages were not reranked because the model failed: {error}."
            ));
            return Ok(passages);
        }
    };
    for judgement in judged.scores {
        let at = judgement.passage.checked_sub(1);
        if let Some(passage) = at.and_then(|at| passages.get_mut(at)) {
            passage.rerank_score = Some((judgement.score / 100.0).clamp(0.0, 1.0));
        }
    }
    // The sort is stable: passages without a score stay after those with one.
    passages.sort_by(|a, b| {
        let score = |it: &RetrievedPassage| it.rerank_score.unwrap_or(-1.0);
        score(b).total_cmp(&score(a))
    });
    Ok(passages)
}

fn build_request(
    question: &str,
    passages: &[RetrievedPassage],
    fence: &PromptFence,
) -> ModelRequest {
    let shown = passages
        .iter()
        .take(MAX_RERANKED)
        .enumerate()
        .map(|(at, it)| {
            let text = deliberate_core::truncate_chars(&it.passage.text, PASSAGE_CHARS);
            fence_passage(fence, &[("id", &(at + 1).to_string())], &text)
        });
    let shown: Vec<String> = shown.collect();
    let most = shown.len();
    ModelRequest {
        key: "rerank".to_owned(),
        purpose: Purpose::new("rerank"),
        system: include_str!("rerank.md").to_owned(),
        messages: vec![ChatMessage::user(format!(
            "{}\n\n{}",
            fence.wrap("question", question),
            shown.join("\n\n")
        ))],
        schema: json!({
            "type": "object",
            "properties": { "scores": {
                "type": "array",
                "maxItems": most,
                "items": {
                    "type": "object",
                    "properties": {
                        "passage": { "type": "integer", "minimum": 1, "maximum": most },
                        "score": { "type": "integer", "minimum": 0, "maximum": 100 }
                    },
                    "required": ["passage", "score"],
                    "additionalProperties": false
                }
            } },
            "required": ["scores"],
            "additionalProperties": false
        }),
        plain_text: PlainText::IsRefused,
        max_tokens: 1_200,
        temperature: 0.0,
        ..ModelRequest::default()
    }
}
