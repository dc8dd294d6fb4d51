//! Answers that are kept for a while, on the disk or in memory, never more than was allowed.

mod disk;
mod entry;
mod memory;

use std::{path::Path, sync::Arc, time::Duration};

use deliberate_core::Clock;

use self::{disk::Disk, entry::Entry, memory::Memory};
use super::Reply;

/// The answers.
pub(super) struct Cache {
    clock: Arc<dyn Clock>,
    kind: Kind,
}

enum Kind {
    Disk(Arc<Disk>),
    Memory(Memory),
}

impl Cache {
    pub(super) fn new(folder: Option<&Path>, most_bytes: u64, clock: Arc<dyn Clock>) -> Self {
        let kind = match folder {
            Some(folder) => Kind::Disk(Arc::new(Disk::new(folder.join("answers"), most_bytes))),
            None => Kind::Memory(Memory::new(most_bytes)),
        };
        Self { clock, kind }
    }

    /// The answer, if there is one that is not older than that.
    pub(super) async fn read(&self, key: &str, keep: Duration) -> Option<Reply> {
        let entry = match &self.kind {
            Kind::Disk(disk) => {
                let (disk, key) = (Arc::clone(disk), key.to_owned());
                let reading = tokio::task::spawn_blocking(move || disk.read(&key));
                reading.await.ok().flatten()
            }
            Kind::Memory(memory) => memory.read(key),
        }?;
        let age = self.clock.now().as_micros().checked_sub(entry.stored)?;
        // One from the future is from a clock that was wrong.
        let age = Duration::from_micros(u64::try_from(age).ok()?);
        (age < keep).then_some(entry.reply)
    }

    /// Keeps an answer. That it can't be kept harms nobody.
    pub(super) async fn write(&self, key: &str, reply: &Reply) {
        let entry = Entry {
            stored: self.clock.now().as_micros(),
            reply: Reply {
                kept: true,
                ..reply.clone()
            },
        };
        match &self.kind {
            Kind::Disk(disk) => {
                let (disk, key) = (Arc::clone(disk), key.to_owned());
                let writing = tokio::task::spawn_blocking(move || disk.write(&key, &entry));
                if let Ok(Err(error)) = writing.await {
                    tracing::debug!(%error, "an answer could not be kept");
                }
            }
            Kind::Memory(memory) => memory.write(key, entry),
        }
    }

    /// Forgets an answer.
    pub(super) async fn remove(&self, key: &str) {
        match &self.kind {
            Kind::Disk(disk) => {
                let (disk, key) = (Arc::clone(disk), key.to_owned());
                // That there was none is as good.
                let _ = tokio::task::spawn_blocking(move || disk.remove(&key)).await;
            }
            Kind::Memory(memory) => memory.remove(key),
        }
    }
}
