//! Retrieve node: searches with all queries at once and adds each passage once.

use futures::future::join_all;

use crate::{
    ArticleFilter, RetrievalQuery, RetrievalResult, RetrievedPassage,
    answer::{
        agentic::state::{AgenticContext, AgenticState, NodeError},
        retriever::{Retriever, retrieve_memoized},
    },
    retrieval::{query::mode_name, retriever::VECTOR_ONLY_NOTE},
};

/// Limits of one query: all passages, and passages of one paper.
const MAX_PASSAGES: usize = 30;
const MAX_PER_ARTICLE: usize = 4;

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let round = state.rounds;
    state.rounds += 1;
    let queries = std::mem::take(&mut state.queries);
    let mut found = search(state, context, &queries, &format!("retrieved/{round}")).await?;
    let empty = found.iter().all(|it| it.passages.is_empty());
    if empty && state.filter != ArticleFilter::default() {
        state.filter = ArticleFilter::default();
        state.note(
            "No paper matches the filters of the question, so all papers were searched.".to_owned(),
        );
        found = search(state, context, &queries, &format!("retrieved/{round}/all")).await?;
    }
    let earlier = (!state.past_queries.is_empty()).then_some(state.notes.as_slice());
    let alone = is_semantic_only(earlier, &found);
    state.past_queries.extend(queries);
    state.notes.retain(|it| it != VECTOR_ONLY_NOTE);
    for one in &found {
        state.mode = mode_name(one.mode);
        for note in one.notes.iter().filter(|it| *it != VECTOR_ONLY_NOTE) {
            state.note(note.clone());
        }
    }
    if alone {
        state.note(VECTOR_ONLY_NOTE.to_owned());
    }
    let before = state.pool.len();
    state.retrieved = state.pool.add(interleave(found));
    let graded = |at: &usize| state.scores.contains_key(at);
    state.ungraded = state
        .retrieved
        .iter()
        .copied()
        .filter(|it| !graded(it))
        .collect();
    Ok(format!(
        "{} passages, {} of them new",
        state.retrieved.len(),
        state.pool.len() - before
    ))
}

async fn search<R: Retriever>(
    state: &AgenticState,
    context: &AgenticContext<'_, R>,
    queries: &[String],
    key: &str,
) -> Result<Vec<RetrievalResult>, NodeError> {
    let wanted: Vec<(String, RetrievalQuery)> = queries
        .iter()
        .enumerate()
        .map(|(at, query)| {
            let wanted = RetrievalQuery {
                question: query.clone(),
                k: (state.max_sources * 2).clamp(6, MAX_PASSAGES),
                scope: state.scope.clone(),
                filter: state.filter.clone(),
                per_article: Some(MAX_PER_ARTICLE),
                ..RetrievalQuery::default()
            };
            (format!("{key}/{at}"), wanted)
        })
        .collect();
    let looks = wanted
        .iter()
        .map(|(key, wanted)| retrieve_memoized(context.retriever, context.call, key, wanted));
    let looks = join_all(looks);
    let found = match state.budget.remaining_time() {
        None => looks.await,
        Some(left) => match tokio::time::timeout(left, looks).await {
            Ok(found) => found,
            Err(_) => return Err(NodeError::BudgetExhausted(state.budget.timeout_message())),
        },
    };
    let found: Result<Vec<RetrievalResult>, _> = found.into_iter().collect();
    Ok(found?)
}

/// Whether no query word occurs in the searched passages, neither in this round nor, by their
/// notes, in earlier ones. One query without a match says nothing about the results of another.
fn is_semantic_only(earlier: Option<&[String]>, found: &[RetrievalResult]) -> bool {
    let says = |notes: &[String]| notes.iter().any(|it| it == VECTOR_ONLY_NOTE);
    let mut some = found.iter().filter(|it| !it.passages.is_empty()).peekable();
    some.peek().is_some() && some.all(|it| says(&it.notes)) && earlier.is_none_or(says)
}

/// Merges the results: the best of each query first, then the second of each, and so on.
fn interleave(found: Vec<RetrievalResult>) -> Vec<RetrievedPassage> {
    let mut lists: Vec<_> = found
        .into_iter()
        .map(|it| it.passages.into_iter())
        .collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::Timestamp;
    use deliberate_index::Passage;

    use super::*;
    use crate::articles::{ArticleRecord, TextSpan};

    /// A result with one passage, found by a query word or by vectors alone.
    fn retrieval_result(by_word: bool) -> RetrievalResult {
        let passage = RetrievedPassage {
            kept: ArticleRecord::empty(Timestamp::from_micros(1)),
            passage: Passage::default(),
            place: TextSpan {
                page: 1,
                start: 0,
                end_page: 1,
                end: 0,
            },
            score: 1.0,
            text_score: by_word.then_some(1.0),
            similarity: None,
            rerank_score: None,
        };
        let note = (!by_word).then(|| VECTOR_ONLY_NOTE.to_owned());
        RetrievalResult {
            passages: vec![passage],
            notes: note.into_iter().collect(),
            ..RetrievalResult::default()
        }
    }

    #[test]
    fn one_wording_that_is_nowhere_is_no_warning() {
        let note = [VECTOR_ONLY_NOTE.to_owned()];
        assert!(is_semantic_only(
            None,
            &[retrieval_result(false), retrieval_result(false)]
        ));
        assert!(is_semantic_only(
            None,
            &[retrieval_result(false), RetrievalResult::default()]
        ));
        assert!(!is_semantic_only(
            None,
            &[retrieval_result(false), retrieval_result(true)]
        ));
        assert!(!is_semantic_only(None, &[RetrievalResult::default()]));
        assert!(is_semantic_only(Some(&note), &[retrieval_result(false)]));
        assert!(!is_semantic_only(Some(&[]), &[retrieval_result(false)]));
    }
}
