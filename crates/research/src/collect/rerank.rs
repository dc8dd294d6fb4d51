//! The last order of passages, by the model that thinks for the call: one ask for all of them.

use deliberate_thinker::{Ask, Message, PlainText, Purpose};
use deliberate_toolkit::{Call, ToolError};
use serde::Deserialize;
use serde_json::json;

use super::{FoundPassage, fence::fenced};

/// How much of a passage is shown.
const SHOWN_CHARS: usize = 900;

/// How many are judged; what is behind them stays behind them.
const MOST: usize = 30;

#[derive(Deserialize)]
struct Judged {
    scores: Vec<Judgement>,
}

#[derive(Deserialize)]
struct Judgement {
    passage: usize,
    score: f32,
}

/// The passages in the order a model gives them. Without a model that can be asked now, or if it
/// gives nothing usable, they stay as they are, with a note.
pub(crate) async fn by_model(
    call: &Call,
    question: &str,
    mut passages: Vec<FoundPassage>,
    notes: &mut Vec<String>,
) -> Result<Vec<FoundPassage>, ToolError> {
    if passages.len() < 2 {
        return Ok(passages);
    }
    if !call.has_model().await {
        notes.push("No model could be asked for the final order.".to_owned());
        return Ok(passages);
    }
    let asked = call.think::<Judged>(ask(question, &passages), None).await;
    let judged = match asked {
        Ok(thinking) => thinking.value,
        Err(error @ ToolError::Cancelled) => return Err(error),
        Err(error) => {
            notes.push(format!(
                "The model could not give the final order: {error}."
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
    // Stable: what was not judged stays behind what was.
    passages.sort_by(|a, b| {
        let score = |it: &FoundPassage| it.rerank_score.unwrap_or(-1.0);
        score(b).total_cmp(&score(a))
    });
    Ok(passages)
}

fn ask(question: &str, passages: &[FoundPassage]) -> Ask {
    let shown = passages.iter().take(MOST).enumerate().map(|(at, it)| {
        let text = deliberate_core::cut_to_chars(&it.passage.text, SHOWN_CHARS);
        fenced(&[("id", &(at + 1).to_string())], &text)
    });
    let shown: Vec<String> = shown.collect();
    let most = shown.len();
    Ask {
        key: "rerank".to_owned(),
        purpose: Purpose::new("rerank"),
        system: include_str!("rerank.md").to_owned(),
        messages: vec![Message::user(format!(
            "Question: {question}\n\n{}",
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
        ..Ask::default()
    }
}
