//! Full-text search: BM25 over the passages that pass a filter.

use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, Query, TermQuery,
};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Score, Searcher, Term};

use super::{analyzer, schema::PassageSchema};
use crate::{AnalyzerOptions, IndexError, bit_set::BitSet, search::top_k::TopK};

/// The maximum score of a word that fills a passage, as a multiple of its inverse document
/// frequency: one plus the k1 of BM25.
const MAX_TERM_SCORE: f64 = 2.2;

pub(crate) type ScoredPassage = (f32, DocAddress);

pub(crate) fn pack(address: DocAddress) -> u64 {
    u64::from(address.segment_ord) << 32 | u64::from(address.doc_id)
}

pub(crate) fn unpack(packed: u64) -> DocAddress {
    let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    DocAddress::new(low(packed >> 32), low(packed))
}

/// The `k` best passages for any of the words.
pub(crate) fn top_passages(
    searcher: &Searcher,
    layout: &PassageSchema,
    words: &[String],
    analysis: &AnalyzerOptions,
    allowed: Option<&[BitSet]>,
    k: usize,
) -> Result<Vec<ScoredPassage>, IndexError> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let query = any_of(layout, words, analysis.title_boost);
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    let mut top = TopK::new(k);
    for (number, segment) in searcher.segment_readers().iter().enumerate() {
        let segment_ord = u32::try_from(number).unwrap_or(u32::MAX);
        let allowed = allowed.and_then(|allowed| allowed.get(number));
        let alive = segment.alive_bitset();
        // The results of earlier segments tell the scorer what it can skip here.
        let least = top.threshold().max(Score::MIN);
        weight.for_each_pruning(least, segment, &mut |doc_id, score| {
            let lets = match allowed {
                Some(bits) => bits.contains(doc_id),
                None => alive.is_none_or(|alive| alive.is_alive(doc_id)),
            };
            if lets {
                top.push(score, pack(DocAddress::new(segment_ord, doc_id)));
            }
            top.threshold().max(Score::MIN)
        })?;
    }
    let best = top.into_sorted().into_iter();
    Ok(best
        .map(|(score, packed)| (score, unpack(packed)))
        .collect())
}

fn any_of(layout: &PassageSchema, words: &[String], title_boost: f32) -> BooleanQuery {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::with_capacity(words.len() * 2);
    for word in words {
        let term = |field| {
            let term = Term::from_field_text(field, word);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
        };
        clauses.push((Occur::Should, term(layout.body)));
        if title_boost > 0.0 {
            let boosted = BoostQuery::new(term(layout.title), title_boost);
            clauses.push((Occur::Should, Box::new(boosted)));
        }
    }
    BooleanQuery::new(clauses)
}

/// The share of the query that a passage of this score has: its score divided by the maximum that
/// the words could score, words that occur nowhere included.
pub(crate) fn query_coverage(
    searcher: &Searcher,
    layout: &PassageSchema,
    words: &[String],
    analysis: &AnalyzerOptions,
    score: f32,
) -> Result<f32, IndexError> {
    let passages = searcher.total_num_docs()? as f64;
    let mut most = 0.0;
    for word in words {
        let fields = [(layout.body, 1.0), (layout.title, analysis.title_boost)];
        for (field, boost) in fields.into_iter().filter(|(_, boost)| *boost > 0.0) {
            let having = searcher.doc_freq(&Term::from_field_text(field, word))? as f64;
            let rarity = (1.0 + (passages - having + 0.5) / (having + 0.5)).ln();
            most += f64::from(boost) * rarity * MAX_TERM_SCORE;
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "a number between 0 and 1")]
    let covered = if most > 0.0 {
        (f64::from(score) / most).clamp(0.0, 1.0) as f32
    } else {
        0.0
    };
    Ok(covered)
}

/// The key terms of the texts: their rarest words that the index has.
pub(crate) fn key_terms(
    searcher: &Searcher,
    layout: &PassageSchema,
    texts: &[String],
    most: usize,
) -> Result<Vec<String>, IndexError> {
    let mut counted = Vec::new();
    for word in analyzer::distinct_words(&texts.join("\n"), usize::MAX) {
        let passages = searcher.doc_freq(&Term::from_field_text(layout.body, &word))?;
        if passages > 0 {
            counted.push((passages, word));
        }
    }
    counted.sort();
    counted.truncate(most);
    Ok(counted.into_iter().map(|(_, word)| word).collect())
}
