//! Which passages help: all that are new in one ask.

use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    llm_reranker::{self, PassageScores},
    response::passage_relevance,
    retriever::Retriever,
};

/// From this score on a passage is kept.
const RELEVANT_SCORE: f64 = 0.5;

/// From this share of the question's words on, where no model could be asked.
const RELEVANT_WORD_SHARE: f64 = 0.4;

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    desk: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    if state.ungraded.is_empty() {
        update_confidence(state);
        return Ok("nothing new to grade".to_owned());
    }
    let key = format!("grade/{}", state.rounds);
    let (ask, shown) =
        llm_reranker::score_request(key, &state.question, &state.pool, &state.ungraded);
    let scores: Option<PassageScores> = state.ask(desk.call, ask).await?;
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
        format!(" ({by_words} by words alone)")
    } else {
        String::new()
    };
    Ok(format!(
        "{} of {} passages help{note}",
        state
            .retrieved
            .iter()
            .filter(|it| state.relevant.contains(it))
            .count(),
        state.retrieved.len()
    ))
}

/// The same without a model.
pub(crate) fn grade_by_words(state: &mut AgenticState) {
    for at in std::mem::take(&mut state.ungraded) {
        if word_relevance(state, at) >= RELEVANT_WORD_SHARE {
            state.relevant.insert(at);
        }
    }
    update_confidence(state);
}

/// How well a passage fits the question by its words.
fn word_relevance(state: &AgenticState, at: usize) -> f64 {
    let found = state.pool.get(at);
    found.map_or(0.0, |it| passage_relevance(&state.question, it))
}

/// The share of what was found that is kept.
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
