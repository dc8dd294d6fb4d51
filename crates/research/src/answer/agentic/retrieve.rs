//! Looks for passages with all queries at once, each passage once.

use futures::future::join_all;

use super::state::{Desk, State, Stop};
use crate::{
    ArticleFilter, FoundPassage, Retrieval, Retrieved,
    answer::shelf::{Retrieves, look},
    collect::mode_name,
};

/// The most passages of one query, and of one paper in it.
const MOST: usize = 30;
const PER_ARTICLE: usize = 4;

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    let round = state.rounds;
    state.rounds += 1;
    let queries = std::mem::take(&mut state.queries);
    let mut found = search(state, desk, &queries, &format!("retrieved/{round}")).await?;
    let empty = found.iter().all(|it| it.passages.is_empty());
    if empty && state.filter != ArticleFilter::default() {
        state.filter = ArticleFilter::default();
        state.note(
            "No paper fits what the question restricts itself to; all were searched.".to_owned(),
        );
        found = search(state, desk, &queries, &format!("retrieved/{round}/all")).await?;
    }
    state.asked.extend(queries);
    for one in &found {
        state.mode = mode_name(one.mode);
        for note in one.notes.clone() {
            state.note(note);
        }
    }
    let before = state.pool.len();
    state.found = state.pool.add(in_turn(found));
    let graded = |at: &usize| state.scores.contains_key(at);
    state.fresh = state
        .found
        .iter()
        .copied()
        .filter(|it| !graded(it))
        .collect();
    Ok(format!(
        "{} passages, {} of them new",
        state.found.len(),
        state.pool.len() - before
    ))
}

async fn search<R: Retrieves>(
    state: &State,
    desk: &Desk<'_, R>,
    queries: &[String],
    key: &str,
) -> Result<Vec<Retrieved>, Stop> {
    let wanted: Vec<(String, Retrieval)> = queries
        .iter()
        .enumerate()
        .map(|(at, query)| {
            let wanted = Retrieval {
                question: query.clone(),
                k: (state.max_sources * 2).clamp(6, MOST),
                scope: state.scope.clone(),
                filter: state.filter.clone(),
                per_article: Some(PER_ARTICLE),
                ..Retrieval::default()
            };
            (format!("{key}/{at}"), wanted)
        })
        .collect();
    let looks = wanted
        .iter()
        .map(|(key, wanted)| look(desk.shelf, desk.call, key, wanted));
    let looks = join_all(looks);
    let found = match state.budget.left() {
        None => looks.await,
        Some(left) => match tokio::time::timeout(left, looks).await {
            Ok(found) => found,
            Err(_) => return Err(Stop::Spent(state.budget.out_of_time())),
        },
    };
    let found: Result<Vec<Retrieved>, _> = found.into_iter().collect();
    Ok(found?)
}

/// The best of each query first, then the second of each, and so on.
fn in_turn(found: Vec<Retrieved>) -> Vec<FoundPassage> {
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
