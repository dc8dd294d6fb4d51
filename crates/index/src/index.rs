//! The index: opening it, and all that is neither putting in nor searching.

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

use crate::join::Joiner;
use crate::layout::Layout;
use crate::lock::{Slot, is_busy};
use crate::rest::Rest;
use crate::vectors::{Identity, Vectors, is_vectors};
use crate::view::Seen;
use crate::{IndexError, IndexOptions, Passage, Stats, words};

/// A search index over passages. Copies are handles on the same one.
#[derive(Clone)]
pub struct Index {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub options: IndexOptions,
    pub layout: Layout,
    pub index: tantivy::Index,
    pub reader: IndexReader,
    pub vectors: Option<Vectors>,
    pub joiner: Joiner,
    seen: Mutex<Option<Seen>>,
    slot: Mutex<Slot>,
    /// How often the writer was used.
    pub turns: AtomicU64,
    /// Of the embedder.
    pub rest: Rest,
}

impl Index {
    /// Opens the index, making it if there is none. Cheap whatever its size: files are mapped, not
    /// read. Files that can't be used give [`IndexError::Damaged`], which [`Self::wipe`] answers.
    pub fn open(options: IndexOptions) -> Result<Self, IndexError> {
        // The text index is known to panic on some damaged files.
        let opened = catch_unwind(AssertUnwindSafe(|| open(options)));
        let inner = opened.unwrap_or_else(|_| {
            Err(IndexError::damaged(
                "reading it stopped half-way, which good files never cause",
            ))
        })?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Removes the files of an index from a folder, and nothing else.
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
            if name.to_str().is_some_and(is_ours) && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The caller's mark at the last commit, whoever made it; 0 before the first. Files that are
    /// gone give [`IndexError::Damaged`].
    pub fn mark(&self) -> Result<u64, IndexError> {
        let metas = self.inner.index.load_metas()?;
        let payload = metas.payload.unwrap_or_default();
        Ok(payload.parse().unwrap_or(0))
    }

    /// The passages of a document in order; none if it is not there.
    pub async fn passages_of(&self, document: &str) -> Result<Vec<Passage>, IndexError> {
        let term = self.inner.layout.of_document(document);
        self.blocking(move |inner| {
            let view = inner.view()?;
            let query = TermQuery::new(term, IndexRecordOption::Basic);
            let collector = tantivy::collector::DocSetCollector;
            let mut passages = Vec::new();
            for address in view.searcher.search(&query, &collector)? {
                let row = view.searcher.doc(address)?;
                passages.push(inner.layout.read(&row)?.passage);
            }
            passages.sort_by_key(|passage| passage.number);
            Ok(passages)
        })
        .await
    }

    /// What the index holds. The first call after opening joins passages and vectors, which takes
    /// a moment when there are hundreds of thousands.
    pub fn stats(&self) -> Stats {
        let inner = &self.inner;
        let counted = inner.view().and_then(|view| {
            let first = TermQuery::new(inner.layout.of_first(), IndexRecordOption::Basic);
            let documents = view.searcher.search(&first, &Count)?;
            let rows = view.rows(inner)?;
            Ok(Stats {
                documents: documents as u64,
                passages: view.searcher.num_docs(),
                vectors: rows.as_ref().map_or(0, |rows| rows.with),
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
            dimensions: inner.vectors.as_ref().and_then(Vectors::dimensions),
            ..counted
        }
    }

    /// Runs something slow where it blocks nobody.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Arc<Inner>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || act(&inner)).await?
    }
}

impl Inner {
    pub(crate) fn seen(&self) -> MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self) -> u64 {
        let Some(folder) = &self.options.folder else {
            return self.vectors.as_ref().map_or(0, Vectors::bytes);
        };
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .filter_map(|file| file.metadata().ok())
            .map(|about| about.len())
            .sum()
    }
}

fn open(options: IndexOptions) -> Result<Inner, IndexError> {
    let layout = Layout::new();
    let builder = tantivy::Index::builder()
        .schema(layout.schema.clone())
        .tokenizers(words::tokenizers());
    let index = match &options.folder {
        None => builder.create_in_ram()?,
        Some(folder) => {
            private_folder(folder)?;
            // Two processes that both find an empty folder must not both fill it.
            let lock = fs::File::create(folder.join(CREATE_LOCK))?;
            lock.lock()?;
            let directory = MmapDirectory::open(folder).map_err(TantivyError::from)?;
            builder.open_or_create(directory).map_err(at_opening)?
        }
    };
    let reader = index
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        .try_into()
        .map_err(at_opening)?;
    let vectors = match &options.embedder {
        Some(embedder) => {
            let identity = identity(&embedder.id(), options.analysis.embed_headings);
            Some(Vectors::open(options.folder.clone(), identity)?)
        }
        None => None,
    };
    Ok(Inner {
        options,
        layout,
        index,
        reader,
        vectors,
        joiner: Joiner::default(),
        seen: Mutex::default(),
        slot: Mutex::default(),
        turns: AtomicU64::new(0),
        rest: Rest::default(),
    })
}

const CREATE_LOCK: &str = "create.lock";

/// Vectors are comparable when the same model made them from texts put together the same way.
fn identity(embedder: &str, headings: bool) -> Identity {
    Sha256::new()
        .chain_update([u8::from(headings)])
        .chain_update(embedder)
        .finalize()
        .into()
}

/// When opening, what can't be parsed is damage too, not a failing disk.
fn at_opening(error: TantivyError) -> IndexError {
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
        _ => IndexError::damaged(error.to_string()),
    }
}

/// Whether a file of that name is part of an index.
fn is_ours(name: &str) -> bool {
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

/// Made for the user alone: what people read is their own.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
