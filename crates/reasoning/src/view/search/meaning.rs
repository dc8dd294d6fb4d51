//! Ranks thoughts and nodes by how close they are in meaning to the words of a query.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_core::is_stop_word;
use deliberate_store::{SearchKey, SearchQuery, Store, StoreError};
use futures::future::BoxFuture;

/// The newest thoughts and nodes that are compared.
const MAX_COMPARED: u32 = 5_000;

/// The characters of an input and of a content that count.
const MAX_TEXT_CHARS: u32 = 2_000;

/// The texts that are read and embedded at once.
const BATCH: usize = 500;

/// The most vectors in memory: 10 MB at 256 numbers each. More than [`MAX_COMPARED`].
const MAX_VECTORS: usize = 10_000;

/// Makes vectors of texts that are close if the texts are close in meaning.
pub trait TextEmbedder: Send + Sync {
    /// Returns one vector of length 1 for each text, in order; all zeros if it has no known word.
    /// Must not hold up other tasks.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Vec<Vec<f32>>>;

    /// Returns the cosine from which on a text is close in meaning to a query.
    fn min_similarity(&self) -> f32;
}

/// The comparison by meaning, with the vectors of the texts that it has compared before.
pub(super) struct MeaningRanker {
    embedder: Arc<dyn TextEmbedder>,
    /// The texts of thoughts and nodes never change, so neither do their vectors.
    vectors: Mutex<HashMap<SearchKey, Arc<[f32]>>>,
}

impl MeaningRanker {
    pub(super) fn new(embedder: Arc<dyn TextEmbedder>) -> Self {
        Self {
            embedder,
            vectors: Mutex::default(),
        }
    }

    /// Returns the ids that are close to these words among the newest that pass the filters of the
    /// search, closest first.
    pub(super) async fn rank(
        &self,
        words: &[String],
        search: &SearchQuery,
        store: &dyn Store,
    ) -> Result<Vec<SearchKey>, StoreError> {
        let query = self.embedder.embed(vec![content_words(&words.join(" "))]);
        let query = query.await.pop().unwrap_or_default();
        if query.iter().all(|number| *number == 0.0) {
            return Ok(Vec::new());
        }
        let keys = store.newest_entities(search, MAX_COMPARED).await?;
        self.add_missing_vectors(&keys, store).await?;
        let least = self.embedder.min_similarity();
        let mut close: Vec<(f32, SearchKey)> = self
            .known_vectors(keys)
            .into_iter()
            .map(|(key, vector)| (dot_product(&query, &vector), key))
            .filter(|(similarity, _)| *similarity >= least)
            .collect();
        // The sort is stable, so the newer of two equals comes first.
        close.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        Ok(close.into_iter().map(|(_, key)| key).collect())
    }

    async fn add_missing_vectors(
        &self,
        keys: &[SearchKey],
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        let missing: Vec<SearchKey> = {
            let known = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
            let missing = keys.iter().filter(|key| !known.contains_key(key));
            missing.cloned().collect()
        };
        for batch in missing.chunks(BATCH) {
            let (ids, texts): (Vec<_>, Vec<_>) = store
                .search_texts(batch, MAX_TEXT_CHARS)
                .await?
                .into_iter()
                .map(|(key, text)| (key, content_words(&text)))
                .unzip();
            let vectors = self.embedder.embed(texts).await;
            self.insert(ids.into_iter().zip(vectors), keys);
        }
        Ok(())
    }

    /// Adds vectors; if there are too many, only those of `wanted` stay.
    fn insert(&self, new: impl Iterator<Item = (SearchKey, Vec<f32>)>, wanted: &[SearchKey]) {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        vectors.extend(new.map(|(key, vector)| (key, Arc::from(vector))));
        if vectors.len() > MAX_VECTORS {
            let wanted: HashSet<&SearchKey> = wanted.iter().collect();
            vectors.retain(|key, _| wanted.contains(key));
        }
    }

    fn known_vectors(&self, keys: Vec<SearchKey>) -> Vec<(SearchKey, Arc<[f32]>)> {
        let known = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let found = keys
            .into_iter()
            .filter_map(|key| known.get(&key).cloned().map(|vector| (key, vector)));
        found.collect()
    }
}

/// Returns the words of a text without stop words, which make all texts alike.
fn content_words(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let mut content = String::with_capacity(text.len());
    for word in words.filter(|word| !word.is_empty() && !is_stop_word(word)) {
        content.push_str(word);
        content.push(' ');
    }
    content
}

fn dot_product(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}
