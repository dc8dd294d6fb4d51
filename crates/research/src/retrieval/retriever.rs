//! The retriever: synchronizes the index if that is quick, searches it, and resolves each hit to
//! the current article and position.

use std::{collections::BTreeSet, time::Duration};

use deliberate_index::{
    Fusion, Index, IndexError, IndexFilter, PassageHit, PassageHits, Query, SearchMode,
};
use deliberate_store::DocumentFilter;
use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolContext, ToolError};

use super::{
    hit_resolution::{HitLimits, ResolvedHits},
    index_filter::{category_filter, collection_filter, id_filter},
    llm_reranker,
    query::{ArticleFilter, RetrievalQuery, RetrievalResult, RetrievalScope, RetrievedPassage},
};
use crate::{
    RerankOptions, ResearchServices,
    articles::{
        ARTICLE, ArticleCategory, ArticleRecord, ArticleRepository,
        collections::{self, CustomIndex, KnowledgeCollection},
        work_kind::parse_work_kind,
    },
    index_sync::IndexSyncError,
};

/// The most passages of one search.
pub(crate) const MAX_PASSAGES: usize = 200;

/// The timeout of the embedding and reranking services.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(12);

/// How many times more passages are requested when some will be dropped.
const OVERFETCH_FACTOR: usize = 4;

/// The most index queries of one search.
const MAX_ROUNDS: usize = 4;

/// The lowest similarity at which an article without a word of the topic belongs to a custom index.
const MIN_TOPIC_SIMILARITY: f32 = 0.45;

/// The note if no word of the question occurs.
pub(crate) const VECTOR_ONLY_NOTE: &str = "No word of the question occurs in the searched texts: these \
     passages were found by meaning alone and may be unrelated.";

/// The number of an article's passages that are used to find related articles.
const MAX_QUERY_PASSAGES: usize = 12;

impl ResearchServices {
    /// Searches the collection. The index is synchronized first if that is quick; otherwise the
    /// notes say so.
    pub async fn retrieve(
        &self,
        call: &ToolContext,
        retrieval_query: &RetrievalQuery,
    ) -> Result<RetrievalResult, ToolError> {
        if retrieval_query.question.trim().is_empty() {
            let issue = ArgumentIssue::new("query", "must not be empty");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let mut notes = self.sync_index().await;
        let Some(filter) = self.build_filter(call, retrieval_query, &mut notes).await? else {
            return Ok(RetrievalResult {
                notes,
                ..RetrievalResult::default()
            });
        };
        let k = retrieval_query.k.clamp(1, MAX_PASSAGES);
        let spare = if retrieval_query.per_article.is_some() {
            OVERFETCH_FACTOR
        } else {
            2
        };
        let query = Query {
            text: retrieval_query.question.clone(),
            k: (k * spare).min(MAX_PASSAGES * OVERFETCH_FACTOR),
            mode: retrieval_query.mode,
            filter,
            fusion: self.fusion(),
            reranker: self.reranker().filter(|_| retrieval_query.rerank).cloned(),
            ..Query::default()
        };
        let taking = HitLimits {
            k,
            per_article: retrieval_query.per_article,
        };
        let (mut passages, mode) = self.retrieve_passages(query, taking, &mut notes).await?;
        if retrieval_query.rerank && matches!(self.options().retrieval.rerank, RerankOptions::Model)
        {
            passages = llm_reranker::rerank_with_model(
                call,
                &retrieval_query.question,
                passages,
                &mut notes,
            )
            .await?;
        }
        Ok(RetrievalResult {
            passages,
            mode,
            notes,
        })
    }

    /// Finds related articles with their similarity, the most similar first.
    pub async fn find_related(
        &self,
        call: &ToolContext,
        record: &ArticleRecord,
        k: usize,
        filter: &ArticleFilter,
    ) -> Result<(Vec<(ArticleRecord, f32)>, Vec<String>), ToolError> {
        let mut notes = self.sync_index().await;
        let mut filter = filter.clone();
        filter.not_ids.push(record.id.clone());
        let filter = filter
            .as_index_filter(ArticleRepository(call.store()))
            .await?;
        let index = self.index_sync().index().await.map_err(index_error)?;
        let mut texts = vec![title_and_abstract(record)];
        let own = index
            .document_passages(&record.id)
            .await
            .map_err(index_error)?;
        let step = own.len().div_ceil(MAX_QUERY_PASSAGES).max(1);
        texts.extend(own.into_iter().step_by(step).map(|it| it.text));
        let k = k.clamp(1, MAX_PASSAGES);
        let hits = index.nearest(&texts, &filter, (k * OVERFETCH_FACTOR * 2).min(1_000));
        let hits = hits.await.map_err(index_error)?;
        notes.extend(hits.notes);
        let mut best = Vec::<(String, f32)>::new();
        for hit in hits.hits {
            if best.iter().all(|(id, _)| *id != hit.document) {
                best.push((hit.document, hit.similarity.unwrap_or(hit.score)));
            }
        }
        let mut found = Vec::new();
        for (id, score) in best.into_iter().take(k) {
            let version = ArticleRepository(call.store()).get(&id).await?;
            found.extend(version.map(|it| (it.record, score)));
        }
        Ok((found, notes))
    }

    /// Synchronizes the index if that is quick; returns a note otherwise.
    async fn sync_index(&self) -> Vec<String> {
        let keeper = self.index_sync();
        let note = match keeper.catch_up(keeper.sync_timeout()).await {
            Ok(true) => return Vec::new(),
            Ok(false) => {
                let progress = keeper.progress();
                let far = progress.percent().map(|it| format!(" ({it} %)"));
                format!(
                    "The index is still being built{}, so recent additions may be missing. Search \
                   again in a moment.",
                    far.unwrap_or_default()
                )
            }
            Err(error) => format!("The index is not current: {error}."),
        };
        vec![note]
    }

    /// Queries the index; a damaged index is rebuilt and queried once more.
    pub(crate) async fn search_index(&self, query: &Query) -> Result<PassageHits, ToolError> {
        let keeper = self.index_sync();
        let index = keeper.index().await.map_err(index_error)?;
        let Ok(answered) = tokio::time::timeout(SEARCH_TIMEOUT, index.search(query)).await else {
            return search_text_only(&index, query).await;
        };
        match answered {
            Err(IndexError::Corrupt { reason }) => {
                drop(index);
                keeper.discard_index(&reason).await;
                let whole =
                    keeper
                        .catch_up(keeper.sync_timeout())
                        .await
                        .map_err(|it| match it {
                            IndexSyncError::Index(error) => index_error(error),
                            IndexSyncError::Store(error) => error,
                        })?;
                let index = keeper.index().await.map_err(index_error)?;
                let mut hits = index.search(query).await.map_err(index_error)?;
                if !whole {
                    hits.notes.push(
                        "the index was damaged and is being rebuilt: search again in a moment"
                            .to_owned(),
                    );
                }
                Ok(hits)
            }
            answered => answered.map_err(index_error),
        }
    }

    /// The weights of the two rankings.
    pub(crate) fn fusion(&self) -> Fusion {
        let retrieval = &self.options().retrieval;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the settings hold small numbers"
        )]
        let small = |it: f64| it as f32;
        Fusion {
            rank_constant: small(retrieval.rank_constant),
            vector_weight: small(retrieval.vector_weight),
            adaptive: retrieval.adaptive,
            text_weight: small(retrieval.text_weight),
            ..Fusion::default()
        }
    }

    /// Combines scope and filter; `None` if nothing can match.
    async fn build_filter(
        &self,
        call: &ToolContext,
        query: &RetrievalQuery,
        notes: &mut Vec<String>,
    ) -> Result<Option<IndexFilter>, ToolError> {
        let given = query
            .filter
            .as_index_filter(ArticleRepository(call.store()))
            .await?;
        let scope = match &query.scope {
            RetrievalScope::All => IndexFilter::All,
            RetrievalScope::PapersOnly => category_filter(ArticleCategory::ResearchPaper),
            RetrievalScope::External => category_filter(ArticleCategory::External),
            RetrievalScope::Collection(name) => {
                let found: KnowledgeCollection = collections::find(call.store(), name).await?;
                collection_filter(&found.name)
            }
            RetrievalScope::Index(name) => {
                let custom: CustomIndex = collections::find(call.store(), name).await?;
                let ids = self.custom_index_members(&custom).await?;
                if ids.is_empty() {
                    notes.push(format!(
                        "No article of the collection currently matches the index {:?}.",
                        custom.name
                    ));
                    return Ok(None);
                }
                id_filter(ids)
            }
        };
        Ok(Some(match (scope, given) {
            (IndexFilter::All, one) | (one, IndexFilter::All) => one,
            (scope, given) => IndexFilter::And(vec![scope, given]),
        }))
    }

    /// The articles that currently belong to a custom index, the best match for its topic first.
    pub(crate) async fn custom_index_members(
        &self,
        custom: &CustomIndex,
    ) -> Result<BTreeSet<String>, ToolError> {
        let mut kinds = Vec::new();
        for kind in &custom.kinds {
            kinds.push(parse_work_kind("document_types", kind)?.as_str().to_owned());
        }
        let filter = if kinds.is_empty() {
            IndexFilter::All
        } else {
            IndexFilter::Word {
                name: "kind".to_owned(),
                any_of: kinds,
            }
        };
        let query = Query {
            text: custom.topic.clone(),
            k: 1_000,
            filter,
            fusion: self.fusion(),
            ..Query::default()
        };
        let hits = self.search_index(&query).await?;
        let fits = |hit: &PassageHit| {
            hit.text_score.is_some() || hit.similarity.is_some_and(|it| it >= MIN_TOPIC_SIMILARITY)
        };
        let mut ids = BTreeSet::new();
        for hit in hits.hits.into_iter().filter(fits) {
            if ids.len() < custom.max_documents {
                ids.insert(hit.document);
            }
        }
        Ok(ids)
    }

    /// Searches and resolves the hits. One long article may take all of the best hits; then the
    /// search is repeated without it.
    async fn retrieve_passages(
        &self,
        mut query: Query,
        taking: HitLimits,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<RetrievedPassage>, SearchMode), ToolError> {
        let wanted = query.filter.clone();
        let mut taken = ResolvedHits::default();
        let mut mode = query.mode;
        for round in 0..MAX_ROUNDS {
            let hits = self.search_index(&query).await?;
            if round == 0 {
                mode = hits.mode;
                notes.extend(hits.notes.iter().cloned());
                notes.extend(vector_only_note(query.mode, &hits));
            }
            let is_all = hits.hits.len() < query.k;
            taken
                .add_hits(hits, taking, ArticleRepository(self.store()))
                .await?;
            let exhausted = taken.exhausted_articles(taking);
            if is_all || taken.passages.len() >= taking.k || exhausted.is_empty() {
                break;
            }
            let all = self
                .store()
                .count_documents(&DocumentFilter::of_kind(ARTICLE))
                .await?;
            if exhausted.len() as u64 >= all {
                break;
            }
            let others = IndexFilter::Not(Box::new(IndexFilter::Documents(exhausted)));
            query.filter = IndexFilter::And(vec![wanted.clone(), others]);
        }
        if taken.stale {
            notes.push(
                "Some passages changed since they were indexed and were left out.".to_owned(),
            );
        }
        Ok((taken.passages, mode))
    }
}

/// The note if no word of the question occurs.
fn vector_only_note(mode: SearchMode, hits: &PassageHits) -> Option<String> {
    let alone = !hits.hits.is_empty()
        && matches!(mode, SearchMode::Hybrid)
        && hits.hits.iter().all(|it| it.text_score.is_none());
    alone.then(|| VECTOR_ONLY_NOTE.to_owned())
}

/// Queries by words alone, without any service.
async fn search_text_only(index: &Index, query: &Query) -> Result<PassageHits, ToolError> {
    let query = Query {
        mode: SearchMode::Text,
        reranker: None,
        ..query.clone()
    };
    let mut hits = index.search(&query).await.map_err(index_error)?;
    hits.notes.push(format!(
        "The embedding and reranking services did not answer within {} s; searched by words alone.",
        SEARCH_TIMEOUT.as_secs()
    ));
    Ok(hits)
}

fn title_and_abstract(record: &ArticleRecord) -> String {
    let summary = record.article.summary.as_deref().unwrap_or_default();
    format!("{}\n\n{summary}", record.article.title)
}

/// Converts an index error to a tool error.
pub(crate) fn index_error(error: IndexError) -> ToolError {
    match error {
        IndexError::EmptyQuery => {
            let issue = ArgumentIssue::new("query", "needs at least one word to search for");
            ToolError::Invalid(vec![issue])
        }
        IndexError::Invalid { reason } => {
            ToolError::Invalid(vec![ArgumentIssue::new("query", reason)])
        }
        error => ToolError::Custom {
            code: ErrorCode::IndexUnavailable,
            message: error.to_string(),
            hint: Some("Retry in a moment; reindex_collection rebuilds the index.".to_owned()),
        },
    }
}
