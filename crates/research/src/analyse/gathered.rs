//! Articles about a topic, each with the passages that say so.

use std::collections::BTreeMap;

use deliberate_toolkit::{Call, ToolError};

use crate::{
    ArticleFilter, FoundPassage, Lab, Retrieval, Scope,
    collect::{Kept, OrderBy},
};

/// An article and its passages, best first.
#[derive(Debug, Clone)]
pub struct Gathered {
    /// The article.
    pub kept: Kept,
    /// What it says about the topic.
    pub passages: Vec<FoundPassage>,
    /// How well its best passage fits, as a share of the best of all.
    pub share: f32,
}

/// The most that is looked at.
const MOST_PASSAGES: usize = 400;

/// Articles about a topic in some order, so many of them, and what whoever asked should know.
pub async fn gather(
    lab: &Lab,
    call: &Call,
    topic: &str,
    filter: ArticleFilter,
    (order, most): (OrderBy, usize),
    passages_each: usize,
) -> Result<(Vec<Gathered>, Vec<String>), ToolError> {
    let wanted = Retrieval {
        question: topic.to_owned(),
        k: order
            .looked_at(most)
            .saturating_mul(passages_each.max(1))
            .saturating_mul(2)
            .min(MOST_PASSAGES),
        scope: Scope::All,
        filter,
        per_article: Some(passages_each.max(1)),
        ..Retrieval::default()
    };
    let found = lab.retrieve(call, &wanted).await?;
    let best = found
        .passages
        .first()
        .map_or(1.0, |it| it.score)
        .max(f32::MIN_POSITIVE);
    let mut best_first: Vec<String> = Vec::new();
    let mut by_article: BTreeMap<String, Gathered> = BTreeMap::new();
    for passage in found.passages {
        let id = passage.kept.id.clone();
        let entry = by_article.entry(id.clone()).or_insert_with(|| {
            best_first.push(id);
            Gathered {
                kept: passage.kept.clone(),
                passages: Vec::new(),
                share: (passage.score / best).clamp(0.0, 1.0),
            }
        });
        entry.passages.push(passage);
    }
    let gathered = best_first.iter().filter_map(|id| by_article.remove(id));
    let mut notes = found.notes;
    let all = gathered.collect();
    let some = order.of(all, most, |it: &Gathered| (&it.kept, it.share), &mut notes);
    Ok((some, notes))
}
