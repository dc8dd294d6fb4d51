//! Grade node: decides which new passages are relevant, with one model request for all of them.

use crate::{
    answer::{
        agentic::state::{AgenticContext, AgenticState, NodeError},
        response::passage_relevance,
        retriever::Retriever,
    },
    retrieval::llm_reranker::PassageScores,
};

/// A passage with at least this score is relevant.
const RELEVANT_SCORE: f64 = 0.5;

/// The same threshold for the word-based relevance, which is used without a model.
const RELEVANT_WORD_SHARE: f64 = 0.4;

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    if state.ungraded.is_empty() {
        update_confidence(state);
        return Ok("nothing new to grade".to_owned());
    }
    let key = format!("grade/{}", state.rounds);
    let (ask, shown) = state
        .pool
        .score_request(key, &state.question, &state.ungraded);
    let scores: Option<PassageScores> = state.ask(context.call, ask).await?;
    let fresh = std::mem::take(&mut state.ungraded);
    let mut by_words = 0;
    for at in fresh {
        let given = scores
            .as_ref()
            .filter(|_| shown.contains(&at))
            .and_then(|it| it.get(at));
        let helps = if let Some(score) = given {
            state.scores.insert(at, score);
            score >= RELEVANT_SCORE
        } else {
            by_words += 1;
            let fits = word_relevance(state, at);
            state.scores.insert(at, fits.min(RELEVANT_SCORE));
            fits >= RELEVANT_WORD_SHARE
        };
        if helps {
            state.relevant.insert(at);
        }
    }
    update_confidence(state);
    let note = if by_words > 0 {
        format!(" ({by_words} graded by words alone)")
    } else {
        String::new()
    };
    Ok(format!(
        "{} of {} passages are relevant{note}",
        state
            .retrieved
            .iter()
            .filter(|it| state.relevant.contains(it))
            .count(),
        state.retrieved.len()
    ))
}

/// Grades the new passages without a model.
pub(crate) fn grade_by_words(state: &mut AgenticState) {
    for at in std::mem::take(&mut state.ungraded) {
        if word_relevance(state, at) >= RELEVANT_WORD_SHARE {
            state.relevant.insert(at);
        }
    }
    update_confidence(state);
}

/// Relevance of a passage without a model.
fn word_relevance(state: &AgenticState, at: usize) -> f64 {
    let found = state.pool.get(at);
    found.map_or(0.0, |it| passage_relevance(&state.question, it))
}

/// Sets the confidence to the share of retrieved passages that are relevant.
fn update_confidence(state: &mut AgenticState) {
    let kept = state
        .retrieved
        .iter()
        .filter(|it| state.relevant.contains(it))
        .count();
    state.confidence = if state.retrieved.is_empty() {
        0.0
    } else {
        kept as f64 / state.retrieved.len() as f64
    };
}
