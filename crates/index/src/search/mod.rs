//! Search: full-text and vector search in parallel, rank fusion, reranking.

pub(crate) mod filter;
pub(crate) mod query;
pub(crate) mod query_embedding;
pub mod rank_fusion;
pub(crate) mod reranking;
pub(crate) mod top_k;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tantivy::DocAddress;

use super::{
    bit_set::BitSet,
    snapshot::IndexSnapshot,
    text::{
        analyzer,
        bm25::{self, ScoredPassage},
        schema::KEY,
    },
    vectors::passage_join::PassageVectors,
};
use crate::{
    FusedItem, Fusion, IndexError, IndexFilter, PassageHit, PassageHits, Query, Ranking,
    ScoredRanking, SearchMode, fuse_adaptive,
    index::{Index, IndexInner},
    limits::{MAX_CANDIDATES, QUERY_BYTES, check_filter, check_k, check_query, truncate_bytes},
    vectors::{QuantizedVector, ScanStrategy, nearest},
};
use rank_fusion::fuse;
use reranking::rerank;
use top_k::break_ties;

/// Key terms that replace a missing vector.
const MAX_KEY_TERMS: usize = 32;
/// Texts that are averaged.
const MAX_TEXTS: usize = 64;

struct SearchPlan {
    words: Vec<String>,
    vector: Option<QuantizedVector>,
    /// Whether full-text search is only the fallback for missing vectors.
    vector_alone: bool,
    filter: IndexFilter,
    candidates: usize,
    limit: usize,
    fusion: Fusion,
}

/// The candidates of both sides.
#[derive(Default)]
struct SearchCandidates {
    text: Vec<ScoredPassage>,
    vector: Vec<ScoredPassage>,
    timings: (Duration, Duration),
}

impl Index {
    /// Returns the best passages for a query.
    pub async fn search(&self, query: &Query) -> Result<PassageHits, IndexError> {
        let began = Instant::now();
        check_query(query)?;
        let mut notes = Vec::new();
        let vector = match query.mode {
            SearchMode::Text => None,
            SearchMode::Hybrid | SearchMode::Vector => {
                self.query_vector(&query.text, &mut notes).await
            }
        };
        let embed = began.elapsed();
        let words = analyzer::distinct_words(&query.text, self.inner.options.analyzer.query_words);
        let keep = match &query.reranker {
            Some(_) => query.k.max(query.rerank_candidates),
            None => query.k,
        };
        let keep = keep.min(MAX_CANDIDATES);
        let sought = SearchPlan {
            words,
            vector,
            vector_alone: query.mode == SearchMode::Vector,
            filter: query.filter.clone(),
            candidates: candidate_count(&query.fusion, keep),
            limit: keep,
            fusion: query.fusion.clone(),
        };
        let mut hits = self
            .blocking(move |inner| inner.run_search(&sought))
            .await?;
        hits.notes.splice(0..0, notes);
        if query.reranker.is_some() {
            rerank(query, &mut hits).await;
        }
        hits.hits.truncate(query.k);
        hits.timings.embed = embed;
        hits.timings.total = began.elapsed();
        Ok(hits)
    }

    /// Returns the passages nearest to the mean of these texts (the first 64), by vector, or by key
    /// terms without vectors.
    pub async fn nearest(
        &self,
        texts: &[String],
        filter: &IndexFilter,
        k: usize,
    ) -> Result<PassageHits, IndexError> {
        let began = Instant::now();
        check_k(k)?;
        check_filter(filter)?;
        let texts: Vec<String> = texts
            .iter()
            .filter(|text| text.chars().any(char::is_alphanumeric))
            .take(MAX_TEXTS)
            .map(|text| truncate_bytes(text, QUERY_BYTES).to_owned())
            .collect();
        if texts.is_empty() {
            return Err(IndexError::EmptyQuery);
        }
        let mut notes = Vec::new();
        let vector = self.middle_vector(&texts, &mut notes).await;
        let filter = filter.clone();
        let mut hits = self
            .blocking(move |inner| {
                let view = inner.snapshot()?;
                let vector = vector.filter(|vector| inner.can_use(&view, vector));
                let words = match &vector {
                    Some(_) => Vec::new(),
                    None => bm25::key_terms(&view.searcher, &inner.schema, &texts, MAX_KEY_TERMS)?,
                };
                inner.run_search(&SearchPlan {
                    words,
                    vector,
                    vector_alone: true,
                    filter,
                    candidates: k,
                    limit: k,
                    fusion: Fusion::default(),
                })
            })
            .await?;
        hits.notes.splice(0..0, notes);
        hits.timings.total = began.elapsed();
        Ok(hits)
    }
}

fn candidate_count(fusion: &Fusion, keep: usize) -> usize {
    let wanted = keep.saturating_mul(fusion.candidates);
    wanted
        .max(fusion.min_candidates)
        .clamp(keep, MAX_CANDIDATES)
}

impl IndexInner {
    /// Whether there are rows that this vector can be compared with.
    fn can_use(&self, view: &IndexSnapshot, vector: &QuantizedVector) -> bool {
        let rows = view.rows(self).ok().flatten();
        rows.is_some_and(|rows| rows.joined > 0 && rows.set.dimensions == vector.values.len())
    }

    fn run_search(self: &Arc<Self>, sought: &SearchPlan) -> Result<PassageHits, IndexError> {
        let view = self.snapshot()?;
        let allowed = filter::allowed_passages(&sought.filter, &view.searcher, &self.schema)?;
        let mut notes = Vec::new();
        let side = match &sought.vector {
            Some(vector) => self.vector_rows(&view, vector, &mut notes)?,
            None => None,
        };
        let words_too = side.is_none() || !sought.vector_alone;
        let found =
            self.find_candidates(&view, sought, side.as_ref(), allowed.as_deref(), words_too)?;
        let mode = match (found.text.is_empty(), side.is_some()) {
            (_, false) => SearchMode::Text,
            (true, true) => SearchMode::Vector,
            (false, true) => SearchMode::Hybrid,
        };
        if words_too && sought.words.is_empty() && !matches!(mode, SearchMode::Vector) {
            notes.push("the query has only words that are too common or too long".to_owned());
        }
        let hits = self.fuse_hits(&view, sought, &found, mode)?;
        let mut answer = PassageHits {
            hits,
            mode,
            notes,
            ..PassageHits::default()
        };
        (answer.timings.text, answer.timings.vector) = found.timings;
        Ok(answer)
    }

    /// The rows to compare with, or a note why there are none.
    fn vector_rows<'a>(
        &self,
        view: &IndexSnapshot,
        vector: &'a QuantizedVector,
        notes: &mut Vec<String>,
    ) -> Result<Option<(Arc<PassageVectors>, &'a QuantizedVector)>, IndexError> {
        let Some(rows) = view.rows(self)? else {
            return Ok(None);
        };
        let passages = rows.joined + rows.missing;
        if passages > 0 && (rows.joined == 0 || rows.set.dimensions != vector.values.len()) {
            notes.push("the vectors are still being made: searched by words alone".to_owned());
            return Ok(None);
        }
        if rows.missing > 0 {
            let share = rows.joined * 100 / passages.max(1);
            notes.push(format!(
                "vectors are still being made: {share} % of the passages have one"
            ));
        }
        Ok(Some((rows, vector)))
    }

    fn find_candidates(
        &self,
        view: &IndexSnapshot,
        sought: &SearchPlan,
        side: Option<&(Arc<PassageVectors>, &QuantizedVector)>,
        allowed: Option<&[BitSet]>,
        words_too: bool,
    ) -> Result<SearchCandidates, IndexError> {
        let by_words = || {
            let began = Instant::now();
            let words = if words_too {
                sought.words.as_slice()
            } else {
                &[]
            };
            let found = bm25::top_passages(
                &view.searcher,
                &self.schema,
                words,
                &self.options.analyzer,
                allowed,
                sought.candidates,
            );
            (found, began.elapsed())
        };
        let by_vector = || {
            let began = Instant::now();
            let found = side.map_or_else(Vec::new, |(rows, vector)| {
                let only = rows.allowed_rows(allowed);
                let scan = ScanStrategy::for_rows(
                    only.count(),
                    self.options.analyzer.exact_up_to,
                    sought.candidates,
                );
                let found = nearest(&rows.set, vector, &only, sought.candidates, scan);
                let found = found.into_iter();
                found
                    .filter_map(|(score, row)| Some((score, rows.passage(row)?)))
                    .collect()
            });
            (found, began.elapsed())
        };
        let ((text, text_took), (vector, vector_took)) = rayon::join(by_words, by_vector);
        Ok(SearchCandidates {
            text: text?,
            vector,
            timings: (text_took, vector_took),
        })
    }

    /// Fuses the candidates of both sides and loads their passages.
    fn fuse_hits(
        &self,
        view: &IndexSnapshot,
        sought: &SearchPlan,
        found: &SearchCandidates,
        mode: SearchMode,
    ) -> Result<Vec<PassageHit>, IndexError> {
        let (text, vector) = (
            rank_candidates(view, &found.text)?,
            rank_candidates(view, &found.vector)?,
        );
        let mut known: BTreeMap<u64, (DocAddress, PassageHit)> = BTreeMap::new();
        for (rank, one) in (1..).zip(&text) {
            let (_, hit) = known
                .entry(one.key)
                .or_insert((one.address, PassageHit::default()));
            (hit.text_score, hit.text_rank) = (Some(one.score), Some(rank));
        }
        for (rank, one) in (1..).zip(&vector) {
            let (_, hit) = known
                .entry(one.key)
                .or_insert((one.address, PassageHit::default()));
            (hit.similarity, hit.vector_rank) = (Some(one.score), Some(rank));
        }
        let alone = |side: &[RankedCandidate]| side.iter().map(|one| (one.key, None)).collect();
        let order: Vec<(u64, Option<f32>)> = match mode {
            SearchMode::Text => alone(&text),
            SearchMode::Vector => alone(&vector),
            SearchMode::Hybrid => {
                let fused = self
                    .fuse_rankings(view, sought, &text, &vector)?
                    .into_iter();
                fused.map(|one| (one.item, Some(one.score))).collect()
            }
        };
        let mut hits = Vec::with_capacity(sought.limit.min(order.len()));
        for (key, score) in order.into_iter().take(sought.limit) {
            let Some((address, mut hit)) = known.remove(&key) else {
                continue;
            };
            let kept = self.schema.read(&view.searcher.doc(address)?)?;
            hit.document = kept.document;
            hit.passage = kept.passage;
            hit.score = score
                .or(match mode {
                    SearchMode::Vector => hit.similarity,
                    SearchMode::Text | SearchMode::Hybrid => hit.text_score,
                })
                .unwrap_or_default();
            hits.push(hit);
        }
        Ok(hits)
    }

    /// Fuses the two rankings.
    fn fuse_rankings(
        &self,
        view: &IndexSnapshot,
        sought: &SearchPlan,
        text: &[RankedCandidate],
        vector: &[RankedCandidate],
    ) -> Result<Vec<FusedItem<u64>>, IndexError> {
        let fusion = &sought.fusion;
        let (text_weight, vector_weight) = (fusion.text_weight, fusion.vector_weight);
        if !fusion.adaptive {
            let keys =
                |side: &[RankedCandidate]| side.iter().map(|one| one.key).collect::<Vec<_>>();
            let sides = [(text_weight, keys(text)), (vector_weight, keys(vector))];
            let rankings = sides.each_ref().map(|(weight, items)| Ranking {
                weight: *weight,
                items,
            });
            return Ok(fuse(&rankings, fusion.rank_constant));
        }
        let covered = bm25::query_coverage(
            &view.searcher,
            &self.schema,
            &sought.words,
            &self.options.analyzer,
            text.first().map_or(0.0, |best| best.score),
        )?;
        let scored = |side: &[RankedCandidate]| {
            let side = side.iter().map(|one| (one.key, one.score));
            side.collect::<Vec<_>>()
        };
        let ranking = |weight, items| ScoredRanking { weight, items };
        Ok(fuse_adaptive(
            &ranking(text_weight, &scored(text)),
            &ranking(vector_weight, &scored(vector)),
            covered,
            fusion.rank_constant,
        ))
    }
}

/// A passage that one side found.
struct RankedCandidate {
    key: u64,
    score: f32,
    address: DocAddress,
}

/// Ranks candidates in an order that depends on the passages alone, not on their segments.
fn rank_candidates(
    view: &IndexSnapshot,
    found: &[ScoredPassage],
) -> Result<Vec<RankedCandidate>, IndexError> {
    let mut keyed = Vec::with_capacity(found.len());
    for (score, address) in found {
        keyed.push(RankedCandidate {
            key: passage_key(view, *address)?,
            score: *score,
            address: *address,
        });
    }
    break_ties(&mut keyed, |one| one.score, |one| one.key);
    Ok(keyed)
}

fn passage_key(view: &IndexSnapshot, address: DocAddress) -> Result<u64, IndexError> {
    let segment = view.searcher.segment_reader(address.segment_ord);
    let key = segment.fast_fields().u64(KEY)?.first(address.doc_id);
    key.ok_or_else(|| IndexError::corrupt("a passage has no key"))
}
