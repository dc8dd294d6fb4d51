//! The rows of one embedder: what is stored, what is pending, and the row of each key.
//!
//! Only the holder of the writer lock may call the methods that write.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    files,
    format::{
        EmbedderIdentity, HEADER, MAX_DIMENSIONS, VectorBlock, file_header, read_file_header,
    },
    mmap::MappedBytes,
    quantization::QuantizedVector,
    segments::VectorSet,
};
use crate::{IndexError, bit_set::BitSet};

/// Marks a passage without a vector.
pub(crate) const NO_ROW: u32 = u32::MAX;
/// Pending rows before they are flushed.
const MAX_PENDING_ROWS: u32 = 8192;
/// Rows per block after compaction.
const COMPACTED_ROWS: u32 = 65_536;
/// More blocks than this are compacted.
const MAX_BLOCKS: usize = 512;
/// Fewer dead rows than this are not worth a compaction.
const MIN_DEAD_ROWS: u64 = 1024;

/// Keys are digests already and need no further hashing.
#[derive(Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

pub(crate) type RowByKey = HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>;

#[derive(Default)]
struct VectorStoreState {
    generation: u32,
    /// The length of the complete blocks of the file.
    valid_bytes: u64,
    set: Arc<VectorSet>,
    row_by_key: Arc<RowByKey>,
    /// The number of blocks in `row_of`.
    indexed_blocks: usize,
    /// Whether a block's checksum is wrong.
    broken: bool,
    pending: VectorBlock,
    pending_keys: HashSet<u64, BuildHasherDefault<IdentityHasher>>,
}

pub(crate) struct VectorStore {
    folder: Option<PathBuf>,
    identity: EmbedderIdentity,
    state: Mutex<VectorStoreState>,
}

/// The rows at one moment, and the row of each key.
pub(crate) struct VectorSnapshot {
    pub generation: u32,
    pub set: Arc<VectorSet>,
    pub row_by_key: Arc<RowByKey>,
}

impl VectorStore {
    /// Opens the file and reads the headers only.
    pub(crate) fn open(
        folder: Option<PathBuf>,
        identity: EmbedderIdentity,
    ) -> Result<Self, IndexError> {
        let vectors = Self {
            folder,
            identity,
            state: Mutex::default(),
        };
        vectors.refresh(&mut vectors.lock())?;
        Ok(vectors)
    }

    fn lock(&self) -> MutexGuard<'_, VectorStoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads blocks that other processes wrote.
    fn refresh(&self, state: &mut VectorStoreState) -> Result<(), IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let Some((generation, path)) = files::newest_file(folder, &self.identity)? else {
            return Ok(());
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            // The file was just replaced: the next call finds the newer one.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let length = file.metadata()?.len();
        if generation != state.generation || state.valid_bytes == 0 {
            let header = MappedBytes::map_file(&file, 0, length.min(HEADER as u64))?;
            let dimensions = read_file_header(&header, &self.identity)?;
            state.generation = generation;
            state.valid_bytes = HEADER as u64;
            state.set = Arc::new(VectorSet::empty(dimensions));
            state.row_by_key = Arc::default();
            state.indexed_blocks = 0;
            state.broken = false;
        }
        if length > state.valid_bytes {
            let blob = MappedBytes::map_file(&file, state.valid_bytes, length)?;
            let mut set = VectorSet::clone(&state.set);
            state.valid_bytes += set.add(blob)? as u64;
            state.set = Arc::new(set);
        }
        Ok(())
    }

    /// The current rows. Reads their keys once.
    pub(crate) fn snapshot(&self) -> Result<VectorSnapshot, IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        index_keys(&mut state);
        Ok(VectorSnapshot {
            generation: state.generation,
            set: Arc::clone(&state.set),
            row_by_key: Arc::clone(&state.row_by_key),
        })
    }

    /// The number of rows and their generation, of any process; cheap.
    pub(crate) fn version(&self) -> Result<(u32, u32), IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        Ok((state.generation, state.set.rows))
    }

    /// The dimensions of a vector, once there is one.
    pub(crate) fn dimensions(&self) -> Option<usize> {
        let state = self.lock();
        (state.set.dimensions > 0).then_some(state.set.dimensions)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.lock().valid_bytes
    }

    /// Which of the keys have no row, stored or pending.
    pub(crate) fn missing_keys(&self, keys: &[u64]) -> Result<Vec<bool>, IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        index_keys(&mut state);
        let unknown = keys
            .iter()
            .map(|key| !state.row_by_key.contains_key(key) && !state.pending_keys.contains(key));
        Ok(unknown.collect())
    }

    /// Adds rows; [`Self::flush`] writes them, or this does when there are many.
    pub(crate) fn add(
        &self,
        rows: &[(u64, QuantizedVector)],
        dimensions: usize,
    ) -> Result<(), IndexError> {
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(IndexError::invalid(format!(
                "a vector has {dimensions} numbers; 1 to {MAX_DIMENSIONS} are allowed"
            )));
        }
        let mut state = self.lock();
        self.refresh(&mut state)?;
        if state.set.dimensions != dimensions {
            self.new_generation(&mut state, dimensions)?;
        }
        for (key, vector) in rows {
            if vector.values.len() != dimensions || !state.pending_keys.insert(*key) {
                continue;
            }
            state.pending.push(*key, vector);
            if state.pending.rows() >= MAX_PENDING_ROWS {
                self.write_pending(&mut state)?;
            }
        }
        Ok(())
    }

    /// Writes the pending rows.
    pub(crate) fn flush(&self) -> Result<(), IndexError> {
        let mut state = self.lock();
        self.write_pending(&mut state)
    }

    fn write_pending(&self, state: &mut VectorStoreState) -> Result<(), IndexError> {
        if state.pending.rows() == 0 {
            return Ok(());
        }
        let piece = std::mem::take(&mut state.pending);
        state.pending_keys.clear();
        let bytes = piece.into_bytes(state.set.dimensions);
        if let Some(folder) = &self.folder {
            let path = files::vectors_path(folder, &self.identity, state.generation);
            files::append(&path, state.valid_bytes, &bytes)?;
            self.refresh(state)
        } else {
            let mut set = VectorSet::clone(&state.set);
            state.valid_bytes += set.add(MappedBytes::Owned(bytes))? as u64;
            state.set = Arc::new(set);
            Ok(())
        }
    }

    /// Starts a new generation without rows.
    fn new_generation(
        &self,
        state: &mut VectorStoreState,
        dimensions: usize,
    ) -> Result<(), IndexError> {
        let generation = state.generation.saturating_add(1);
        if let Some(folder) = &self.folder {
            let header = file_header(&self.identity, dimensions);
            let path = files::vectors_path(folder, &self.identity, generation);
            files::create(&path, |file| Ok(file.write_all(&header)?))?;
            files::remove_stale(folder, &self.identity, generation);
        }
        *state = VectorStoreState {
            generation,
            valid_bytes: HEADER as u64,
            set: Arc::new(VectorSet::empty(dimensions)),
            ..VectorStoreState::default()
        };
        Ok(())
    }

    /// Removes all rows.
    pub(crate) fn clear(&self) -> Result<(), IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        match state.set.dimensions {
            0 => Ok(()),
            dimensions => self.new_generation(&mut state, dimensions),
        }
    }

    /// Rewrites the live rows if over a third is dead, there are too many blocks or one is broken;
    /// returns whether it did. `live` is valid for that generation only.
    pub(crate) fn compact(&self, generation: u32, live: &BitSet) -> Result<bool, IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        let set = Arc::clone(&state.set);
        let dead = u64::from(set.rows).saturating_sub(live.count());
        let many_dead = dead >= MIN_DEAD_ROWS && dead * 3 > u64::from(set.rows);
        let wanted = many_dead || set.segments.len() > MAX_BLOCKS || state.broken;
        if generation != state.generation || state.pending.rows() > 0 || !wanted {
            return Ok(false);
        }
        let next = generation.saturating_add(1);
        if let Some(folder) = &self.folder {
            let path = files::vectors_path(folder, &self.identity, next);
            let header = file_header(&self.identity, set.dimensions);
            files::create(&path, |file| {
                file.write_all(&header)?;
                live_blocks(&set, live, |bytes| Ok(file.write_all(&bytes)?))
            })?;
            files::remove_stale(folder, &self.identity, next);
            self.refresh(&mut state)?;
            return Ok(true);
        }
        let mut tidy = VectorSet::empty(set.dimensions);
        let mut whole = HEADER as u64;
        live_blocks(&set, live, |bytes| {
            whole += tidy.add(MappedBytes::Owned(bytes))? as u64;
            Ok(())
        })?;
        *state = VectorStoreState {
            generation: next,
            valid_bytes: whole,
            set: Arc::new(tidy),
            ..VectorStoreState::default()
        };
        Ok(true)
    }

    pub(crate) fn remove_stale_files(&self) {
        let generation = self.lock().generation;
        if let Some(folder) = &self.folder {
            files::remove_stale(folder, &self.identity, generation);
        }
    }
}

/// Reads the keys of new blocks. A broken block is ignored: its passages have no vectors until they
/// are made again.
fn index_keys(state: &mut VectorStoreState) {
    if state.indexed_blocks == state.set.segments.len() {
        return;
    }
    let set = Arc::clone(&state.set);
    let row_of = Arc::make_mut(&mut state.row_by_key);
    let new = set.segments.iter().skip(state.indexed_blocks);
    row_of.reserve(new.clone().map(|piece| piece.rows() as usize).sum());
    for piece in new {
        let Some(keys) = piece.keys().filter(|_| piece.is_intact()) else {
            tracing::warn!("a vector block is broken; its vectors are rebuilt");
            state.broken = true;
            continue;
        };
        row_of.extend(keys.zip(piece.first..));
    }
    state.indexed_blocks = set.segments.len();
}

/// The live rows in new blocks, without broken blocks.
fn live_blocks(
    set: &VectorSet,
    live: &BitSet,
    mut write: impl FnMut(Vec<u8>) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let mut piece = VectorBlock::default();
    for segment in &set.segments {
        let Some(keys) = segment.keys().filter(|_| segment.is_intact()) else {
            continue;
        };
        for (key, row) in keys.zip(segment.first..) {
            let quantized_vector = live.contains(row).then(|| set.row(row)).flatten();
            if let Some(vector) = quantized_vector {
                piece.push(key, &vector);
            }
            if piece.rows() >= COMPACTED_ROWS {
                write(std::mem::take(&mut piece).into_bytes(set.dimensions))?;
            }
        }
    }
    if piece.rows() > 0 {
        write(piece.into_bytes(set.dimensions))?;
    }
    Ok(())
}
