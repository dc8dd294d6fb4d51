//! The index: opening, wiping, statistics. Writing is in `writer`, searching in `search`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use tantivy::collector::Count;
use tantivy::directory::MmapDirectory;
use tantivy::query::TermQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{IndexReader, ReloadPolicy, TantivyError};

use super::{
    embed::cooldown::Cooldown,
    snapshot::CachedSnapshot,
    text::{analyzer, schema::PassageSchema},
    vectors::passage_join::VectorJoiner,
    writer_lock::{WriterSlot, is_busy},
};
use crate::{
    IndexError, IndexOptions, Passage, Stats,
    vectors::{EmbedderIdentity, VectorStore, is_vectors},
};

/// A search index over passages. Clones are handles on the same index.
#[derive(Clone)]
pub struct Index {
    pub(crate) inner: Arc<IndexInner>,
}

pub(crate) struct IndexInner {
    pub options: IndexOptions,
    pub schema: PassageSchema,
    pub index: tantivy::Index,
    pub reader: IndexReader,
    pub vectors: Option<VectorStore>,
    pub vector_joiner: VectorJoiner,
    cached_snapshot: Mutex<Option<CachedSnapshot>>,
    slot: Mutex<WriterSlot>,
    /// Counts the uses of the writer.
    pub writer_uses: AtomicU64,
    /// The embedder's cooldown.
    pub cooldown: Cooldown,
}

impl Index {
    /// Opens the index, or creates it. Cheap whatever its size, because files are mapped and not read.
    /// Unusable files return [`IndexError::Corrupt`]; [`Self::wipe`] is the remedy.
    pub fn open(options: IndexOptions) -> Result<Self, IndexError> {
        // Tantivy is known to panic on some damaged files.
        let opened = catch_unwind(AssertUnwindSafe(|| open(options)));
        let inner = opened.unwrap_or_else(|_| {
            Err(IndexError::corrupt(
                "reading it failed, which intact files never cause",
            ))
        })?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Removes the index files from a folder, and nothing else.
    pub fn wipe(folder: &Path) -> Result<(), IndexError> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if is_busy(folder) {
            return Err(IndexError::Busy);
        }
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(is_index_file) && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The caller's mark at the last commit of any process; 0 before the first. Missing files return
    /// [`IndexError::Corrupt`].
    pub fn mark(&self) -> Result<u64, IndexError> {
        let metas = self.inner.index.load_metas()?;
        let payload = metas.payload.unwrap_or_default();
        Ok(payload.parse().unwrap_or(0))
    }

    /// The passages of a document in order; none if the document is not indexed.
    pub async fn document_passages(&self, document: &str) -> Result<Vec<Passage>, IndexError> {
        let term = self.inner.schema.document_term(document);
        self.blocking(move |inner| {
            let view = inner.snapshot()?;
            let query = TermQuery::new(term, IndexRecordOption::Basic);
            let collector = tantivy::collector::DocSetCollector;
            let mut passages = Vec::new();
            for address in view.searcher.search(&query, &collector)? {
                let row = view.searcher.doc(address)?;
                passages.push(inner.schema.read(&row)?.passage);
            }
            passages.sort_by_key(|passage| passage.number);
            Ok(passages)
        })
        .await
    }

    /// Statistics of the index. The first call after opening joins passages and vectors, which takes
    /// a moment with hundreds of thousands.
    pub fn stats(&self) -> Stats {
        let inner = &self.inner;
        let counted = inner.snapshot().and_then(|view| {
            let first = TermQuery::new(inner.schema.first_passage_term(), IndexRecordOption::Basic);
            let documents = view.searcher.search(&first, &Count)?;
            let rows = view.rows(inner)?;
            Ok(Stats {
                documents: documents as u64,
                passages: view.searcher.num_docs(),
                vectors: rows.as_ref().map_or(0, |rows| rows.joined),
                missing_vectors: rows.as_ref().map_or(0, |rows| rows.missing),
                embedder: None,
                dimensions: None,
                bytes: inner.bytes(),
            })
        });
        let counted = counted.unwrap_or_else(|error| {
            tracing::warn!(%error, "the index can't be counted");
            Stats::default()
        });
        Stats {
            embedder: inner.options.embedder.as_ref().map(|maker| maker.id()),
            dimensions: inner.vectors.as_ref().and_then(VectorStore::dimensions),
            ..counted
        }
    }

    /// Runs slow work on the blocking pool.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Arc<IndexInner>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || act(&inner)).await?
    }
}

impl IndexInner {
    pub(crate) fn cached_snapshot(&self) -> MutexGuard<'_, Option<CachedSnapshot>> {
        self.cached_snapshot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slot(&self) -> MutexGuard<'_, WriterSlot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self) -> u64 {
        let Some(folder) = &self.options.folder else {
            return self.vectors.as_ref().map_or(0, VectorStore::bytes);
        };
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .filter_map(|file| file.metadata().ok())
            .map(|about| about.len())
            .sum()
    }
}

fn open(options: IndexOptions) -> Result<IndexInner, IndexError> {
    let layout = PassageSchema::new();
    let builder = tantivy::Index::builder()
        .schema(layout.schema.clone())
        .tokenizers(analyzer::tokenizers());
    let index = match &options.folder {
        None => builder.create_in_ram()?,
        Some(folder) => {
            private_folder(folder)?;
            // Two processes that find an empty folder must not both create the index.
            let lock = fs::File::create(folder.join(CREATE_LOCK))?;
            lock.lock()?;
            let directory = MmapDirectory::open(folder).map_err(TantivyError::from)?;
            builder.open_or_create(directory).map_err(opening_error)?
        }
    };
    let reader = index
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        .try_into()
        .map_err(opening_error)?;
    let vectors = match &options.embedder {
        Some(embedder) => {
            let identity = embedder_identity(&embedder.id(), options.analyzer.embed_headings);
            Some(VectorStore::open(options.folder.clone(), identity)?)
        }
        None => None,
    };
    Ok(IndexInner {
        options,
        schema: layout,
        index,
        reader,
        vectors,
        vector_joiner: VectorJoiner::default(),
        cached_snapshot: Mutex::default(),
        slot: Mutex::default(),
        writer_uses: AtomicU64::new(0),
        cooldown: Cooldown::default(),
    })
}

const CREATE_LOCK: &str = "create.lock";

/// Vectors are comparable if the same model made them from texts composed the same way.
fn embedder_identity(embedder: &str, headings: bool) -> EmbedderIdentity {
    Sha256::new()
        .chain_update([u8::from(headings)])
        .chain_update(embedder)
        .finalize()
        .into()
}

/// While opening, unparsable files are damage too, not an I/O failure.
fn opening_error(error: TantivyError) -> IndexError {
    match &error {
        TantivyError::IoError(io)
            if !matches!(
                io.kind(),
                std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof
            ) =>
        {
            IndexError::failed(error)
        }
        TantivyError::LockFailure(..) | TantivyError::OpenDirectoryError(_) => error.into(),
        _ => IndexError::corrupt(error.to_string()),
    }
}

fn is_index_file(name: &str) -> bool {
    const NAMES: [&str; 5] = [
        "meta.json",
        ".managed.json",
        ".tantivy-writer.lock",
        ".tantivy-meta.lock",
        CREATE_LOCK,
    ];
    let segment = name
        .split_once('.')
        .is_some_and(|(id, _)| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()));
    segment || NAMES.contains(&name) || is_vectors(name)
}

/// Creates a folder that only the user can read.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
