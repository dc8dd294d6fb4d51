//! Memory-mapped bytes of a file. The only module with `unsafe`.
#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe by nature; the contract is kept by the writer's lock"
)]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

/// Immutable bytes: a mapped part of a file, or memory.
pub(crate) enum MappedBytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl MappedBytes {
    /// Maps the bytes of a file from `start` to `end`, both within the file.
    pub(crate) fn map_file(file: &File, start: u64, end: u64) -> io::Result<Self> {
        let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(Self::Owned(Vec::new()));
        }
        // SAFETY: only complete blocks that were written before are mapped, files are append-only, and
        // the one process that holds the writer lock truncates only a torn end that no reader maps. A
        // folder that others tamper with is outside this contract.
        let map = unsafe { MmapOptions::new().offset(start).len(length).map(file)? };
        Ok(Self::Mapped(map))
    }
}

impl Deref for MappedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
