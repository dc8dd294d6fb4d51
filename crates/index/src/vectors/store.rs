//! The rows of one embedder: what is there, what is about to be written, and where each key is.
//!
//! Only the holder of the writer's lock may call what writes.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::files;
use super::format::{HEADER, Identity, MOST_DIMENSIONS, Piece, file_header, read_file_header};
use super::map::Blob;
use super::quantise::Quantised;
use super::set::VectorSet;
use crate::IndexError;
use crate::bits::Bits;

/// The row of a passage that has no vector.
pub(crate) const NO_ROW: u32 = u32::MAX;
/// How many rows wait in memory before they are written out.
const WAITING_ROWS: u32 = 8192;
/// How many rows a piece has after tidying up.
const TIDY_ROWS: u32 = 65_536;
/// More pieces than this are put together.
const MOST_PIECES: usize = 512;
/// Fewer dead rows than this are not worth the work.
const FEW_ROWS: u64 = 1024;

/// Keys are digests already: no need to hash them again.
#[derive(Default)]
pub(crate) struct AsIs(u64);

impl Hasher for AsIs {
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

/// Which row a key has.
pub(crate) type RowOf = HashMap<u64, u32, BuildHasherDefault<AsIs>>;

#[derive(Default)]
struct State {
    generation: u32,
    /// How much of the file is whole pieces.
    whole: u64,
    set: Arc<VectorSet>,
    row_of: Arc<RowOf>,
    /// How many pieces `row_of` knows.
    keyed: usize,
    /// Whether one of them is not what was written.
    broken: bool,
    waiting: Piece,
    waiting_keys: HashSet<u64, BuildHasherDefault<AsIs>>,
}

/// The rows of one embedder.
pub(crate) struct Vectors {
    folder: Option<PathBuf>,
    identity: Identity,
    state: Mutex<State>,
}

/// The rows of one moment, and where each key is among them.
pub(crate) struct Snapshot {
    pub generation: u32,
    pub set: Arc<VectorSet>,
    pub row_of: Arc<RowOf>,
}

impl Vectors {
    /// Looks at the headers only.
    pub(crate) fn open(folder: Option<PathBuf>, identity: Identity) -> Result<Self, IndexError> {
        let vectors = Self {
            folder,
            identity,
            state: Mutex::default(),
        };
        vectors.refresh(&mut vectors.lock())?;
        Ok(vectors)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what other processes wrote.
    fn refresh(&self, state: &mut State) -> Result<(), IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let Some((generation, path)) = files::newest(folder, &self.identity)? else {
            return Ok(());
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            // Replaced just now: the next look finds the newer one.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let length = file.metadata()?.len();
        if generation != state.generation || state.whole == 0 {
            let header = Blob::of_file(&file, 0, length.min(HEADER as u64))?;
            let dimensions = read_file_header(&header, &self.identity)?;
            state.generation = generation;
            state.whole = HEADER as u64;
            state.set = Arc::new(VectorSet::empty(dimensions));
            state.row_of = Arc::default();
            state.keyed = 0;
            state.broken = false;
        }
        if length > state.whole {
            let blob = Blob::of_file(&file, state.whole, length)?;
            let mut set = VectorSet::clone(&state.set);
            state.whole += set.add(blob)? as u64;
            state.set = Arc::new(set);
        }
        Ok(())
    }

    /// The rows of now. Reads them through, once.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        learn_keys(&mut state);
        Ok(Snapshot {
            generation: state.generation,
            set: Arc::clone(&state.set),
            row_of: Arc::clone(&state.row_of),
        })
    }

    /// How many rows there are, whoever wrote them, and of which generation: a cheap look.
    pub(crate) fn version(&self) -> Result<(u32, u32), IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        Ok((state.generation, state.set.rows))
    }

    /// How many numbers a vector has, once there is one.
    pub(crate) fn dimensions(&self) -> Option<usize> {
        let state = self.lock();
        (state.set.dimensions > 0).then_some(state.set.dimensions)
    }

    /// What the rows take.
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().whole
    }

    /// Which of the keys have no row, written or waiting.
    pub(crate) fn unknown(&self, keys: &[u64]) -> Result<Vec<bool>, IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        learn_keys(&mut state);
        let unknown = keys
            .iter()
            .map(|key| !state.row_of.contains_key(key) && !state.waiting_keys.contains(key));
        Ok(unknown.collect())
    }

    /// Takes rows in; they are written out with [`Self::flush`], or when there are many.
    pub(crate) fn add(
        &self,
        rows: &[(u64, Quantised)],
        dimensions: usize,
    ) -> Result<(), IndexError> {
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return Err(IndexError::invalid(format!(
                "a vector has {dimensions} numbers; 1 to {MOST_DIMENSIONS} are allowed"
            )));
        }
        let mut state = self.lock();
        self.refresh(&mut state)?;
        if state.set.dimensions != dimensions {
            self.start_over(&mut state, dimensions)?;
        }
        for (key, vector) in rows {
            if vector.values.len() != dimensions || !state.waiting_keys.insert(*key) {
                continue;
            }
            state.waiting.push(*key, vector);
            if state.waiting.rows() >= WAITING_ROWS {
                self.write_out(&mut state)?;
            }
        }
        Ok(())
    }

    /// Writes out what waits.
    pub(crate) fn flush(&self) -> Result<(), IndexError> {
        let mut state = self.lock();
        self.write_out(&mut state)
    }

    fn write_out(&self, state: &mut State) -> Result<(), IndexError> {
        if state.waiting.rows() == 0 {
            return Ok(());
        }
        let piece = std::mem::take(&mut state.waiting);
        state.waiting_keys.clear();
        let bytes = piece.into_bytes(state.set.dimensions);
        if let Some(folder) = &self.folder {
            let path = files::path_of(folder, &self.identity, state.generation);
            files::append(&path, state.whole, &bytes)?;
            self.refresh(state)
        } else {
            let mut set = VectorSet::clone(&state.set);
            state.whole += set.add(Blob::Held(bytes))? as u64;
            state.set = Arc::new(set);
            Ok(())
        }
    }

    /// A new generation without rows.
    fn start_over(&self, state: &mut State, dimensions: usize) -> Result<(), IndexError> {
        let generation = state.generation.saturating_add(1);
        if let Some(folder) = &self.folder {
            let header = file_header(&self.identity, dimensions);
            let path = files::path_of(folder, &self.identity, generation);
            files::create(&path, |file| Ok(file.write_all(&header)?))?;
            files::sweep(folder, &self.identity, generation);
        }
        *state = State {
            generation,
            whole: HEADER as u64,
            set: Arc::new(VectorSet::empty(dimensions)),
            ..State::default()
        };
        Ok(())
    }

    /// Forgets all rows.
    pub(crate) fn clear(&self) -> Result<(), IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        match state.set.dimensions {
            0 => Ok(()),
            dimensions => self.start_over(&mut state, dimensions),
        }
    }

    /// Writes the living rows anew when over a third is dead, the pieces are many or one is broken;
    /// says whether it did. `live` counts for that generation only.
    pub(crate) fn tidy(&self, generation: u32, live: &Bits) -> Result<bool, IndexError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        let set = Arc::clone(&state.set);
        let dead = u64::from(set.rows).saturating_sub(live.count());
        let many_dead = dead >= FEW_ROWS && dead * 3 > u64::from(set.rows);
        let wanted = many_dead || set.segments.len() > MOST_PIECES || state.broken;
        if generation != state.generation || state.waiting.rows() > 0 || !wanted {
            return Ok(false);
        }
        let next = generation.saturating_add(1);
        if let Some(folder) = &self.folder {
            let path = files::path_of(folder, &self.identity, next);
            let header = file_header(&self.identity, set.dimensions);
            files::create(&path, |file| {
                file.write_all(&header)?;
                pieces(&set, live, |bytes| Ok(file.write_all(&bytes)?))
            })?;
            files::sweep(folder, &self.identity, next);
            self.refresh(&mut state)?;
            return Ok(true);
        }
        let mut tidy = VectorSet::empty(set.dimensions);
        let mut whole = HEADER as u64;
        pieces(&set, live, |bytes| {
            whole += tidy.add(Blob::Held(bytes))? as u64;
            Ok(())
        })?;
        *state = State {
            generation: next,
            whole,
            set: Arc::new(tidy),
            ..State::default()
        };
        Ok(true)
    }

    /// Removes files nobody needs any more.
    pub(crate) fn sweep(&self) {
        let generation = self.lock().generation;
        if let Some(folder) = &self.folder {
            files::sweep(folder, &self.identity, generation);
        }
    }
}

/// Learns the keys of pieces not seen before. A piece that is not what was written counts for
/// nothing: its passages go without vectors until these are made again.
fn learn_keys(state: &mut State) {
    if state.keyed == state.set.segments.len() {
        return;
    }
    let set = Arc::clone(&state.set);
    let row_of = Arc::make_mut(&mut state.row_of);
    let new = set.segments.iter().skip(state.keyed);
    row_of.reserve(new.clone().map(|piece| piece.rows() as usize).sum());
    for piece in new {
        let Some(keys) = piece.keys().filter(|_| piece.sound()) else {
            tracing::warn!("a piece of the vectors is broken; its vectors are made again");
            state.broken = true;
            continue;
        };
        row_of.extend(keys.zip(piece.first..));
    }
    state.keyed = set.segments.len();
}

/// The living rows in new pieces, leaving out pieces that are broken.
fn pieces(
    set: &VectorSet,
    live: &Bits,
    mut write: impl FnMut(Vec<u8>) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let mut piece = Piece::default();
    for segment in &set.segments {
        let Some(keys) = segment.keys().filter(|_| segment.sound()) else {
            continue;
        };
        for (key, row) in keys.zip(segment.first..) {
            let kept = live.contains(row).then(|| set.row(row)).flatten();
            if let Some(vector) = kept {
                piece.push(key, &vector);
            }
            if piece.rows() >= TIDY_ROWS {
                write(std::mem::take(&mut piece).into_bytes(set.dimensions))?;
            }
        }
    }
    if piece.rows() > 0 {
        write(piece.into_bytes(set.dimensions))?;
    }
    Ok(())
}
