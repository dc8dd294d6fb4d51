//! Sources of time and new ids. Tests use fixed ones, so that a run is reproducible.

use std::time::SystemTime;

use uuid::Uuid;

use crate::Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// A source of new unique ids.
pub trait IdSource: Send + Sync {
    /// Returns an id that was never used before.
    fn new_id(&self) -> Uuid;

    /// Returns a random number that nobody outside can know, for a [`crate::PromptFence`].
    fn nonce(&self) -> u32 {
        Uuid::new_v4().as_fields().0
    }
}

/// The system clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Random UUIDs that sort by creation time (version 7).
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }
}
