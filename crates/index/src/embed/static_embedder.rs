//! The built-in embedder: one vector per word piece; a text is the mean of its pieces. It needs no
//! network, no model server and no file; it knows words, not sentences.

use std::sync::LazyLock;

use futures::{FutureExt as _, future::BoxFuture};

use super::wordpiece::WordPieceVocabulary;
use crate::{EmbedError, Embedder, EmbeddingPurpose};

const DIMENSIONS: usize = 256;

/// One row of signed bytes per piece, in the order of the vocabulary. It is part of the executable
/// and read in place, so only the rows that are used come into memory.
static TABLE: &[u8] = include_bytes!("../../models/embeddings.i8");

/// The start of the table's SHA-256: vectors of different tables cannot be compared.
const TABLE_ID: &str = "15da2880015ae369";

/// The version of the text processing; incremented when the same text would get another vector.
const READING_VERSION: u32 = 1;

static VOCABULARY: LazyLock<WordPieceVocabulary> =
    LazyLock::new(|| WordPieceVocabulary::parse(include_str!("../../models/vocabulary.txt")));

/// Bytes of one text that count. A passage has a few thousand bytes; the mean of more than this
/// describes no part of it.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Texts that are embedded before the task yields.
const BATCH: usize = 32;

/// Embeds texts with the table in the executable.
///
/// Nothing is allocated before the first text; then the vocabulary takes about 2 MiB, once per
/// process, plus the used pages of the table (7.5 MiB in the executable).
#[derive(Debug, Clone, Copy, Default)]
pub struct StaticEmbedder;

impl StaticEmbedder {
    /// Costs nothing until it is used.
    pub fn new() -> Self {
        Self
    }

    /// The unit vector of a text; all zeros if no word of it is known.
    pub fn vector(self, text: &str) -> Vec<f32> {
        embed_text(text, &mut Vec::new())
    }

    /// The unit vector of those words of a text that the table has whole; all zeros if it has none.
    /// The pieces of names, codes and misspelled words, which have hardly a meaning of their own, do
    /// not count, nor do numbers and punctuation. For comparing a few words with a text.
    pub fn whole_word_vector(self, text: &str) -> Vec<f32> {
        let mut places = Vec::new();
        VOCABULARY.whole_words(limit_bytes(text), &mut places);
        mean_row(&places)
    }
}

impl Embedder for StaticEmbedder {
    fn id(&self) -> String {
        format!("static/minilm-l6-v2/{DIMENSIONS}/{TABLE_ID}/{READING_VERSION}")
    }

    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>> {
        futures::future::ready(Ok(DIMENSIONS)).boxed()
    }

    /// Queries and passages are embedded alike.
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

/// The vector of a text; `places` is a reusable buffer.
fn embed_text(text: &str, places: &mut Vec<usize>) -> Vec<f32> {
    VOCABULARY.tokenize(limit_bytes(text), places);
    mean_row(places)
}

/// The part of a text that counts.
fn limit_bytes(text: &str) -> &str {
    text.split_at(text.floor_char_boundary(MAX_TEXT_BYTES)).0
}

/// The normalized mean of rows of the table.
fn mean_row(places: &[usize]) -> Vec<f32> {
    let (rows, _) = TABLE.as_chunks::<DIMENSIONS>();
    // Integers are exact in any order, and 64 KiB of pieces cannot overflow them.
    let mut sums = [0_i32; DIMENSIONS];
    for row in places.iter().filter_map(|place| rows.get(*place)) {
        for (sum, byte) in sums.iter_mut().zip(row) {
            *sum += i32::from(byte.cast_signed());
        }
    }
    normalize(&sums)
}

/// Normalizes to length 1. The mean needs no division, because only the direction counts.
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
