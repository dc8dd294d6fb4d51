//! Which passages help: all that are new in one ask.

use super::state::{Desk, State, Stop};
use crate::answer::{
    rerank::{self, Scores},
    shelf::Retrieves,
    shown::relevance_of,
};

/// From this score on a passage is kept.
const HELPS: f64 = 0.5;

/// From this share of the question's words on, where no model could be asked.
const HELPS_BY_WORDS: f64 = 0.4;

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    if state.fresh.is_empty() {
        weigh(state);
        return Ok("nothing new to grade".to_owned());
    }
    let key = format!("grade/{}", state.rounds);
    let (ask, shown) = rerank::ask(key, &state.question, &state.pool, &state.fresh);
    let scores: Option<Scores> = state.ask(desk.call, ask).await?;
    let fresh = std::mem::take(&mut state.fresh);
    let mut by_words = 0;
    for at in fresh {
        let given = scores
            .as_ref()
            .filter(|_| shown.contains(&at))
            .and_then(|it| it.of(at));
        let helps = if let Some(score) = given {
            state.scores.insert(at, score);
            score >= HELPS
        } else {
            by_words += 1;
            let fits = fits(state, at);
            state.scores.insert(at, fits.min(HELPS));
            fits >= HELPS_BY_WORDS
        };
        if helps {
            state.kept.insert(at);
        }
    }
    weigh(state);
    let note = if by_words > 0 {
        format!(" ({by_words} by words alone)")
    } else {
        String::new()
    };
    Ok(format!(
        "{} of {} passages help{note}",
        state
            .found
            .iter()
            .filter(|it| state.kept.contains(it))
            .count(),
        state.found.len()
    ))
}

/// The same without a model.
pub(super) fn by_words(state: &mut State) {
    for at in std::mem::take(&mut state.fresh) {
        if fits(state, at) >= HELPS_BY_WORDS {
            state.kept.insert(at);
        }
    }
    weigh(state);
}

/// How well a passage fits the question by its words.
fn fits(state: &State, at: usize) -> f64 {
    let found = state.pool.get(at);
    found.map_or(0.0, |it| relevance_of(&state.question, it))
}

/// The share of what was found that is kept.
fn weigh(state: &mut State) {
    let kept = state
        .found
        .iter()
        .filter(|it| state.kept.contains(it))
        .count();
    state.confidence = if state.found.is_empty() {
        0.0
    } else {
        kept as f64 / state.found.len() as f64
    };
}
