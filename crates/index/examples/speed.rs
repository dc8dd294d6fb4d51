//! Speed of the index on made-up passages: `speed [PASSAGES]...`, by default 100000.
//!
//! Words are drawn as in real text (few common, many rare), vectors lie in clusters. Building and
//! asking run in processes of their own, so that the memory told is that of asking alone.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a measurement, run by hand or by the benchmark command"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deliberate_index::{
    AnalyzerOptions, EmbedError, Embedder, EmbeddingPurpose, Facets, Index, IndexFilter,
    IndexOptions, IndexedDocument, Passage, Query, SearchMode,
};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};

const DIMENSIONS: usize = 256;
const CLUSTERS: u64 = 2_000;
const VOCABULARY: f64 = 200_000.0;
const PASSAGES_A_DOCUMENT: u64 = 40;
const QUERIES: u64 = 200;

/// A small generator of numbers that look random and come out the same each time.
struct RandomSource(u64);

impl RandomSource {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normally distributed.
    fn bell(&mut self) -> f32 {
        let sum: f64 = (0..4).map(|_| self.share()).sum();
        ((sum - 2.0) * 1.732) as f32
    }

    /// A word's rank: the chance of a rank falls as its inverse (Zipf).
    fn rank(&mut self) -> u64 {
        VOCABULARY.powf(self.share()) as u64
    }
}

/// The word of a rank: the commonest are the common words of English, the rest made up.
fn word(rank: u64) -> String {
    const COMMON: [&str; 12] = [
        "the", "of", "and", "in", "to", "a", "is", "for", "with", "that", "was", "as",
    ];
    const ONSETS: [&str; 16] = [
        "b", "ch", "d", "f", "g", "gr", "k", "l", "m", "n", "p", "pr", "r", "s", "t", "v",
    ];
    const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "io", "ou"];
    if let Some(common) = COMMON.get(rank as usize) {
        return (*common).to_owned();
    }
    let mut left = rank;
    let mut word = String::new();
    loop {
        word.push_str(ONSETS[(left % 16) as usize]);
        word.push_str(VOWELS[(left / 16 % 8) as usize]);
        left /= 128;
        if left == 0 {
            word.push('n');
            return word;
        }
    }
}

fn passage_text(number: u64) -> String {
    let mut dice = RandomSource(number.wrapping_mul(0x1234_5678_9abc_def1));
    let words = 80 + dice.next() % 121;
    let mut text = String::new();
    for place in 0..words {
        if place > 0 {
            text.push(if place % 17 == 0 { '.' } else { ' ' });
            if place % 17 == 0 {
                text.push(' ');
            }
        }
        text.push_str(&word(dice.rank()));
    }
    text
}

/// Vectors in clusters, taken from a digest of the text.
struct ClusteredEmbedder;

impl ClusteredEmbedder {
    fn vector(text: &str) -> Vec<f32> {
        let digest = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let mut own = RandomSource(digest);
        let mut cluster = RandomSource(own.next() % CLUSTERS * 7_919);
        (0..DIMENSIONS)
            .map(|_| cluster.bell() + 0.8 * own.bell())
            .collect()
    }
}

impl Embedder for ClusteredEmbedder {
    fn id(&self) -> String {
        "clustered-1".to_owned()
    }

    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>> {
        ready(Ok(DIMENSIONS)).boxed()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        ready(Ok(texts.iter().map(|text| Self::vector(text)).collect())).boxed()
    }

    fn batch(&self) -> usize {
        256
    }
}

fn open(folder: &Path, exact_up_to: Option<u64>) -> Result<Index, Box<dyn Error>> {
    let mut analysis = AnalyzerOptions::default();
    if let Some(exact_up_to) = exact_up_to {
        analysis.exact_up_to = exact_up_to;
    }
    Ok(Index::open(IndexOptions {
        folder: Some(folder.to_owned()),
        embedder: Some(Arc::new(ClusteredEmbedder)),
        analyzer: analysis,
        ..IndexOptions::default()
    })?)
}

fn document(number: u64) -> IndexedDocument {
    let passages = (0..PASSAGES_A_DOCUMENT).map(|place| Passage {
        number: place as u32,
        text: passage_text(number * PASSAGES_A_DOCUMENT + place),
        section: vec![word(300 + place % 8)],
        page: place as u32 / 4 + 1,
        end_page: place as u32 / 4 + 1,
        ..Passage::default()
    });
    let category = format!("category {}", number % 10);
    IndexedDocument {
        id: format!("document {number}"),
        title: (0..8)
            .map(|n| word(500 + number * 31 % 9000 + n))
            .collect::<Vec<_>>()
            .join(" "),
        facets: Facets {
            words: BTreeMap::from([("category".to_owned(), vec![category])]),
            numbers: BTreeMap::from([("date".to_owned(), 20_000_101 + number as i64)]),
        },
        passages: passages.collect(),
    }
}

async fn build(folder: &Path, passages: u64) -> Result<(), Box<dyn Error>> {
    let index = open(folder, None)?;
    let documents: Vec<u64> = (0..passages / PASSAGES_A_DOCUMENT).collect();
    let (mut making, began) = (Duration::ZERO, Instant::now());
    for (turn, batch) in documents.chunks(50).enumerate() {
        let made = Instant::now();
        let batch: Vec<IndexedDocument> = batch.iter().map(|number| document(*number)).collect();
        making += made.elapsed();
        index.put(batch).await?;
        if turn % 25 == 24 {
            index.commit(turn as u64).await?;
        }
    }
    index.commit(passages).await?;
    let took = began.elapsed().saturating_sub(making);
    let rate = passages as f64 / took.as_secs_f64();
    println!(
        "indexing: {rate:.0} passages/s ({:.1} s)",
        took.as_secs_f64()
    );
    // The writer is given back after a moment, merging done.
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(())
}

fn question(number: u64) -> String {
    let mut dice = RandomSource(number + 99);
    let words = 4 + dice.next() % 5;
    let mut text = String::from("what is the");
    for _ in 0..words {
        let rank = dice.rank().max(20) + dice.next() % 200;
        text.push(' ');
        text.push_str(&word(rank));
    }
    text
}

async fn ask(folder: &Path) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let index = open(folder, None)?;
    let opened = began.elapsed();
    println!(
        "open: {:.1} ms, resident then: {}",
        millis(opened),
        resident()
    );
    let began = Instant::now();
    let first = Query {
        text: question(0),
        ..Query::default()
    };
    index.search(&first).await?;
    println!("first hybrid query: {:.1} ms", millis(began.elapsed()));
    let category = IndexFilter::Word {
        name: "category".to_owned(),
        any_of: vec!["category 3".to_owned()],
    };
    for (name, mode, filter) in [
        ("hybrid", SearchMode::Hybrid, IndexFilter::All),
        ("text", SearchMode::Text, IndexFilter::All),
        ("vector", SearchMode::Vector, IndexFilter::All),
        ("hybrid, a tenth let through", SearchMode::Hybrid, category),
    ] {
        let mut times = Vec::new();
        let used = processor_time();
        for number in 0..QUERIES {
            let query = Query {
                text: question(number),
                mode,
                filter: filter.clone(),
                ..Query::default()
            };
            let began = Instant::now();
            let hits = index.search(&query).await?;
            times.push(began.elapsed());
            assert!(!hits.hits.is_empty(), "a question found nothing");
        }
        times.sort();
        let at = |share: usize| millis(times[times.len() * share / 100]);
        let each = millis(processor_time().saturating_sub(used)) / QUERIES as f64;
        println!(
            "{name}: p50 {:.2} ms, p95 {:.2} ms (processor time {each:.1} ms each)",
            at(50),
            at(95)
        );
    }
    println!("resident after all queries: {}", resident());
    let stats = index.stats();
    let bytes: u64 = vector_bytes(folder)?;
    println!(
        "{} documents, {} passages, {} vectors; files {:.0} MB, of them vectors {:.0} MB",
        stats.documents,
        stats.passages,
        stats.vectors,
        stats.bytes as f64 / 1e6,
        bytes as f64 / 1e6,
    );
    recall(folder, &index).await
}

/// What the quick scan finds of what the full one finds.
async fn recall(folder: &Path, quick: &Index) -> Result<(), Box<dyn Error>> {
    let full = open(folder, Some(u64::MAX))?;
    let signs = open(folder, Some(0))?;
    let (mut found, mut forced, mut sought) = (0, 0, 0);
    let mut times = Vec::new();
    for number in 0..50 {
        let query = Query {
            text: question(number),
            k: 50,
            mode: SearchMode::Vector,
            ..Query::default()
        };
        let began = Instant::now();
        let truth = full.search(&query).await?.hits;
        times.push(began.elapsed());
        let name = |hit: &deliberate_index::PassageHit| (hit.document.clone(), hit.passage.number);
        let truth: Vec<_> = truth.iter().map(name).collect();
        let of = |hits: Vec<deliberate_index::PassageHit>| {
            hits.iter().filter(|hit| truth.contains(&name(hit))).count()
        };
        found += of(quick.search(&query).await?.hits);
        forced += of(signs.search(&query).await?.hits);
        sought += truth.len();
    }
    times.sort();
    println!(
        "recall@50 against the full scan: {:.4} as set, {:.4} with signs first; full scan p50 {:.1} ms",
        f64::from(found as u32) / f64::from(sought as u32),
        f64::from(forced as u32) / f64::from(sought as u32),
        millis(times[times.len() / 2]),
    );
    Ok(())
}

fn vector_bytes(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("vectors-") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What the system says this process holds: its own memory, and files it has touched.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) / 1024
    };
    format!(
        "{} MB own, {} MB of mapped files",
        field("RssAnon"),
        field("RssFile")
    )
}

/// What all threads have used so far: tells on a busy machine what the clock does not.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["build", folder, passages] => {
            runtime.block_on(build(Path::new(folder), passages.parse()?))
        }
        ["ask", folder] => runtime.block_on(ask(Path::new(folder))),
        ref counts => {
            let counts = if counts.is_empty() {
                &["100000"]
            } else {
                counts
            };
            for passages in counts {
                measure(passages)?;
            }
            Ok(())
        }
    }
}

fn measure(passages: &str) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let folder_name = folder.path().to_string_lossy().into_owned();
    println!("== {passages} passages, {DIMENSIONS} dimensions");
    let empty = tempfile::tempdir()?;
    let began = Instant::now();
    open(empty.path(), None)?;
    println!("open (empty, made anew): {:.1} ms", millis(began.elapsed()));
    let me = std::env::current_exe()?;
    for stage in [
        vec!["build", &folder_name, passages],
        vec!["ask", &folder_name],
    ] {
        if !Command::new(&me).args(&stage).status()?.success() {
            return Err(format!("the stage {} failed", stage[0]).into());
        }
    }
    Ok(())
}
