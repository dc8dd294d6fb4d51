//! A cache of responses, on disk or in memory, limited in size.

mod disk;
mod entry;
mod memory;

use std::{path::Path, sync::Arc, time::Duration};

use deliberate_core::Clock;

use self::{disk::DiskCache, entry::CacheEntry, memory::MemoryCache};
use super::FetchResponse;

/// The response cache.
pub(super) struct ResponseCache {
    clock: Arc<dyn Clock>,
    backend: CacheBackend,
}

enum CacheBackend {
    Disk(Arc<DiskCache>),
    Memory(MemoryCache),
}

impl ResponseCache {
    pub(super) fn new(folder: Option<&Path>, most_bytes: u64, clock: Arc<dyn Clock>) -> Self {
        let backend = match folder {
            Some(folder) => {
                CacheBackend::Disk(Arc::new(DiskCache::new(folder.join("answers"), most_bytes)))
            }
            None => CacheBackend::Memory(MemoryCache::new(most_bytes)),
        };
        Self { clock, backend }
    }

    /// Reads a response that is at most `keep` old.
    pub(super) async fn read(&self, key: &str, keep: Duration) -> Option<FetchResponse> {
        let entry = match &self.backend {
            CacheBackend::Disk(disk) => {
                let (disk, key) = (Arc::clone(disk), key.to_owned());
                let reading = tokio::task::spawn_blocking(move || disk.read(&key));
                reading.await.ok().flatten()
            }
            CacheBackend::Memory(memory) => memory.read(key),
        }?;
        let age = self.clock.now().as_micros().checked_sub(entry.stored_at)?;
        // A time in the future comes from a clock that was wrong.
        let age = Duration::from_micros(u64::try_from(age).ok()?);
        (age < keep).then_some(entry.response)
    }

    /// Stores a response. A failure is logged and otherwise ignored.
    pub(super) async fn write(&self, key: &str, reply: &FetchResponse) {
        let entry = CacheEntry {
            stored_at: self.clock.now().as_micros(),
            response: FetchResponse {
                from_cache: true,
                ..reply.clone()
            },
        };
        match &self.backend {
            CacheBackend::Disk(disk) => {
                let (disk, key) = (Arc::clone(disk), key.to_owned());
                let writing = tokio::task::spawn_blocking(move || disk.write(&key, &entry));
                if let Ok(Err(error)) = writing.await {
                    tracing::debug!(%error, "a response could not be cached");
                }
            }
            CacheBackend::Memory(memory) => memory.write(key, entry),
        }
    }

    /// Removes a response.
    pub(super) async fn remove(&self, key: &str) {
        match &self.backend {
            CacheBackend::Disk(disk) => {
                let (disk, key) = (Arc::clone(disk), key.to_owned());
                // A missing file is as good as a removed one.
                let _ = tokio::task::spawn_blocking(move || disk.remove(&key)).await;
            }
            CacheBackend::Memory(memory) => memory.remove(key),
        }
    }
}
