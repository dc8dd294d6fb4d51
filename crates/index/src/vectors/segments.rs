//! The vectors of a snapshot: rows in immutable segments.

use std::sync::Arc;

use super::{
    format::{BlockLayout, HEADER, VectorBlockHeader, block_layout, read_block_header},
    mmap::MappedBytes,
    quantization::QuantizedVector,
};
use crate::IndexError;

/// A complete block of a file or of memory.
#[derive(Clone)]
pub(crate) struct VectorSegment {
    bytes: Arc<MappedBytes>,
    /// The start of the body in the bytes.
    offset: usize,
    header: VectorBlockHeader,
    layout: BlockLayout,
    dimensions: usize,
    /// The number of its first row in the set.
    pub first: u32,
}

impl VectorSegment {
    pub(crate) fn rows(&self) -> u32 {
        self.header.rows
    }

    fn slice(&self, from: usize, to: usize) -> &[u8] {
        self.bytes
            .get(self.offset + from..self.offset + to)
            .unwrap_or_default()
    }

    /// The keys of the rows; `None` if their checksum is wrong.
    pub(crate) fn keys(&self) -> Option<impl Iterator<Item = u64> + '_> {
        let bytes = self.slice(0, self.layout.scales);
        if crc32fast::hash(bytes) != self.header.keys_sum {
            return None;
        }
        let (keys, _) = bytes.as_chunks::<8>();
        Some(keys.iter().map(|key| u64::from_le_bytes(*key)))
    }

    /// Whether scales, signs and values match their checksum.
    pub(crate) fn is_intact(&self) -> bool {
        let bytes = self.slice(self.layout.scales, self.layout.end);
        crc32fast::hash(bytes) == self.header.rest_sum
    }

    pub(crate) fn scales(&self) -> &[[u8; 4]] {
        let bytes = self.slice(self.layout.scales, self.layout.signs);
        bytes.as_chunks::<4>().0
    }

    /// The signs of all rows, concatenated.
    pub(crate) fn signs(&self) -> &[u8] {
        self.slice(self.layout.signs, self.layout.values)
    }

    /// The values of all rows, concatenated.
    pub(crate) fn values(&self) -> &[u8] {
        let end = self.layout.values + self.rows() as usize * self.dimensions;
        self.slice(self.layout.values, end)
    }
}

/// All rows of a snapshot.
#[derive(Clone, Default)]
pub(crate) struct VectorSet {
    pub dimensions: usize,
    pub segments: Vec<VectorSegment>,
    pub rows: u32,
}

impl VectorSet {
    pub(crate) fn empty(dimensions: usize) -> Self {
        Self {
            dimensions,
            ..Self::default()
        }
    }

    /// Adds the complete blocks at the start of these bytes and returns their length. The rest is a
    /// torn write.
    pub(crate) fn add(&mut self, blob: MappedBytes) -> Result<usize, IndexError> {
        let blob = Arc::new(blob);
        let mut at = 0;
        while let Some(header) = read_block_header(blob.get(at..).unwrap_or_default())? {
            let parts = block_layout(header.rows, self.dimensions);
            let end = at + HEADER + parts.end;
            if end > blob.len() {
                break;
            }
            self.segments.push(VectorSegment {
                bytes: Arc::clone(&blob),
                offset: at + HEADER,
                header,
                layout: parts,
                dimensions: self.dimensions,
                first: self.rows,
            });
            self.rows = self.rows.saturating_add(header.rows);
            at = end;
        }
        Ok(at)
    }

    /// The segment of a row, and its index there.
    pub(crate) fn find(&self, row: u32) -> Option<(&VectorSegment, usize)> {
        let after = self.segments.partition_point(|piece| piece.first <= row);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let place = row.checked_sub(segment.first)?;
        (place < segment.rows()).then_some((segment, place as usize))
    }

    pub(crate) fn row(&self, row: u32) -> Option<QuantizedVector> {
        let (segment, place) = self.find(row)?;
        let from = place * self.dimensions;
        let values = segment.values().get(from..from + self.dimensions)?;
        Some(QuantizedVector {
            scale: f32::from_le_bytes(*segment.scales().get(place)?),
            values: values.iter().map(|value| value.cast_signed()).collect(),
        })
    }
}
