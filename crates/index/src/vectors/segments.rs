//! The vectors of one moment: rows in pieces, none of which changes any more.

use std::sync::Arc;

use super::{
    format::{BlockLayout, HEADER, VectorBlockHeader, block_layout, read_block_header},
    mmap::MappedBytes,
    quantization::QuantizedVector,
};
use crate::IndexError;

/// A piece of a file (or of memory) that is whole.
#[derive(Clone)]
pub(crate) struct VectorSegment {
    bytes: Arc<MappedBytes>,
    /// Where the body starts in the blob.
    offset: usize,
    header: VectorBlockHeader,
    layout: BlockLayout,
    dimensions: usize,
    /// The number of its first row among all.
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

    /// The rows' keys, or `None` if they are not what was written.
    pub(crate) fn keys(&self) -> Option<impl Iterator<Item = u64> + '_> {
        let bytes = self.slice(0, self.layout.scales);
        if crc32fast::hash(bytes) != self.header.keys_sum {
            return None;
        }
        let (keys, _) = bytes.as_chunks::<8>();
        Some(keys.iter().map(|key| u64::from_le_bytes(*key)))
    }

    /// Whether scales, signs and values are what was written.
    pub(crate) fn is_intact(&self) -> bool {
        let bytes = self.slice(self.layout.scales, self.layout.end);
        crc32fast::hash(bytes) == self.header.rest_sum
    }

    /// The scales of all rows.
    pub(crate) fn scales(&self) -> &[[u8; 4]] {
        let bytes = self.slice(self.layout.scales, self.layout.signs);
        bytes.as_chunks::<4>().0
    }

    /// The signs of all rows, one after the other.
    pub(crate) fn signs(&self) -> &[u8] {
        self.slice(self.layout.signs, self.layout.values)
    }

    /// The values of all rows, one after the other.
    pub(crate) fn values(&self) -> &[u8] {
        let end = self.layout.values + self.rows() as usize * self.dimensions;
        self.slice(self.layout.values, end)
    }
}

/// All rows of one moment.
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

    /// Adds the whole pieces at the start of these bytes; says how many bytes they are. What
    /// follows is an end that was torn while it was written.
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

    /// The piece a row is in, and its place there.
    pub(crate) fn find(&self, row: u32) -> Option<(&VectorSegment, usize)> {
        let after = self.segments.partition_point(|piece| piece.first <= row);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let place = row.checked_sub(segment.first)?;
        (place < segment.rows()).then_some((segment, place as usize))
    }

    /// The vector of a row as it is kept.
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
