//! Joins the passages of a snapshot with their vectors.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::{DocAddress, Searcher, SegmentReader};

use crate::{
    IndexError,
    bit_set::BitSet,
    text::{
        bm25::{pack, unpack},
        schema::KEY,
    },
    vectors::{NO_ROW, VectorSet, VectorSnapshot, VectorStore},
};

pub(crate) struct PassageVectors {
    pub generation: u32,
    pub set: Arc<VectorSet>,
    /// The rows that belong to a live passage.
    pub live: BitSet,
    /// The number of `live` rows.
    pub joined: u64,
    /// Live passages without a row.
    pub missing: u64,
    /// The passage of each row.
    addresses: Vec<u64>,
    /// The row of each passage, by segment.
    rows_by_segment: Vec<Arc<[u32]>>,
}

impl PassageVectors {
    /// The passage of a live row.
    pub(crate) fn passage(&self, row: u32) -> Option<DocAddress> {
        let packed = self.addresses.get(row as usize)?;
        self.live.contains(row).then(|| unpack(*packed))
    }

    /// The rows of the passages that pass the filter.
    pub(crate) fn allowed_rows(&self, allowed: Option<&[BitSet]>) -> BitSet {
        let Some(allowed) = allowed else {
            return self.live.clone();
        };
        let mut rows = BitSet::empty(self.set.rows);
        for (bits, of_segment) in allowed.iter().zip(&self.rows_by_segment) {
            for doc in bits.iter_range(0, u32::MAX) {
                if let Some(row) = of_segment.get(doc as usize) {
                    rows.insert(*row);
                }
            }
        }
        rows
    }

    /// The first `most` live passages without a row.
    pub(crate) fn missing_vectors(&self, searcher: &Searcher, most: usize) -> Vec<DocAddress> {
        let segments = searcher.segment_readers().iter().zip(&self.rows_by_segment);
        let without = (0..).zip(segments).flat_map(|(number, (segment, rows))| {
            let docs = (0..).zip(rows.iter());
            docs.filter(|(doc, row)| **row == NO_ROW && is_alive(segment, *doc))
                .map(move |(doc, _)| DocAddress::new(number, doc))
        });
        without.take(most).collect()
    }
}

fn is_alive(segment: &SegmentReader, doc: u32) -> bool {
    segment
        .alive_bitset()
        .is_none_or(|alive| alive.is_alive(doc))
}

/// Caches joins by segment: a segment's passages never change, only which of them are live.
#[derive(Default)]
pub(crate) struct VectorJoiner {
    segments: Mutex<HashMap<SegmentId, SegmentJoin>>,
}

#[derive(Clone)]
struct SegmentJoin {
    generation: u32,
    /// The number of rows at the time of the join.
    row_count: u32,
    is_complete: bool,
    rows: Arc<[u32]>,
}

impl VectorJoiner {
    pub(crate) fn join(
        &self,
        searcher: &Searcher,
        vectors: &VectorStore,
    ) -> Result<PassageVectors, IndexError> {
        let snapshot = vectors.snapshot()?;
        let mut before = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = HashMap::new();
        for segment in searcher.segment_readers() {
            let id = segment.segment_id();
            let known = before.remove(&id).filter(|known| {
                known.generation == snapshot.generation
                    && (known.is_complete || known.row_count == snapshot.set.rows)
            });
            let joined = match known {
                Some(known) => known,
                None => join_segment(segment, &snapshot)?,
            };
            now.insert(id, joined);
        }
        let joined = searcher
            .segment_readers()
            .iter()
            .filter_map(|segment| now.get(&segment.segment_id()))
            .map(|joined| Arc::clone(&joined.rows))
            .collect();
        *before = now;
        drop(before);
        Ok(build_joined(searcher, snapshot, joined))
    }
}

fn join_segment(
    segment: &SegmentReader,
    snapshot: &VectorSnapshot,
) -> Result<SegmentJoin, IndexError> {
    let keys = segment.fast_fields().u64(KEY)?;
    let row_of = |doc| {
        let key = keys.first(doc)?;
        snapshot.row_by_key.get(&key).copied()
    };
    let rows: Arc<[u32]> = (0..segment.max_doc())
        .map(|doc| row_of(doc).unwrap_or(NO_ROW))
        .collect();
    Ok(SegmentJoin {
        generation: snapshot.generation,
        row_count: snapshot.set.rows,
        is_complete: !rows.contains(&NO_ROW),
        rows,
    })
}

fn build_joined(
    searcher: &Searcher,
    snapshot: VectorSnapshot,
    of_segment: Vec<Arc<[u32]>>,
) -> PassageVectors {
    let set = snapshot.set;
    let mut live = BitSet::empty(set.rows);
    let mut addresses = vec![0; set.rows as usize];
    let mut missing = 0;
    let segments = searcher.segment_readers().iter().zip(&of_segment);
    for (number, (segment, rows)) in (0..).zip(segments) {
        for (doc, row) in (0..).zip(rows.iter()) {
            if !is_alive(segment, doc) {
                continue;
            }
            match addresses.get_mut(*row as usize) {
                Some(address) => {
                    *address = pack(DocAddress::new(number, doc));
                    live.insert(*row);
                }
                None => missing += 1,
            }
        }
    }
    PassageVectors {
        generation: snapshot.generation,
        joined: live.count(),
        set,
        live,
        missing,
        addresses,
        rows_by_segment: of_segment,
    }
}
