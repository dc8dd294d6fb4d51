//! The response cache in memory; the oldest entries are evicted first.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use super::entry::CacheEntry;

/// The size limit, lower than on disk because memory is scarcer.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The memory an entry takes in addition to its body.
const ENTRY_OVERHEAD_BYTES: u64 = 512;

pub(super) struct MemoryCache {
    max_bytes: u64,
    entries: Mutex<MemoryCacheEntries>,
}

#[derive(Default)]
struct MemoryCacheEntries {
    by_key: HashMap<String, CacheEntry>,
    order: VecDeque<String>,
    bytes: u64,
}

impl MemoryCache {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            max_bytes: most_bytes.min(MAX_BYTES),
            entries: Mutex::default(),
        }
    }

    pub(super) fn read(&self, key: &str) -> Option<CacheEntry> {
        let held = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        held.by_key.get(key).cloned()
    }

    pub(super) fn write(&self, key: &str, entry: CacheEntry) {
        let cost = entry_cost(&entry);
        if cost > self.max_bytes {
            return;
        }
        let mut held = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(key);
        while held.bytes + cost > self.max_bytes {
            let Some(oldest) = held.order.front().cloned() else {
                break;
            };
            held.remove(&oldest);
        }
        held.bytes += cost;
        held.order.push_back(key.to_owned());
        held.by_key.insert(key.to_owned(), entry);
    }

    pub(super) fn remove(&self, key: &str) {
        let mut held = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(key);
    }
}

impl MemoryCacheEntries {
    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.by_key.remove(key) {
            self.bytes = self.bytes.saturating_sub(entry_cost(&entry));
            self.order.retain(|it| it != key);
        }
    }
}

fn entry_cost(entry: &CacheEntry) -> u64 {
    entry.response.body.len() as u64 + ENTRY_OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::fetch::FetchResponse;

    #[test]
    fn the_oldest_goes_first_and_the_bound_holds() {
        let memory = MemoryCache::new(4000);
        let entry = |length| CacheEntry {
            stored_at: 0,
            response: FetchResponse {
                status: 200,
                content_type: String::new(),
                body: Bytes::from(vec![b'x'; length]),
                url: "https://example.org".parse().unwrap(),
                from_cache: true,
            },
        };
        for key in ["a", "b", "a", "c"] {
            memory.write(key, entry(1000));
        }
        assert!(memory.read("a").is_some());
        assert!(memory.read("c").is_some());
        assert!(memory.read("b").is_none());
        memory.write("large", entry(9000));
        assert!(memory.read("large").is_none());
        assert!(memory.read("a").is_some());
    }
}
