//! What the tests share: small documents, and embedders that can be watched and broken.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use deliberate_index::testing::HashingEmbedder;
use deliberate_index::{
    EmbedError, Embedder, EmbeddingPurpose, Facets, Index, IndexOptions, IndexedDocument, Passage,
    PassageHits, Query, SearchMode,
};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};

pub(crate) fn document(id: &str, texts: &[&str]) -> IndexedDocument {
    IndexedDocument {
        id: id.to_owned(),
        title: String::new(),
        facets: Facets::default(),
        passages: texts
            .iter()
            .zip(0..)
            .map(|(text, number)| Passage {
                number,
                text: (*text).to_owned(),
                section: vec!["Part".to_owned()],
                page: number + 1,
                end_page: number + 2,
                start: u64::from(number) * 100,
                end: u64::from(number) * 100 + text.len() as u64,
            })
            .collect(),
    }
}

pub(crate) fn with_words(
    mut document: IndexedDocument,
    words: &[(&str, &[&str])],
) -> IndexedDocument {
    let words = words.iter().map(|(name, words)| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        ((*name).to_owned(), words)
    });
    document.facets.words = words.collect::<BTreeMap<_, _>>();
    document
}

pub(crate) fn in_memory(embedder: Option<Arc<dyn Embedder>>) -> Index {
    Index::open(IndexOptions {
        embedder,
        ..IndexOptions::default()
    })
    .unwrap()
}

pub(crate) fn in_folder(folder: &Path, embedder: Option<Arc<dyn Embedder>>) -> Index {
    Index::open(IndexOptions {
        folder: Some(folder.to_owned()),
        embedder,
        ..IndexOptions::default()
    })
    .unwrap()
}

pub(crate) fn hashing() -> Arc<dyn Embedder> {
    Arc::new(HashingEmbedder::new(64))
}

pub(crate) async fn search(index: &Index, text: &str, mode: SearchMode) -> PassageHits {
    let query = Query {
        text: text.to_owned(),
        mode,
        ..Query::default()
    };
    index.search(&query).await.unwrap()
}

/// The documents of the hits, best first.
pub(crate) fn documents(hits: &PassageHits) -> Vec<&str> {
    hits.hits.iter().map(|hit| hit.document.as_str()).collect()
}

/// An embedder that counts what it is asked for and fails when told to.
pub(crate) struct CountingEmbedder {
    pub(crate) inner: HashingEmbedder,
    pub(crate) passages: AtomicUsize,
    pub(crate) is_down: AtomicBool,
}

impl CountingEmbedder {
    pub(crate) fn new(name: &str, dimensions: usize) -> Arc<Self> {
        Arc::new(Self {
            inner: HashingEmbedder {
                dimensions,
                name: name.to_owned(),
            },
            passages: AtomicUsize::new(0),
            is_down: AtomicBool::new(false),
        })
    }

    pub(crate) fn embedded_count(&self) -> usize {
        self.passages.swap(0, Ordering::SeqCst)
    }

    pub(crate) fn set_down(&self, down: bool) {
        self.is_down.store(down, Ordering::SeqCst);
    }
}

impl Embedder for CountingEmbedder {
    fn id(&self) -> String {
        // Without the dimensions, so that these can change behind its back.
        self.inner.name.clone()
    }

    fn dimensions(&self) -> BoxFuture<'_, Result<usize, EmbedError>> {
        self.inner.dimensions()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: EmbeddingPurpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        if self.is_down.load(Ordering::SeqCst) {
            let reason = "refused the connection".to_owned();
            return ready(Err(EmbedError::Unavailable { reason })).boxed();
        }
        if purpose == EmbeddingPurpose::Passage {
            self.passages.fetch_add(texts.len(), Ordering::SeqCst);
        }
        self.inner.embed(texts, purpose)
    }

    fn batch(&self) -> usize {
        3
    }
}
