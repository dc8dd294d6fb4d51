//! What the graph came to, as it is told.

use serde_json::{Value, json};

use super::state::{Assessment, Kind, State};
use crate::answer::{
    judged::Judged,
    plain::withheld_text,
    said,
    shown::{self, SentenceShown, SourceShown, Status, TracedNode},
};

/// What came of a question.
pub(crate) struct Report {
    pub(crate) said: String,
    pub(crate) status: Status,
    pub(crate) grounded: bool,
    pub(crate) query_type: Kind,
    pub(crate) confidence: f64,
    pub(crate) assessment: Option<Assessment>,
    pub(crate) rounds: u32,
    pub(crate) queries: Vec<String>,
    pub(crate) sentences: Vec<SentenceShown>,
    pub(crate) support: Option<f64>,
    pub(crate) sources: Vec<SourceShown>,
    pub(crate) mode: &'static str,
    pub(crate) trace: Vec<TracedNode>,
    pub(crate) left_out: Vec<String>,
    pub(crate) spent: Value,
    pub(crate) notes: Vec<String>,
}

impl Report {
    pub(super) fn of(mut state: State, least: f64) -> Self {
        let grounded = state.is_grounded(least);
        let judged = state.judged.take().unwrap_or_default();
        let status = status(&state, &judged, grounded);
        if state.assessment == Some(Assessment::Incorrect) || status == Status::NothingFound {
            state.note(
                "The collection says little about this; search_papers may find papers that say more."
                    .to_owned(),
            );
        }
        let used = used(&state, &judged);
        let sources = shown::sources(&state.question, &state.pool, &used);
        let sentences = shown::sentences(&judged, &state.pool, &sources);
        let said = text(&state, status, &judged, least, &sentences, &sources);
        Self {
            said,
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
            spent: json!({
                "model_calls": state.budget.calls(),
                "tokens": state.budget.tokens(),
                "ms": u64::try_from(state.budget.took().as_millis()).unwrap_or(u64::MAX),
            }),
            queries: state.asked,
            trace: state.trace,
            left_out: state.left_out,
            notes: state.notes,
        }
    }
}

/// How much of what the answer is from helps. Where nothing was graded, as for a question that is
/// looked up at once, that is how much of the answer holds.
fn confidence(state: &State, judged: &Judged) -> f64 {
    match state.assessment {
        Some(_) => state.confidence,
        None => judged.support().unwrap_or(0.0),
    }
}

fn status(state: &State, judged: &Judged, grounded: bool) -> Status {
    let partial = !state.left_out.is_empty();
    // What was never looked for may well be there.
    let unsearched = state.asked.is_empty();
    match (judged.claims(), grounded) {
        (0, _) if unsearched || (partial && state.pool.len() > 0) => Status::Partial,
        (0, _) => Status::NothingFound,
        (_, true) if partial => Status::Partial,
        (_, true) => Status::Answered,
        (_, false) => Status::Withheld,
    }
}

/// The passages the answer was written from, and those its sentences rest on.
fn used(state: &State, judged: &Judged) -> Vec<usize> {
    let mut used = state.best();
    if used.is_empty() {
        used.clone_from(&state.found);
    }
    let rests = judged.sentences.iter();
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

fn text(
    state: &State,
    status: Status,
    judged: &Judged,
    least: f64,
    sentences: &[SentenceShown],
    sources: &[SourceShown],
) -> String {
    let left_out = if state.left_out.is_empty() {
        String::new()
    } else {
        let lines: Vec<String> = state
            .left_out
            .iter()
            .map(|it| format!("- {}", said::inline(it)))
            .collect();
        format!("\n\n## Left out\n\n{}", lines.join("\n"))
    };
    let notes = said::notes(&state.notes);
    match status {
        Status::Answered => format!("{}{notes}", said::answer(sentences, sources, true)),
        Status::Partial if judged.claims() > 0 => format!(
            "This answer is partial.\n\n{}{left_out}{notes}",
            said::answer(sentences, sources, true)
        ),
        Status::Partial => format!(
            "There is no answer yet; this is what was found.{}{left_out}{notes}",
            said::passages(sources)
        ),
        Status::Withheld => format!(
            "{}{left_out}",
            withheld_text(judged, least, sources, &state.notes)
        ),
        Status::NothingFound => {
            let asked: Vec<String> = state
                .asked
                .iter()
                .map(|it| format!("- {}", said::inline(it)))
                .collect();
            // What the model says of it is no query.
            let mut told = said::answer(sentences, sources, false);
            if !told.is_empty() {
                told.push_str("\n\n");
            }
            format!(
                "Nothing in the collection answers this.\n\n{told}Searched (scope: {}, mode: {}):\n{}{left_out}{notes}",
                said::inline(&state.scope_text),
                state.mode,
                asked.join("\n"),
            )
        }
    }
}
