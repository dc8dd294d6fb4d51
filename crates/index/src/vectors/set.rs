//! The vectors of one moment: rows in pieces, none of which changes any more.

use std::sync::Arc;

use super::format::{HEADER, Parts, PieceHeader, parts, read_piece_header};
use super::map::Blob;
use super::quantise::Quantised;
use crate::IndexError;

/// A piece of a file (or of memory) that is whole.
#[derive(Clone)]
pub(crate) struct Segment {
    blob: Arc<Blob>,
    /// Where the body starts in the blob.
    at: usize,
    header: PieceHeader,
    parts: Parts,
    dimensions: usize,
    /// The number of its first row among all.
    pub first: u32,
}

impl Segment {
    pub(crate) fn rows(&self) -> u32 {
        self.header.rows
    }

    fn part(&self, from: usize, to: usize) -> &[u8] {
        self.blob
            .get(self.at + from..self.at + to)
            .unwrap_or_default()
    }

    /// The rows' keys, or `None` if they are not what was written.
    pub(crate) fn keys(&self) -> Option<impl Iterator<Item = u64> + '_> {
        let bytes = self.part(0, self.parts.scales);
        if crc32fast::hash(bytes) != self.header.keys_sum {
            return None;
        }
        let (keys, _) = bytes.as_chunks::<8>();
        Some(keys.iter().map(|key| u64::from_le_bytes(*key)))
    }

    /// Whether scales, signs and values are what was written.
    pub(crate) fn sound(&self) -> bool {
        let bytes = self.part(self.parts.scales, self.parts.end);
        crc32fast::hash(bytes) == self.header.rest_sum
    }

    /// The scales of all rows.
    pub(crate) fn scales(&self) -> &[[u8; 4]] {
        let bytes = self.part(self.parts.scales, self.parts.signs);
        bytes.as_chunks::<4>().0
    }

    /// The signs of all rows, one after the other.
    pub(crate) fn signs(&self) -> &[u8] {
        self.part(self.parts.signs, self.parts.values)
    }

    /// The values of all rows, one after the other.
    pub(crate) fn values(&self) -> &[u8] {
        let end = self.parts.values + self.rows() as usize * self.dimensions;
        self.part(self.parts.values, end)
    }
}

/// All rows of one moment.
#[derive(Clone, Default)]
pub(crate) struct VectorSet {
    pub dimensions: usize,
    pub segments: Vec<Segment>,
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
    pub(crate) fn add(&mut self, blob: Blob) -> Result<usize, IndexError> {
        let blob = Arc::new(blob);
        let mut at = 0;
        while let Some(header) = read_piece_header(blob.get(at..).unwrap_or_default())? {
            let parts = parts(header.rows, self.dimensions);
            let end = at + HEADER + parts.end;
            if end > blob.len() {
                break;
            }
            self.segments.push(Segment {
                blob: Arc::clone(&blob),
                at: at + HEADER,
                header,
                parts,
                dimensions: self.dimensions,
                first: self.rows,
            });
            self.rows = self.rows.saturating_add(header.rows);
            at = end;
        }
        Ok(at)
    }

    /// The piece a row is in, and its place there.
    pub(crate) fn find(&self, row: u32) -> Option<(&Segment, usize)> {
        let after = self.segments.partition_point(|piece| piece.first <= row);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let place = row.checked_sub(segment.first)?;
        (place < segment.rows()).then_some((segment, place as usize))
    }

    /// The vector of a row as it is kept.
    pub(crate) fn row(&self, row: u32) -> Option<Quantised> {
        let (segment, place) = self.find(row)?;
        let from = place * self.dimensions;
        let values = segment.values().get(from..from + self.dimensions)?;
        Some(Quantised {
            scale: f32::from_le_bytes(*segment.scales().get(place)?),
            values: values.iter().map(|value| value.cast_signed()).collect(),
        })
    }
}
