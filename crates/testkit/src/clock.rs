//! A clock and an id source that are reproducible: the same calls give the same times and ids.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use deliberate_core::{Clock, IdSource, Timestamp};
use uuid::Uuid;

/// 2026-01-01T00:00:00Z in microseconds.
const START_MICROS: i64 = 1_767_225_600_000_000;
const MILLISECOND: i64 = 1_000;

/// A clock that starts at 2026-01-01T00:00:00Z and moves 1 ms each time it is read.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// Creates a clock at its start time.
    pub const fn new() -> Self {
        Self(AtomicI64::new(START_MICROS))
    }

    /// Moves the clock, backwards if `micros` is negative.
    pub fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Default for FixedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(MILLISECOND, Ordering::Relaxed))
    }
}

/// The nonce of [`CountingIds`]: the tags of prompts end in `-7e57ed`.
const TEST_NONCE: u32 = 0x007e_57ed;

/// Ids that count from 1: `00000000-0000-7000-8000-000000000001` and so on.
#[derive(Debug)]
pub struct CountingIds(AtomicU64);

impl CountingIds {
    /// Creates a source that begins with 1.
    pub const fn new() -> Self {
        Self(AtomicU64::new(1))
    }

    /// Returns the `number`th id of a fresh source.
    pub const fn nth(number: u64) -> Uuid {
        // Version 7 and the RFC variant, so that a strict parser accepts it.
        Uuid::from_u128((0x7000_u128 << 64) | (0x8000_u128 << 48) | number as u128)
    }
}

impl Default for CountingIds {
    fn default() -> Self {
        Self::new()
    }
}

impl IdSource for CountingIds {
    fn new_id(&self) -> Uuid {
        Self::nth(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn nonce(&self) -> u32 {
        TEST_NONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_a_millisecond_a_reading_and_as_told() {
        let clock = FixedClock::new();
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00.001Z");
        clock.advance(60_000_000);
        assert_eq!(clock.now().to_string(), "2026-01-01T00:01:00.002Z");
    }

    #[test]
    fn ids_count_and_are_version_seven() {
        let ids = CountingIds::new();
        let first = ids.new_id();
        assert_eq!(first.to_string(), "00000000-0000-7000-8000-000000000001");
        assert_eq!(first.get_version_num(), 7);
        assert_eq!(ids.new_id(), CountingIds::nth(2));
    }
}
