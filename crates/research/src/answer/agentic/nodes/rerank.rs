//! Rerank node: orders the passages by their grades, by a model's scores if the settings ask for
//! reranking, or else by relevance.

use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    llm_reranker::{self, PassageScores},
    response::passage_relevance,
    retriever::Retriever,
};

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let kept: Vec<usize> = state.relevant.iter().copied().collect();
    let chosen = if kept.is_empty() {
        (0..state.pool.len()).collect()
    } else {
        kept
    };
    let ungraded = chosen.iter().any(|it| !state.scores.contains_key(it));
    let by_model = context.retriever.uses_llm_reranker() && context.call.has_model().await;
    if by_model && ungraded && chosen.len() > 1 && !state.budget.is_nearly_exhausted() {
        let key = format!("rerank/{}", state.rounds);
        let (ask, shown) = llm_reranker::score_request(key, &state.question, &state.pool, &chosen);
        if let Some(scores) = state.ask::<PassageScores>(context.call, ask).await? {
            let given = shown
                .into_iter()
                .filter_map(|at| Some((at, scores.get(at)?)));
            state.scores.extend(given);
        }
    }
    let graded = !state.scores.is_empty();
    state.order = if graded {
        llm_reranker::sort_by_score(chosen, |at| state.scores.get(&at).copied())
    } else {
        let question = state.question.clone();
        let fits = |at: usize| {
            state
                .pool
                .get(at)
                .map(|it| passage_relevance(&question, it))
        };
        llm_reranker::sort_by_score(chosen, fits)
    };
    let by = if graded { "their grades" } else { "relevance" };
    Ok(format!("{} passages, by {by}", state.order.len()))
}
