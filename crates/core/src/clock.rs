//! Where time and fresh ids come from. Tests put in fixed ones, so that a whole run repeats.

use std::time::SystemTime;

use uuid::Uuid;

use crate::Timestamp;

/// Tells the time of day.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// Makes ids that were never used before.
pub trait IdSource: Send + Sync {
    /// A new id.
    fn new_id(&self) -> Uuid;
}

/// The machine's clock.
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

/// Random ids that sort by the time they were made.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn new_id(&self) -> Uuid {
        Uuid::now_v7()
    }
}
