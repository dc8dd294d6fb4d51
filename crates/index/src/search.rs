//! Searching: both sides asked at once, fused, and looked at again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tantivy::DocAddress;

use crate::bits::Bits;
use crate::index::{Index, Inner};
use crate::join::Rows;
use crate::layout::KEY;
use crate::limits::{MOST_CANDIDATES, QUERY_BYTES, check_filter, check_k, check_query, cut};
use crate::rerank::rerank;
use crate::text::{self, Scored};
use crate::top::settle_ties;
use crate::vectors::{Quantised, Scan, nearest};
use crate::view::View;
use crate::{
    Filter, Fused, Fusion, Hit, Hits, IndexError, Query, Ranking, ScoredRanking, SearchMode, fuse,
    fuse_adaptive, words,
};

/// How many telling words stand in for a vector.
const TELLING_WORDS: usize = 32;
/// How many texts are taken together.
const MOST_TEXTS: usize = 64;

/// What is looked for.
struct Sought {
    words: Vec<String>,
    vector: Option<Quantised>,
    /// Whether the words are only asked where the vectors can't be.
    vector_alone: bool,
    filter: Filter,
    candidates: usize,
    keep: usize,
    fusion: Fusion,
}

/// What both sides found.
#[derive(Default)]
struct Found {
    text: Vec<Scored>,
    vector: Vec<Scored>,
    took: (Duration, Duration),
}

impl Index {
    /// The passages that answer a question best.
    pub async fn search(&self, query: &Query) -> Result<Hits, IndexError> {
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
        let words = words::distinct(&query.text, self.inner.options.analysis.query_words);
        let keep = match &query.reranker {
            Some(_) => query.k.max(query.rerank_candidates),
            None => query.k,
        };
        let keep = keep.min(MOST_CANDIDATES);
        let sought = Sought {
            words,
            vector,
            vector_alone: query.mode == SearchMode::Vector,
            filter: query.filter.clone(),
            candidates: candidates(&query.fusion, keep),
            keep,
            fusion: query.fusion.clone(),
        };
        let mut hits = self.blocking(move |inner| inner.find(&sought)).await?;
        hits.notes.splice(0..0, notes);
        if query.reranker.is_some() {
            rerank(query, &mut hits).await;
        }
        hits.hits.truncate(query.k);
        hits.took.embed = embed;
        hits.took.total = began.elapsed();
        Ok(hits)
    }

    /// The passages nearest to these texts taken together (the first 64 of them), by vector; by
    /// their telling words when there are no vectors.
    pub async fn nearest(
        &self,
        texts: &[String],
        filter: &Filter,
        k: usize,
    ) -> Result<Hits, IndexError> {
        let began = Instant::now();
        check_k(k)?;
        check_filter(filter)?;
        let texts: Vec<String> = texts
            .iter()
            .filter(|text| text.chars().any(char::is_alphanumeric))
            .take(MOST_TEXTS)
            .map(|text| cut(text, QUERY_BYTES).to_owned())
            .collect();
        if texts.is_empty() {
            return Err(IndexError::EmptyQuery);
        }
        let mut notes = Vec::new();
        let vector = self.middle_vector(&texts, &mut notes).await;
        let filter = filter.clone();
        let mut hits = self
            .blocking(move |inner| {
                let view = inner.view()?;
                let vector = vector.filter(|vector| inner.can_use(&view, vector));
                let words = match &vector {
                    Some(_) => Vec::new(),
                    None => text::telling(&view.searcher, &inner.layout, &texts, TELLING_WORDS)?,
                };
                inner.find(&Sought {
                    words,
                    vector,
                    vector_alone: true,
                    filter,
                    candidates: k,
                    keep: k,
                    fusion: Fusion::default(),
                })
            })
            .await?;
        hits.notes.splice(0..0, notes);
        hits.took.total = began.elapsed();
        Ok(hits)
    }
}

fn candidates(fusion: &Fusion, keep: usize) -> usize {
    let wanted = keep.saturating_mul(fusion.candidates);
    wanted
        .max(fusion.min_candidates)
        .clamp(keep, MOST_CANDIDATES)
}

impl Inner {
    /// Whether there are rows this vector can be compared with.
    fn can_use(&self, view: &View, vector: &Quantised) -> bool {
        let rows = view.rows(self).ok().flatten();
        rows.is_some_and(|rows| rows.with > 0 && rows.set.dimensions == vector.values.len())
    }

    fn find(self: &Arc<Self>, sought: &Sought) -> Result<Hits, IndexError> {
        let view = self.view()?;
        let allowed = crate::filter::allowed(&sought.filter, &view.searcher, &self.layout)?;
        let mut notes = Vec::new();
        let side = match &sought.vector {
            Some(vector) => self.vector_side(&view, vector, &mut notes)?,
            None => None,
        };
        let words_too = side.is_none() || !sought.vector_alone;
        let found = self.ask_both(&view, sought, side.as_ref(), allowed.as_deref(), words_too)?;
        let mode = match (found.text.is_empty(), side.is_some()) {
            (_, false) => SearchMode::Text,
            (true, true) => SearchMode::Vector,
            (false, true) => SearchMode::Hybrid,
        };
        if words_too && sought.words.is_empty() && !matches!(mode, SearchMode::Vector) {
            notes.push("the question has only words too common or too long to look for".to_owned());
        }
        let hits = self.fused(&view, sought, &found, mode)?;
        let mut answer = Hits {
            hits,
            mode,
            notes,
            ..Hits::default()
        };
        (answer.took.text, answer.took.vector) = found.took;
        Ok(answer)
    }

    /// The rows to compare with, or a note why there are none.
    fn vector_side<'a>(
        &self,
        view: &View,
        vector: &'a Quantised,
        notes: &mut Vec<String>,
    ) -> Result<Option<(Arc<Rows>, &'a Quantised)>, IndexError> {
        let Some(rows) = view.rows(self)? else {
            return Ok(None);
        };
        let passages = rows.with + rows.missing;
        if passages > 0 && (rows.with == 0 || rows.set.dimensions != vector.values.len()) {
            notes.push("the vectors are still being made: searched by words alone".to_owned());
            return Ok(None);
        }
        if rows.missing > 0 {
            let share = rows.with * 100 / passages.max(1);
            notes.push(format!(
                "vectors are still being made: {share} % of the passages have one"
            ));
        }
        Ok(Some((rows, vector)))
    }

    fn ask_both(
        &self,
        view: &View,
        sought: &Sought,
        side: Option<&(Arc<Rows>, &Quantised)>,
        allowed: Option<&[Bits]>,
        words_too: bool,
    ) -> Result<Found, IndexError> {
        let by_words = || {
            let began = Instant::now();
            let words = if words_too {
                sought.words.as_slice()
            } else {
                &[]
            };
            let found = text::best(
                &view.searcher,
                &self.layout,
                words,
                &self.options.analysis,
                allowed,
                sought.candidates,
            );
            (found, began.elapsed())
        };
        let by_vector = || {
            let began = Instant::now();
            let found = side.map_or_else(Vec::new, |(rows, vector)| {
                let only = rows.only(allowed);
                let scan = Scan::for_rows(
                    only.count(),
                    self.options.analysis.exact_up_to,
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
        Ok(Found {
            text: text?,
            vector,
            took: (text_took, vector_took),
        })
    }

    /// One ranking of what both sides found, with the passages themselves.
    fn fused(
        &self,
        view: &View,
        sought: &Sought,
        found: &Found,
        mode: SearchMode,
    ) -> Result<Vec<Hit>, IndexError> {
        let (text, vector) = (keyed(view, &found.text)?, keyed(view, &found.vector)?);
        let mut known: BTreeMap<u64, (DocAddress, Hit)> = BTreeMap::new();
        for (rank, one) in (1..).zip(&text) {
            let (_, hit) = known
                .entry(one.key)
                .or_insert((one.address, Hit::default()));
            (hit.text_score, hit.text_rank) = (Some(one.score), Some(rank));
        }
        for (rank, one) in (1..).zip(&vector) {
            let (_, hit) = known
                .entry(one.key)
                .or_insert((one.address, Hit::default()));
            (hit.similarity, hit.vector_rank) = (Some(one.score), Some(rank));
        }
        let alone = |side: &[Keyed]| side.iter().map(|one| (one.key, None)).collect();
        let order: Vec<(u64, Option<f32>)> = match mode {
            SearchMode::Text => alone(&text),
            SearchMode::Vector => alone(&vector),
            SearchMode::Hybrid => {
                let fused = self.of_both(view, sought, &text, &vector)?.into_iter();
                fused.map(|one| (one.item, Some(one.score))).collect()
            }
        };
        let mut hits = Vec::with_capacity(sought.keep.min(order.len()));
        for (key, score) in order.into_iter().take(sought.keep) {
            let Some((address, mut hit)) = known.remove(&key) else {
                continue;
            };
            let kept = self.layout.read(&view.searcher.doc(address)?)?;
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

    /// The two rankings as one.
    fn of_both(
        &self,
        view: &View,
        sought: &Sought,
        text: &[Keyed],
        vector: &[Keyed],
    ) -> Result<Vec<Fused<u64>>, IndexError> {
        let fusion = &sought.fusion;
        let (text_weight, vector_weight) = (fusion.text_weight, fusion.vector_weight);
        if !fusion.adaptive {
            let keys = |side: &[Keyed]| side.iter().map(|one| one.key).collect::<Vec<_>>();
            let sides = [(text_weight, keys(text)), (vector_weight, keys(vector))];
            let rankings = sides.each_ref().map(|(weight, items)| Ranking {
                weight: *weight,
                items,
            });
            return Ok(fuse(&rankings, fusion.rank_constant));
        }
        let covered = text::covered(
            &view.searcher,
            &self.layout,
            &sought.words,
            &self.options.analysis,
            text.first().map_or(0.0, |best| best.score),
        )?;
        let scored = |side: &[Keyed]| {
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
struct Keyed {
    key: u64,
    score: f32,
    address: DocAddress,
}

/// What a side found, in an order that depends on the passages alone and not on where they lie.
fn keyed(view: &View, found: &[Scored]) -> Result<Vec<Keyed>, IndexError> {
    let mut keyed = Vec::with_capacity(found.len());
    for (score, address) in found {
        keyed.push(Keyed {
            key: key_of(view, *address)?,
            score: *score,
            address: *address,
        });
    }
    settle_ties(&mut keyed, |one| one.score, |one| one.key);
    Ok(keyed)
}

fn key_of(view: &View, address: DocAddress) -> Result<u64, IndexError> {
    let segment = view.searcher.segment_reader(address.segment_ord);
    let key = segment.fast_fields().u64(KEY)?.first(address.doc_id);
    key.ok_or_else(|| IndexError::damaged("a passage has no key"))
}
