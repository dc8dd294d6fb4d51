//! The rate limit state of one source and its arithmetic. It must not know clocks or files.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::headers::MAX_WAIT;

/// The first cooldown if the source names none. It doubles with each consecutive one.
const FIRST_COOLDOWN: Duration = Duration::from_secs(30);
const MAX_COOLDOWN: Duration = Duration::from_mins(10);

/// The rate limit state of one source; times are in microseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RateState {
    /// The earliest start of the next request.
    next: i64,
    /// The end of the cooldown.
    cool_until: i64,
    /// The number of consecutive cooldowns.
    in_a_row: u32,
    /// The interval between requests that the source itself requests.
    pub(super) slower: u64,
}

/// A reserved start time for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateSlot {
    pub(super) wait: Duration,
    /// Whether the source throttled the last request.
    pub(super) was_throttled: bool,
    pub(super) interval_micros: u64,
}

impl RateState {
    /// Reserves the next start time; an error with the wait if it is too long.
    pub(super) fn reserve(
        &mut self,
        now: i64,
        every: Duration,
        patience: Duration,
    ) -> Result<RateSlot, Duration> {
        self.clamp_to_bounds(now);
        let at = now.max(self.next).max(self.cool_until);
        let wait = duration_between(now, at);
        if wait > patience {
            return Err(wait);
        }
        let every = every.max(Duration::from_micros(self.slower));
        self.next = add_duration(at, every);
        Ok(RateSlot {
            wait,
            was_throttled: self.in_a_row > 0,
            interval_micros: self.slower,
        })
    }

    /// The rest of the cooldown; zero if there is none.
    pub(super) fn cooldown(&mut self, now: i64) -> Duration {
        self.clamp_to_bounds(now);
        duration_between(now, self.cool_until)
    }

    /// Records that the source throttled a request; returns the wait.
    pub(super) fn record_throttle(&mut self, now: i64, asked: Option<Duration>) -> Duration {
        self.clamp_to_bounds(now);
        // Several concurrent requests may report the same throttling.
        if self.cool_until <= now {
            self.in_a_row = self.in_a_row.saturating_add(1);
        }
        let ours = || {
            let doubled = 1_u32 << self.in_a_row.saturating_sub(1).min(16);
            FIRST_COOLDOWN.saturating_mul(doubled).min(MAX_COOLDOWN)
        };
        let wait = asked.unwrap_or_else(ours).min(MAX_WAIT);
        self.cool_until = self.cool_until.max(add_duration(now, wait));
        duration_between(now, self.cool_until)
    }

    /// Records a successful request.
    pub(super) fn record_success(&mut self, now: i64) {
        if self.cool_until <= now {
            self.in_a_row = 0;
        }
    }

    /// Whether the state no longer restricts anything.
    pub(super) fn is_idle(&self, now: i64) -> bool {
        self.next <= now && self.cool_until <= now && self.in_a_row == 0
    }

    /// Limits the times, so that a clock set back or a damaged file can't block a source for days.
    fn clamp_to_bounds(&mut self, now: i64) {
        let latest = add_duration(now, MAX_WAIT);
        for moment in [&mut self.next, &mut self.cool_until] {
            if *moment > latest {
                *moment = now;
            }
        }
        self.slower = self.slower.min(60_000_000);
    }
}

fn add_duration(moment: i64, by: Duration) -> i64 {
    moment.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX))
}

fn duration_between(from: i64, to: i64) -> Duration {
    Duration::from_micros(u64::try_from(to.saturating_sub(from)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const NOW: i64 = 1_767_225_600_000_000;

    fn after(seconds: i64) -> i64 {
        NOW + seconds * 1_000_000
    }

    #[test]
    fn turns_queue_up_until_patience_ends() {
        let mut state = RateState::default();
        let mut wait = || state.reserve(NOW, 3 * SECOND, 7 * SECOND).map(|it| it.wait);
        assert_eq!(wait(), Ok(Duration::ZERO));
        assert_eq!(wait(), Ok(3 * SECOND));
        assert_eq!(wait(), Ok(6 * SECOND));
        assert_eq!(wait(), Err(9 * SECOND));
        assert_eq!(wait(), Err(9 * SECOND), "a refusal takes no turn");
    }

    #[test]
    fn cooldowns_grow_and_end() {
        let mut state = RateState::default();
        assert_eq!(state.record_throttle(NOW, None), 30 * SECOND);
        assert_eq!(
            state.record_throttle(NOW, None),
            30 * SECOND,
            "the same one"
        );
        assert_eq!(state.reserve(NOW, SECOND, 5 * SECOND), Err(30 * SECOND));
        let patient = state.reserve(NOW, SECOND, 40 * SECOND).unwrap();
        assert_eq!(patient.wait, 30 * SECOND);
        assert!(patient.was_throttled);
        assert_eq!(state.record_throttle(after(31), None), 60 * SECOND);
        assert_eq!(state.record_throttle(after(100), None), 120 * SECOND);
        for round in 1..10 {
            assert!(state.record_throttle(after(1000 * round), None) <= MAX_COOLDOWN);
        }
        state.record_success(after(20_000));
        assert_eq!(state.record_throttle(after(20_000), None), 30 * SECOND);
    }

    #[test]
    fn the_sources_word_counts() {
        let mut state = RateState::default();
        assert_eq!(state.record_throttle(NOW, Some(5 * SECOND)), 5 * SECOND);
        assert_eq!(state.record_throttle(NOW, Some(2 * SECOND)), 5 * SECOND);
        assert_eq!(state.record_throttle(NOW, Some(SECOND * 90_000)), MAX_WAIT);
        let mut state = RateState {
            slower: 4_000_000,
            ..RateState::default()
        };
        let _ = state.reserve(NOW, SECOND, SECOND);
        assert_eq!(state.reserve(NOW, SECOND, SECOND), Err(4 * SECOND));
    }

    #[test]
    fn a_moment_out_of_reach_is_no_moment() {
        let mut state = RateState {
            next: i64::MAX,
            cool_until: after(100_000),
            ..RateState::default()
        };
        assert_eq!(
            state.reserve(NOW, SECOND, SECOND).unwrap().wait,
            Duration::ZERO
        );
    }

    proptest! {
        #[test]
        fn no_two_turns_are_closer_than_the_pace(
            steps in proptest::collection::vec((0_u64..5_000_000, 0_u64..20_000_000), 1..60),
            every in 0_u64..4_000_000,
        ) {
            let mut state = RateState::default();
            let (mut now, mut last) = (NOW, i64::MIN);
            for (passes, patience) in steps {
                now = add_duration(now, Duration::from_micros(passes));
                let every = Duration::from_micros(every);
                if let Ok(slot) = state.reserve(now, every, Duration::from_micros(patience)) {
                    prop_assert!(slot.wait <= Duration::from_micros(patience));
                    let at = add_duration(now, slot.wait);
                    prop_assert!(last == i64::MIN || at >= add_duration(last, every));
                    last = at;
                }
            }
        }
    }
}
