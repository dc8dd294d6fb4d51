//! Search in the collection: brings the index in step if that is quick, asks it, and puts to each
//! passage the article and the place it is from, as the store has them now.

use std::{collections::BTreeSet, time::Duration};

use deliberate_index::{Filter, Fusion, Hit, Hits, Index, IndexError, Query, SearchMode};
use deliberate_store::ItemFilter;
use deliberate_toolkit::{Call, Issue, ToolError};

use super::{
    ARTICLE, ArticleFilter, Category, FoundPassage, Kept, Library, Retrieval, Retrieved, Scope,
    filter::{among, in_collection, of_category},
    found::{Taken, Taking},
    groups::{self, CustomIndex, KnowledgeCollection},
    keeper::KeepError,
    kinds::kind_named,
    rerank,
};
use crate::{Lab, Rerank};

/// The most passages of one search.
pub(crate) const MOST_PASSAGES: usize = 200;

/// How long a search waits for the services that the settings name.
const SEARCH_TIME: Duration = Duration::from_secs(12);

/// How many more are asked for where some will be left out again.
const SPARE: usize = 4;

/// How often is asked for one search at the most.
const MOST_ROUNDS: usize = 4;

/// How like a topic an article must be, by meaning, to be in a custom index without any of its
/// words.
const LIKE_ENOUGH: f32 = 0.45;

/// What is said if no word of the question is anywhere.
pub(crate) const BY_MEANING_ALONE: &str = "No word of the question is in what was searched: these \
     passages were found by meaning alone, and may have nothing to do with it.";

/// How many of an article's own passages speak for it when others like it are looked for.
const SPEAKERS: usize = 12;

impl Lab {
    /// Searches the collection. Brings the index in step first if that is quick; if it is not, the
    /// notes say so.
    pub async fn retrieve(&self, call: &Call, wanted: &Retrieval) -> Result<Retrieved, ToolError> {
        if wanted.question.trim().is_empty() {
            let issue = Issue::new("query", "must not be empty");
            return Err(ToolError::Invalid(vec![issue]));
        }
        let mut notes = self.catch_up().await;
        let Some(filter) = self.whole_filter(call, wanted, &mut notes).await? else {
            return Ok(Retrieved {
                notes,
                ..Retrieved::default()
            });
        };
        let k = wanted.k.clamp(1, MOST_PASSAGES);
        let spare = if wanted.per_article.is_some() {
            SPARE
        } else {
            2
        };
        let query = Query {
            text: wanted.question.clone(),
            k: (k * spare).min(MOST_PASSAGES * SPARE),
            mode: wanted.mode,
            filter,
            fusion: self.fusion(),
            reranker: self.reranker().filter(|_| wanted.rerank).cloned(),
            ..Query::default()
        };
        let taking = Taking {
            k,
            per_article: wanted.per_article,
        };
        let (mut passages, mode) = self.found(query, taking, &mut notes).await?;
        if wanted.rerank && matches!(self.options().retrieval.rerank, Rerank::Model) {
            passages = rerank::by_model(call, &wanted.question, passages, &mut notes).await?;
        }
        Ok(Retrieved {
            passages,
            mode,
            notes,
        })
    }

    /// Articles like one, the likest first, with how like they are.
    pub async fn related(
        &self,
        call: &Call,
        kept: &Kept,
        k: usize,
        filter: &ArticleFilter,
    ) -> Result<(Vec<(Kept, f32)>, Vec<String>), ToolError> {
        let mut notes = self.catch_up().await;
        let mut filter = filter.clone();
        filter.not_ids.push(kept.id.clone());
        let filter = filter.as_index_filter(Library(call.store())).await?;
        let index = self.keeper().index().await.map_err(told)?;
        let mut texts = vec![about(kept)];
        let own = index.passages_of(&kept.id).await.map_err(told)?;
        let step = own.len().div_ceil(SPEAKERS).max(1);
        texts.extend(own.into_iter().step_by(step).map(|it| it.text));
        let k = k.clamp(1, MOST_PASSAGES);
        let hits = index.nearest(&texts, &filter, (k * SPARE * 2).min(1_000));
        let hits = hits.await.map_err(told)?;
        notes.extend(hits.notes);
        let mut best = Vec::<(String, f32)>::new();
        for hit in hits.hits {
            if best.iter().all(|(id, _)| *id != hit.document) {
                best.push((hit.document, hit.similarity.unwrap_or(hit.score)));
            }
        }
        let mut found = Vec::new();
        for (id, score) in best.into_iter().take(k) {
            let version = Library(call.store()).get(&id).await?;
            found.extend(version.map(|it| (it.kept, score)));
        }
        Ok((found, notes))
    }

    /// Brings the index in step, if that is quick; what to say if it is not.
    async fn catch_up(&self) -> Vec<String> {
        let keeper = self.keeper();
        let note = match keeper.catch_up(keeper.patience()).await {
            Ok(true) => return Vec::new(),
            Ok(false) => {
                let progress = keeper.progress();
                let far = progress.percent().map(|it| format!(" ({it} %)"));
                format!(
                    "The index is still being made{}: what was added last may be missing. Search \
                     again in a moment.",
                    far.unwrap_or_default()
                )
            }
            Err(error) => format!("The index is not in step with the collection: {error}."),
        };
        vec![note]
    }

    /// One question to the index; one that turns out damaged is made again and asked once more.
    pub(crate) async fn ask_index(&self, query: &Query) -> Result<Hits, ToolError> {
        let keeper = self.keeper();
        let index = keeper.index().await.map_err(told)?;
        let Ok(answered) = tokio::time::timeout(SEARCH_TIME, index.search(query)).await else {
            return by_words(&index, query).await;
        };
        match answered {
            Err(IndexError::Damaged { reason }) => {
                drop(index);
                keeper.give_up(&reason).await;
                let whole = keeper
                    .catch_up(keeper.patience())
                    .await
                    .map_err(|it| match it {
                        KeepError::Index(error) => told(error),
                        KeepError::Store(error) => error,
                    })?;
                let index = keeper.index().await.map_err(told)?;
                let mut hits = index.search(query).await.map_err(told)?;
                if !whole {
                    hits.notes.push(
                        "the index was damaged and is being made again: search again in a moment"
                            .to_owned(),
                    );
                }
                Ok(hits)
            }
            answered => answered.map_err(told),
        }
    }

    /// How the two ways of searching are put together.
    pub(crate) fn fusion(&self) -> Fusion {
        let retrieval = &self.options().retrieval;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "small numbers of the settings"
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

    /// Scope and filter together; `None` if nothing can be found.
    async fn whole_filter(
        &self,
        call: &Call,
        wanted: &Retrieval,
        notes: &mut Vec<String>,
    ) -> Result<Option<Filter>, ToolError> {
        let given = wanted.filter.as_index_filter(Library(call.store())).await?;
        let scope = match &wanted.scope {
            Scope::All => Filter::All,
            Scope::PapersOnly => of_category(Category::ResearchPaper),
            Scope::External => of_category(Category::External),
            Scope::Collection(name) => {
                let found: KnowledgeCollection = groups::find(call.store(), name).await?;
                in_collection(&found.name)
            }
            Scope::Index(name) => {
                let custom: CustomIndex = groups::find(call.store(), name).await?;
                let ids = self.members(&custom).await?;
                if ids.is_empty() {
                    notes.push(format!(
                        "No article of the collection is in the index {:?} now.",
                        custom.name
                    ));
                    return Ok(None);
                }
                among(ids)
            }
        };
        Ok(Some(match (scope, given) {
            (Filter::All, one) | (one, Filter::All) => one,
            (scope, given) => Filter::And(vec![scope, given]),
        }))
    }

    /// The articles that are in a custom index now: those that speak of its topic, the best first.
    pub(crate) async fn members(
        &self,
        custom: &CustomIndex,
    ) -> Result<BTreeSet<String>, ToolError> {
        let mut kinds = Vec::new();
        for kind in &custom.kinds {
            kinds.push(kind_named("document_types", kind)?.as_str().to_owned());
        }
        let filter = if kinds.is_empty() {
            Filter::All
        } else {
            Filter::Word {
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
        let hits = self.ask_index(&query).await?;
        let fits = |hit: &Hit| {
            hit.text_score.is_some() || hit.similarity.is_some_and(|it| it >= LIKE_ENOUGH)
        };
        let mut ids = BTreeSet::new();
        for hit in hits.hits.into_iter().filter(fits) {
            if ids.len() < custom.max_documents {
                ids.insert(hit.document);
            }
        }
        Ok(ids)
    }

    /// What is found, with its articles and places, and by what. A long article may hold all of the
    /// best passages: those that are behind it are asked for again without it.
    async fn found(
        &self,
        mut query: Query,
        taking: Taking,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<FoundPassage>, SearchMode), ToolError> {
        let wanted = query.filter.clone();
        let mut taken = Taken::default();
        let mut mode = query.mode;
        for round in 0..MOST_ROUNDS {
            let hits = self.ask_index(&query).await?;
            if round == 0 {
                mode = hits.mode;
                notes.extend(hits.notes.iter().cloned());
                notes.extend(by_meaning_alone(query.mode, &hits));
            }
            let is_all = hits.hits.len() < query.k;
            taken.take(hits, taking, Library(self.store())).await?;
            let exhausted = taken.exhausted(taking);
            if is_all || taken.found.len() >= taking.k || exhausted.is_empty() {
                break;
            }
            let all = self.store().count_items(&ItemFilter::of(ARTICLE)).await?;
            if exhausted.len() as u64 >= all {
                break;
            }
            let others = Filter::Not(Box::new(Filter::Documents(exhausted)));
            query.filter = Filter::And(vec![wanted.clone(), others]);
        }
        if taken.stale {
            notes.push("Some of what was found has changed since and was left out.".to_owned());
        }
        Ok((taken.found, mode))
    }
}

/// What to say if no word of the question is anywhere.
fn by_meaning_alone(wanted: SearchMode, hits: &Hits) -> Option<String> {
    let alone = !hits.hits.is_empty()
        && matches!(wanted, SearchMode::Hybrid)
        && hits.hits.iter().all(|it| it.text_score.is_none());
    alone.then(|| BY_MEANING_ALONE.to_owned())
}

/// The same question by words alone, which asks no service.
async fn by_words(index: &Index, query: &Query) -> Result<Hits, ToolError> {
    let query = Query {
        mode: SearchMode::Text,
        reranker: None,
        ..query.clone()
    };
    let mut hits = index.search(&query).await.map_err(told)?;
    hits.notes.push(format!(
        "The services for vectors and order did not answer within {} s; found by words alone.",
        SEARCH_TIME.as_secs()
    ));
    Ok(hits)
}

/// What an article is about, in its own words.
fn about(kept: &Kept) -> String {
    let summary = kept.article.summary.as_deref().unwrap_or_default();
    format!("{}\n\n{summary}", kept.article.title)
}

/// What the index failed with, as a client reads it.
pub(crate) fn told(error: IndexError) -> ToolError {
    match error {
        IndexError::EmptyQuery => {
            let issue = Issue::new("query", "needs at least one word to look for");
            ToolError::Invalid(vec![issue])
        }
        IndexError::Invalid { reason } => ToolError::Invalid(vec![Issue::new("query", reason)]),
        error => ToolError::Told {
            code: "IndexUnavailable".to_owned(),
            message: error.to_string(),
            hint: Some(
                "Try again in a moment; reindex_collection makes the index again.".to_owned(),
            ),
        },
    }
}
