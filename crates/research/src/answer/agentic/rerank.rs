//! The order passages are read in: by the grades they have, by a second look where the settings
//! want one, else as they were found.

use super::state::{Desk, State, Stop};
use crate::answer::{
    rerank::{self, Scores},
    shelf::Retrieves,
    shown::relevance_of,
};

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    let kept: Vec<usize> = state.kept.iter().copied().collect();
    let chosen = if kept.is_empty() {
        (0..state.pool.len()).collect()
    } else {
        kept
    };
    let ungraded = chosen.iter().any(|it| !state.scores.contains_key(it));
    let by_model = desk.shelf.reranks_by_model() && desk.call.has_model().await;
    if by_model && ungraded && chosen.len() > 1 && !state.budget.is_scarce() {
        let key = format!("rerank/{}", state.rounds);
        let (ask, shown) = rerank::ask(key, &state.question, &state.pool, &chosen);
        if let Some(scores) = state.ask::<Scores>(desk.call, ask).await? {
            let given = shown
                .into_iter()
                .filter_map(|at| Some((at, scores.of(at)?)));
            state.scores.extend(given);
        }
    }
    let graded = !state.scores.is_empty();
    state.order = if graded {
        rerank::ordered(chosen, |at| state.scores.get(&at).copied())
    } else {
        let question = state.question.clone();
        let fits = |at: usize| state.pool.get(at).map(|it| relevance_of(&question, it));
        rerank::ordered(chosen, fits)
    };
    let by = if graded { "their grades" } else { "relevance" };
    Ok(format!("{} passages, by {by}", state.order.len()))
}
