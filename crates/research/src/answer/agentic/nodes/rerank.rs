//! Rerank node: orders the passages by their grades, by a model's scores if the settings ask for
//! reranking, or else by relevance.

use crate::{
    answer::{
        agentic::state::{AgenticContext, AgenticState, NodeError},
        response::passage_relevance,
        retriever::Retriever,
    },
    retrieval::llm_reranker::{PassageScores, sort_by_score},
};

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let kept: Vec<usize> = state.relevant.iter().copied().collect();
    let mut chosen: Vec<usize> = if kept.is_empty() {
        (0..state.pool.len()).collect()
    } else {
        kept
    };
    let ungraded = chosen.iter().any(|it| !state.scores.contains_key(it));
    let by_model = context.retriever.uses_llm_reranker() && context.call.has_model().await;
    if by_model && ungraded && chosen.len() > 1 && !state.budget.is_nearly_exhausted() {
        let key = format!("rerank/{}", state.rounds);
        let (ask, shown) = state.pool.score_request(key, &state.question, &chosen);
        if let Some(scores) = state.ask::<PassageScores>(context.call, ask).await? {
            let given = shown
                .into_iter()
                .filter_map(|at| Some((at, scores.get(at)?)));
            state.scores.extend(given);
        }
    }
    let graded = !state.scores.is_empty();
    if graded {
        sort_by_score(&mut chosen, |at| state.scores.get(at).copied());
    } else {
        let fits = |at: &usize| {
            let found = state.pool.get(*at);
            found.map(|it| passage_relevance(&state.question, it))
        };
        sort_by_score(&mut chosen, fits);
    }
    state.order = chosen;
    let by = if graded { "their grades" } else { "relevance" };
    Ok(format!("{} passages, by {by}", state.order.len()))
}
