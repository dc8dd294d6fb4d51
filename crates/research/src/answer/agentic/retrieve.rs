//! Looks for passages with all queries at once, each passage once.

use futures::future::join_all;

use super::state::{Desk, State, Stop};
use crate::{
    ArticleFilter, FoundPassage, Retrieval, Retrieved,
    answer::shelf::{Retrieves, look},
    collect::{BY_MEANING_ALONE, mode_name},
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
    let earlier = (!state.asked.is_empty()).then_some(state.notes.as_slice());
    let alone = by_meaning_alone(earlier, &found);
    state.asked.extend(queries);
    state.notes.retain(|it| it != BY_MEANING_ALONE);
    for one in &found {
        state.mode = mode_name(one.mode);
        for note in one.notes.iter().filter(|it| *it != BY_MEANING_ALONE) {
            state.note(note.clone());
        }
    }
    if alone {
        state.note(BY_MEANING_ALONE.to_owned());
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

/// Whether no word of any query is in what was searched, in this round and, by their notes, in those
/// before it. One wording that is nowhere says nothing against what another one found.
fn by_meaning_alone(earlier: Option<&[String]>, found: &[Retrieved]) -> bool {
    let says = |notes: &[String]| notes.iter().any(|it| it == BY_MEANING_ALONE);
    let mut some = found.iter().filter(|it| !it.passages.is_empty()).peekable();
    some.peek().is_some() && some.all(|it| says(&it.notes)) && earlier.is_none_or(says)
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

#[cfg(test)]
mod tests {
    use deliberate_core::Timestamp;
    use deliberate_index::Passage;

    use super::*;
    use crate::collect::{Kept, Place};

    /// What a query found, and whether by a word of it.
    fn found(by_word: bool) -> Retrieved {
        let passage = FoundPassage {
            kept: Kept::empty(Timestamp::from_micros(1)),
            passage: Passage::default(),
            place: Place {
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
        let note = (!by_word).then(|| BY_MEANING_ALONE.to_owned());
        Retrieved {
            passages: vec![passage],
            notes: note.into_iter().collect(),
            ..Retrieved::default()
        }
    }

    #[test]
    fn one_wording_that_is_nowhere_is_no_warning() {
        let note = [BY_MEANING_ALONE.to_owned()];
        assert!(by_meaning_alone(None, &[found(false), found(false)]));
        assert!(by_meaning_alone(
            None,
            &[found(false), Retrieved::default()]
        ));
        assert!(!by_meaning_alone(None, &[found(false), found(true)]));
        assert!(!by_meaning_alone(None, &[Retrieved::default()]));
        assert!(by_meaning_alone(Some(&note), &[found(false)]));
        assert!(!by_meaning_alone(Some(&[]), &[found(false)]));
    }
}
