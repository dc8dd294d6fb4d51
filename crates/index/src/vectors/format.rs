//! The file format of vectors: a header, then append-only blocks.
//!
//! A block is a header, the keys of its rows, their scales, their signs and their values, each kind
//! together so that a scan reads only what it needs, padded to 64 bytes. Numbers are little-endian.

use super::quantization::{QuantizedVector, signs};
use crate::IndexError;

/// The length of both headers.
pub(crate) const HEADER: usize = 64;
const FILE_MAGIC: &[u8; 8] = b"DLBVECT1";
const BLOCK_MAGIC: &[u8; 8] = b"DLBROWS1";
/// The maximum of a vector; more is a mistake.
pub(crate) const MAX_DIMENSIONS: usize = 16_384;

/// Identifies the embedder of a file.
pub(crate) type EmbedderIdentity = [u8; 32];

pub(crate) fn file_header(identity: &EmbedderIdentity, dimensions: usize) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(FILE_MAGIC);
    header.extend_from_slice(&to_u32(dimensions).to_le_bytes());
    header.extend_from_slice(identity);
    with_checksum(header)
}

/// Reads the dimensions from a file header.
pub(crate) fn read_file_header(
    header: &[u8],
    identity: &EmbedderIdentity,
) -> Result<usize, IndexError> {
    let broken = || IndexError::corrupt("the header of the vectors is not one of this version");
    let body = verify_checksum(header).ok_or_else(broken)?;
    let dimensions = read_u32(body, 8).ok_or_else(broken)? as usize;
    let right = body.starts_with(FILE_MAGIC)
        && body.get(12..44) == Some(identity.as_slice())
        && (1..=MAX_DIMENSIONS).contains(&dimensions);
    if right { Ok(dimensions) } else { Err(broken()) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VectorBlockHeader {
    pub rows: u32,
    pub keys_sum: u32,
    pub rest_sum: u32,
}

/// Reads a block header; `None` where nothing was written (a torn write).
pub(crate) fn read_block_header(bytes: &[u8]) -> Result<Option<VectorBlockHeader>, IndexError> {
    let Some(header) = bytes.get(..HEADER) else {
        return Ok(None);
    };
    if header.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let broken = || IndexError::corrupt("a vector block has a broken header");
    let body = verify_checksum(header).ok_or_else(broken)?;
    match (read_u32(body, 8), read_u32(body, 12), read_u32(body, 16)) {
        (Some(rows), Some(keys_sum), Some(rest_sum)) if body.starts_with(BLOCK_MAGIC) => {
            Ok(Some(VectorBlockHeader {
                rows,
                keys_sum,
                rest_sum,
            }))
        }
        _ => Err(broken()),
    }
}

/// The offsets of the parts of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockLayout {
    pub scales: usize,
    pub signs: usize,
    pub values: usize,
    pub end: usize,
}

pub(crate) fn block_layout(rows: u32, dimensions: usize) -> BlockLayout {
    let rows = rows as usize;
    let scales = rows * 8;
    let signs = scales + rows * 4;
    let values = signs + rows * dimensions.div_ceil(64) * 8;
    BlockLayout {
        scales,
        signs,
        values,
        end: (values + rows * dimensions).next_multiple_of(HEADER),
    }
}

/// Rows that are collected for a block.
#[derive(Default)]
pub(crate) struct VectorBlock {
    keys: Vec<u8>,
    scales: Vec<u8>,
    signs: Vec<u8>,
    values: Vec<u8>,
    rows: u32,
}

impl VectorBlock {
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    pub(crate) fn push(&mut self, key: u64, vector: &QuantizedVector) {
        self.keys.extend_from_slice(&key.to_le_bytes());
        self.scales.extend_from_slice(&vector.scale.to_le_bytes());
        for word in signs(&vector.values) {
            self.signs.extend_from_slice(&word.to_le_bytes());
        }
        let values = vector.values.iter().map(|value| value.cast_unsigned());
        self.values.extend(values);
        self.rows += 1;
    }

    /// Serializes the block with its header.
    pub(crate) fn into_bytes(self, dimensions: usize) -> Vec<u8> {
        let parts = block_layout(self.rows, dimensions);
        let mut rest = self.scales;
        rest.extend_from_slice(&self.signs);
        rest.extend_from_slice(&self.values);
        rest.resize(parts.end - parts.scales, 0);
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(BLOCK_MAGIC);
        header.extend_from_slice(&self.rows.to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&self.keys).to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&rest).to_le_bytes());
        let mut bytes = with_checksum(header);
        bytes.reserve_exact(parts.end);
        bytes.extend_from_slice(&self.keys);
        bytes.extend_from_slice(&rest);
        bytes
    }
}

/// Pads a header and appends its checksum.
fn with_checksum(mut header: Vec<u8>) -> Vec<u8> {
    header.resize(HEADER - 4, 0);
    let sum = crc32fast::hash(&header);
    header.extend_from_slice(&sum.to_le_bytes());
    header
}

fn verify_checksum(header: &[u8]) -> Option<&[u8]> {
    let body = header.get(..HEADER - 4)?;
    (read_u32(header, HEADER - 4)? == crc32fast::hash(body)).then_some(body)
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
