//! Result of the agentic graph, as text and data.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::state::{AgenticState, Assessment, QuestionKind};
use crate::answer::{
    checked_answer::CheckedAnswer,
    markdown,
    response::{self, AnswerSentence, AnswerSource, AnswerStatus, NodeTrace},
    single_pass::withheld_text,
};

/// Response to an agentic question, as the tool returns it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(description = "")]
pub struct AgenticResponse {
    #[serde(rename = "said")]
    text: String,
    status: AnswerStatus,
    /// Whether enough of the answer is supported
    grounded: bool,
    query_type: QuestionKind,
    /// Share of relevant passages in the last search; `support` if none was graded
    confidence: f64,
    assessment: Option<Assessment>,
    /// Searches
    rounds: u32,
    queries: Vec<String>,
    sentences: Vec<AnswerSentence>,
    /// Share of claims that the passages support; null without claims
    support: Option<f64>,
    sources: Vec<AnswerSource>,
    mode: &'static str,
    trace: Vec<NodeTrace>,
    /// Steps skipped because of a limit or a failure
    #[serde(rename = "left_out")]
    skipped: Vec<String>,
    /// Model calls, approximate tokens and milliseconds
    #[serde(rename = "spent")]
    usage: Value,
    notes: Vec<String>,
}

impl AgenticResponse {
    pub(super) fn from_state(mut state: AgenticState, least: f64) -> Self {
        let grounded = state.is_grounded(least);
        let judged = state.checked_answer.take().unwrap_or_default();
        let status = status(&state, &judged, grounded);
        if state.assessment == Some(Assessment::Incorrect) || status == AnswerStatus::NothingFound {
            state.note(
                "The collection says little about this. search_papers may find more papers."
                    .to_owned(),
            );
        }
        let used = used_passages(&state, &judged);
        let sources = response::build_sources(&state.question, &state.pool, &used);
        let sentences = response::build_sentences(&judged, &state.pool, &sources);
        let text = render_text(&state, status, &judged, least, &sentences, &sources);
        Self {
            text,
            status,
            grounded,
            query_type: state.kind,
            confidence: (confidence(&state, &judged) * 1_000.0).round() / 1_000.0,
            assessment: state.assessment,
            rounds: state.rounds,
            support: judged.support(),
            sentences,
            sources,
            mode: state.mode,
            usage: json!({
                "model_calls": state.budget.calls(),
                "tokens": state.budget.tokens(),
                "ms": u64::try_from(state.budget.elapsed().as_millis()).unwrap_or(u64::MAX),
            }),
            queries: state.past_queries,
            trace: state.trace,
            skipped: state.skipped,
            notes: state.notes,
        }
    }
}

/// The share of relevant passages, or the share of supported claims if nothing was graded, as for
/// a direct question.
fn confidence(state: &AgenticState, answer: &CheckedAnswer) -> f64 {
    match state.assessment {
        Some(_) => state.confidence,
        None => answer.support().unwrap_or(0.0),
    }
}

fn status(state: &AgenticState, answer: &CheckedAnswer, grounded: bool) -> AnswerStatus {
    let partial = !state.skipped.is_empty();
    // Without a search, nothing can be said about the collection.
    let unsearched = state.past_queries.is_empty();
    match (answer.claim_count(), grounded) {
        (0, _) if unsearched || (partial && state.pool.len() > 0) => AnswerStatus::Partial,
        (0, _) => AnswerStatus::NothingFound,
        (_, true) if partial => AnswerStatus::Partial,
        (_, true) => AnswerStatus::Answered,
        (_, false) => AnswerStatus::Withheld,
    }
}

/// The passages that the answer was written from, and those that its sentences cite as evidence.
fn used_passages(state: &AgenticState, answer: &CheckedAnswer) -> Vec<usize> {
    let mut used = state.best_passages();
    if used.is_empty() {
        used.clone_from(&state.retrieved);
    }
    let rests = answer.sentences.iter();
    let rests = rests.flat_map(|(_, it)| it.evidence.iter().chain(&it.disputed));
    for evidence in rests {
        let at = evidence
            .passage
            .strip_prefix('p')
            .and_then(|it| it.parse::<usize>().ok());
        if let Some(at) = at.and_then(|it| it.checked_sub(1))
            && !used.contains(&at)
        {
            used.push(at);
        }
    }
    used
}

fn render_text(
    state: &AgenticState,
    status: AnswerStatus,
    checked_answer: &CheckedAnswer,
    least: f64,
    sentences: &[AnswerSentence],
    sources: &[AnswerSource],
) -> String {
    let left_out = if state.skipped.is_empty() {
        String::new()
    } else {
        let lines: Vec<String> = state
            .skipped
            .iter()
            .map(|it| format!("- {}", markdown::sanitize_inline(it)))
            .collect();
        format!("\n\n## Left out\n\n{}", lines.join("\n"))
    };
    let notes = markdown::render_notes(&state.notes);
    match status {
        AnswerStatus::Answered => {
            format!(
                "{}{notes}",
                markdown::render_answer(sentences, sources, true)
            )
        }
        AnswerStatus::Partial if checked_answer.claim_count() > 0 => format!(
            "This answer is partial.\n\n{}{left_out}{notes}",
            markdown::render_answer(sentences, sources, true)
        ),
        AnswerStatus::Partial => format!(
            "There is no answer yet. These passages were found.{}{left_out}{notes}",
            markdown::render_passages(sources, state.pool.fence())
        ),
        AnswerStatus::Withheld => format!(
            "{}{left_out}",
            withheld_text(
                checked_answer,
                least,
                sources,
                &state.notes,
                state.pool.fence()
            )
        ),
        AnswerStatus::NothingFound => {
            let asked: Vec<String> = state
                .past_queries
                .iter()
                .map(|it| format!("- {}", markdown::sanitize_inline(it)))
                .collect();
            // Sentences of the model come before the list of queries.
            let mut told = markdown::render_answer(sentences, sources, false);
            if !told.is_empty() {
                told.push_str("\n\n");
            }
            format!(
                "Nothing in the collection answers this.\n\n{told}Searched (scope: {}, mode: {}):\n{}{left_out}{notes}",
                markdown::sanitize_inline(&state.scope_text),
                state.mode,
                asked.join("\n"),
            )
        }
    }
}
