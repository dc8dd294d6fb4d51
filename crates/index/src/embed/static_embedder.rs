//! The embedded embedder: one vector a piece of a word, and a text is the mean of its pieces. It
//! needs no network, no model server and no file; it knows words, not sentences.

use std::sync::LazyLock;

use futures::{FutureExt as _, future::BoxFuture};

use super::wordpiece::WordPieceVocabulary;
use crate::{EmbedError, Embedder, EmbeddingPurpose};

/// How many numbers a vector has.
const DIMENSIONS: usize = 256;

/// One row of signed bytes a piece, in the order of the vocabulary. It is part of the program and
/// read where it lies: nothing is copied, and only the rows that are used come into memory.
static TABLE: &[u8] = include_bytes!("../../models/embeddings.i8");

/// The beginning of the table's SHA-256: vectors of another table can't be compared with these.
const TABLE_ID: &str = "15da2880015ae369";

/// How texts are read; it goes up when the same text would get another vector.
const READING_VERSION: u32 = 1;

static VOCABULARY: LazyLock<WordPieceVocabulary> =
    LazyLock::new(|| WordPieceVocabulary::parse(include_str!("../../models/vocabulary.txt")));

/// How much of one text counts. A passage has a few thousand bytes; the mean of more than this
/// says nothing about any part of it.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// How many texts are embedded before other tasks get their turn.
const BATCH: usize = 32;

/// Embeds texts with the table that the program carries.
///
/// Nothing is made before the first text; from then on the vocabulary takes about 2 MiB, once for
/// all, and of the table (7.5 MiB, in the program file) the pages that were used.
#[derive(Debug, Clone, Copy, Default)]
pub struct StaticEmbedder;

impl StaticEmbedder {
    /// The embedder. It costs nothing until it is used.
    pub fn new() -> Self {
        Self
    }

    /// The vector of one text, of length 1; all zeros if no word of it is known or says anything.
    pub fn vector(self, text: &str) -> Vec<f32> {
        embed_text(text, &mut Vec::new())
    }
}

impl Embedder for StaticEmbedder {
    fn id(&self) -> String {
        format!("static/minilm-l6-v2/{DIMENSIONS}/{TABLE_ID}/{READING_VERSION}")
    }

    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>> {
        futures::future::ready(Ok(DIMENSIONS)).boxed()
    }

    /// Questions and passages are read alike.
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _what: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        async move {
            let mut vectors = Vec::with_capacity(texts.len());
            let mut places = Vec::new();
            for (done, text) in texts.iter().enumerate() {
                if done % BATCH == BATCH - 1 {
                    tokio::task::yield_now().await;
                }
                vectors.push(embed_text(text, &mut places));
            }
            Ok(vectors)
        }
        .boxed()
    }

    fn batch(&self) -> usize {
        256
    }
}

/// The vector of a text; `places` is room to work in.
fn embed_text(text: &str, places: &mut Vec<usize>) -> Vec<f32> {
    let counted = text.split_at(text.floor_char_boundary(MAX_TEXT_BYTES)).0;
    VOCABULARY.tokenize(counted, places);
    let (rows, _) = TABLE.as_chunks::<DIMENSIONS>();
    // Whole numbers: exact in any order, and 64 KiB of pieces stay far from the limit.
    let mut sums = [0_i32; DIMENSIONS];
    for row in places.iter().filter_map(|place| rows.get(*place)) {
        for (sum, byte) in sums.iter_mut().zip(row) {
            *sum += i32::from(byte.cast_signed());
        }
    }
    normalize(&sums)
}

/// The same direction with length 1. The mean needs no division: only the direction counts.
fn normalize(sums: &[i32; DIMENSIONS]) -> Vec<f32> {
    let squares: f64 = sums.iter().map(|sum| f64::from(*sum).powi(2)).sum();
    let scale = if squares > 0.0 {
        squares.sqrt().recip()
    } else {
        0.0
    };
    #[expect(clippy::cast_possible_truncation, reason = "numbers between -1 and 1")]
    sums.iter()
        .map(|sum| (f64::from(*sum) * scale) as f32)
        .collect()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_name_belongs_to_the_table() {
        let digest = format!("{:x}", Sha256::digest(TABLE));
        assert!(digest.starts_with(TABLE_ID), "the table is {digest}");
        let lines = include_str!("../../models/vocabulary.txt").lines().count();
        assert_eq!(TABLE.len(), lines * DIMENSIONS);
    }
}
