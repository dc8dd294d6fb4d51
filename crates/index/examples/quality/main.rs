//! How well the index finds: nDCG@10, recall@20 and MRR@10 for words, vectors and both, on a test
//! collection that people judged.
//!
//! `scripts/retrieval-data` fetches a collection and prints its folder:
//!
//!     cargo run --release -p deliberate-index --example quality -- FOLDER [--whole] [--weights]
//!
//! Both are fused twice, with fixed weights and adaptively, and each is set against the better of
//! the two sides, with the interval that 95 of 100 other samples of questions would fall into. With
//! `--whole` documents are not cut into passages, as they are not where others measure BM25; then
//! our BM25 is set against theirs. With `--weights` other weights of fusion are tried too, on all
//! questions and on each half of them, so that one can be chosen on one half and told for the other.

#![allow(
    clippy::print_stdout,
    reason = "a program whose output is what it is for"
)]

mod collection;
mod measure;

use std::{collections::HashSet, path::Path, sync::Arc};

use collection::{Collection, CollectionEntry};
use deliberate_index::{
    Fusion, Index, IndexOptions, IndexedDocument, Passage, Query, SearchMode, StaticEmbedder,
    chunk::{ChunkOptions, chunk},
};
use measure::{Scores, interval, mean, scores};

/// How many passages each question is answered with. Documents have several, and a ranking of
/// documents needs twenty of them.
const PASSAGES: usize = 100;

/// How far our BM25 may be from what others measured.
const TOLERANCE: f64 = 0.02;

type MainResult<T> = Result<T, Box<dyn std::error::Error>>;

/// What one way of searching scored, question by question.
struct RankingScores {
    name: &'static str,
    scores: Vec<Scores>,
}

impl RankingScores {
    fn mean(&self) -> Scores {
        mean(self.scores.iter().copied())
    }

    /// nDCG of the questions at even (0) or odd (1) places.
    fn half(&self, odd: usize) -> f64 {
        mean(self.scores.iter().skip(odd).step_by(2).copied()).ndcg
    }
}

#[tokio::main]
async fn main() -> MainResult<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (flags, folders): (Vec<_>, Vec<_>) = arguments
        .iter()
        .partition(|argument| argument.starts_with("--"));
    let ([folder], true) = (
        folders.as_slice(),
        flags
            .iter()
            .all(|flag| ["--whole", "--weights"].contains(&flag.as_str())),
    ) else {
        return Err("usage: quality FOLDER [--whole] [--weights]".into());
    };
    let is_set = |name: &str| flags.iter().any(|flag| *flag == name);
    let whole = is_set("--whole");
    let mut collection = Collection::read(Path::new(folder))?;
    let index = build_index(std::mem::take(&mut collection.documents), whole).await?;
    let text = report(&collection, &index).await?;
    if whole {
        compare(&collection, text);
    }
    if is_set("--weights") {
        try_weights(&collection, &index).await?;
    }
    Ok(())
}

/// An index in memory.
async fn build_index(documents: Vec<CollectionEntry>, whole: bool) -> MainResult<Index> {
    let index = Index::open(IndexOptions {
        embedder: Some(Arc::new(StaticEmbedder::new())),
        ..IndexOptions::default()
    })?;
    let documents: Vec<_> = documents
        .into_iter()
        .map(|one| document(one, whole))
        .collect();
    for some in documents.chunks(100) {
        index.put(some.to_vec()).await?;
    }
    index.commit(1).await?;
    Ok(index)
}

fn document(entry: CollectionEntry, whole: bool) -> IndexedDocument {
    let passages = if whole {
        vec![Passage {
            text: entry.text,
            ..Passage::default()
        }]
    } else {
        chunk(&entry.text, &[], &[], ChunkOptions::default())
    };
    IndexedDocument {
        id: entry.id,
        title: entry.title,
        passages,
        ..IndexedDocument::default()
    }
}

/// Asks all questions in one way.
async fn ask(
    collection: &Collection,
    index: &Index,
    name: &'static str,
    mode: SearchMode,
    fusion: Fusion,
) -> MainResult<RankingScores> {
    let mut side = RankingScores {
        name,
        scores: Vec::with_capacity(collection.questions.len()),
    };
    for (question, grades) in &collection.questions {
        let query = Query {
            text: question.text.clone(),
            k: PASSAGES,
            mode,
            fusion: fusion.clone(),
            ..Query::default()
        };
        let passages = index.search(&query).await?.hits;
        let mut seen = HashSet::new();
        // A document is where its first passage is.
        let documents: Vec<String> = passages
            .into_iter()
            .map(|hit| hit.document)
            .filter(|id| seen.insert(id.clone()))
            .collect();
        side.scores.push(scores(&documents, grades));
    }
    Ok(side)
}

/// Prints the scores of each side and gives those of the words.
async fn report(collection: &Collection, index: &Index) -> MainResult<Scores> {
    let stats = index.stats();
    println!(
        "{}: {} documents, {} passages, {} questions",
        collection.about.name,
        stats.documents,
        stats.passages,
        collection.questions.len()
    );
    println!("side       nDCG@10  recall@20  MRR@10   nDCG@10 of even and odd questions");
    let fixed = Fusion {
        adaptive: false,
        ..Fusion::default()
    };
    let ways = [
        ("BM25", SearchMode::Text, Fusion::default()),
        ("vectors", SearchMode::Vector, Fusion::default()),
        ("fixed", SearchMode::Hybrid, fixed),
        ("adaptive", SearchMode::Hybrid, Fusion::default()),
    ];
    let mut sides = Vec::new();
    for (name, mode, fusion) in ways {
        let side = ask(collection, index, name, mode, fusion).await?;
        let all = side.mean();
        println!(
            "{name:<9}  {:.4}   {:.4}     {:.4}   {:.4}  {:.4}",
            all.ndcg,
            all.recall,
            all.mrr,
            side.half(0),
            side.half(1)
        );
        sides.push(side);
    }
    let [text, vectors, fused @ ..] = sides.as_slice() else {
        return Err("two sides are always asked".into());
    };
    for fused in fused {
        compare_with_best(fused, text, vectors, "nDCG@10", |scores| scores.ndcg);
        compare_with_best(fused, text, vectors, "recall@20", |scores| scores.recall);
    }
    Ok(text.mean())
}

/// Sets a fused ranking against the better of what it is made of, by one measure.
fn compare_with_best(
    fused: &RankingScores,
    text: &RankingScores,
    vectors: &RankingScores,
    measure: &str,
    of: fn(&Scores) -> f64,
) {
    let better = if of(&text.mean()) >= of(&vectors.mean()) {
        text
    } else {
        vectors
    };
    let pairs = fused.scores.iter().zip(&better.scores);
    let apart: Vec<f64> = pairs.map(|(one, other)| of(one) - of(other)).collect();
    let (low, high) = interval(&apart);
    let difference = of(&fused.mean()) - of(&better.mean());
    println!(
        "{} is {} the better side ({}) by {measure}: {difference:+.4} ({low:+.4} to {high:+.4})",
        fused.name,
        if difference >= 0.0 {
            "at least as good as"
        } else if high >= 0.0 {
            "as good, within chance, as"
        } else {
            "WORSE than"
        },
        better.name
    );
}

/// Sets our BM25 against what others measure on the same collection.
fn compare(collection: &Collection, text: Scores) {
    for other in &collection.about.published {
        let apart = text.ndcg - other.ndcg;
        println!(
            "BM25 is {} {TOLERANCE} of {:.4} ({}): {apart:+.4}",
            if apart.abs() <= TOLERANCE {
                "within"
            } else {
                "NOT within"
            },
            other.ndcg,
            other.by
        );
    }
}

/// Prints what other weights would give.
async fn try_weights(collection: &Collection, index: &Index) -> MainResult<()> {
    println!("nDCG@10 by the vectors' weight  all     even    odd");
    for (name, adaptive) in [("fixed", false), ("adaptive", true)] {
        for tenths in 1..=9_u8 {
            let vector_weight = f32::from(tenths) / 10.0;
            let fusion = Fusion {
                vector_weight,
                text_weight: 1.0 - vector_weight,
                adaptive,
                ..Fusion::default()
            };
            let side = ask(collection, index, name, SearchMode::Hybrid, fusion).await?;
            println!(
                "{name:<9} {vector_weight:.1}                   {:.4}  {:.4}  {:.4}",
                side.mean().ndcg,
                side.half(0),
                side.half(1)
            );
        }
    }
    Ok(())
}
