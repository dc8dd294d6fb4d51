//! Answers in memory, the oldest let go first.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use super::entry::Entry;

/// Memory is dearer than disk.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// What an answer costs beside its length.
const ENTRY_BYTES: u64 = 512;

pub(super) struct Memory {
    most_bytes: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    by_key: HashMap<String, Entry>,
    order: VecDeque<String>,
    bytes: u64,
}

impl Memory {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes: most_bytes.min(MOST_BYTES),
            held: Mutex::default(),
        }
    }

    pub(super) fn read(&self, key: &str) -> Option<Entry> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.by_key.get(key).cloned()
    }

    pub(super) fn write(&self, key: &str, entry: Entry) {
        let cost = cost_of(&entry);
        if cost > self.most_bytes {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(key);
        while held.bytes + cost > self.most_bytes {
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
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(key);
    }
}

impl Held {
    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.by_key.remove(key) {
            self.bytes = self.bytes.saturating_sub(cost_of(&entry));
            self.order.retain(|it| it != key);
        }
    }
}

fn cost_of(entry: &Entry) -> u64 {
    entry.reply.body.len() as u64 + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::web::Reply;

    #[test]
    fn the_oldest_goes_first_and_the_bound_holds() {
        let memory = Memory::new(4000);
        let entry = |length| Entry {
            stored: 0,
            reply: Reply {
                status: 200,
                content_type: String::new(),
                body: Bytes::from(vec![b'x'; length]),
                url: "https://example.org".parse().unwrap(),
                kept: true,
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
