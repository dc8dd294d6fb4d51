//! Articles about a topic, each with its matching passages.

use std::collections::BTreeMap;

use deliberate_toolkit::{ToolContext, ToolError};

use crate::{
    ArticleFilter, ResearchServices, RetrievalQuery, RetrievalScope, RetrievedPassage,
    articles::ArticleRecord, retrieval::sorting::OrderBy,
};

/// An article with its passages about a topic, best first.
#[derive(Debug, Clone)]
pub struct TopicArticle {
    pub record: ArticleRecord,
    pub passages: Vec<RetrievedPassage>,
    /// Score of its best passage, as a share of the best score overall.
    pub relative_score: f32,
}

/// Passages that are retrieved at most.
const MAX_TOPIC_PASSAGES: usize = 400;

/// Finds the best `most` articles about a topic in the given order, with notes for the caller.
pub async fn find_topic_articles(
    services: &ResearchServices,
    call: &ToolContext,
    topic: &str,
    filter: ArticleFilter,
    (order, most): (OrderBy, usize),
    passages_each: usize,
) -> Result<(Vec<TopicArticle>, Vec<String>), ToolError> {
    let wanted = RetrievalQuery {
        question: topic.to_owned(),
        k: order
            .candidate_count(most)
            .saturating_mul(passages_each.max(1))
            .saturating_mul(2)
            .min(MAX_TOPIC_PASSAGES),
        scope: RetrievalScope::All,
        filter,
        per_article: Some(passages_each.max(1)),
        ..RetrievalQuery::default()
    };
    let found = services.retrieve(call, &wanted).await?;
    let best = found
        .passages
        .first()
        .map_or(1.0, |it| it.score)
        .max(f32::MIN_POSITIVE);
    let mut best_first: Vec<String> = Vec::new();
    let mut by_article: BTreeMap<String, TopicArticle> = BTreeMap::new();
    for passage in found.passages {
        let id = passage.kept.id.clone();
        let entry = by_article.entry(id.clone()).or_insert_with(|| {
            best_first.push(id);
            TopicArticle {
                record: passage.kept.clone(),
                passages: Vec::new(),
                relative_score: (passage.score / best).clamp(0.0, 1.0),
            }
        });
        entry.passages.push(passage);
    }
    let gathered = best_first.iter().filter_map(|id| by_article.remove(id));
    let mut notes = found.notes;
    let all = gathered.collect();
    let some = order.apply(
        all,
        most,
        |it: &TopicArticle| (&it.record, it.relative_score),
        &mut notes,
    );
    Ok((some, notes))
}
