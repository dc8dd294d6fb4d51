//! Whose turn is when: the arithmetic of one source's pace. Knows no clock and no file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::headers::MAX_WAIT;

/// The first cooldown when nobody says how long it should be; it doubles with each one after.
const FIRST_COOLDOWN: Duration = Duration::from_secs(30);
const MAX_COOLDOWN: Duration = Duration::from_mins(10);

/// The pace of one source, in microseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RateState {
    /// When the next request may begin.
    next: i64,
    /// Until when nothing is asked.
    cool_until: i64,
    /// How many cooldowns came one after another.
    in_a_row: u32,
    /// The distance between requests that the source itself asks for.
    pub(super) slower: u64,
}

/// A turn that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateSlot {
    pub(super) wait: Duration,
    /// Whether the source said "slower" last.
    pub(super) was_throttled: bool,
    pub(super) interval_micros: u64,
}

impl RateState {
    /// Takes the next turn, or says how long it would be to wait for it.
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

    /// How long nothing may be asked from now on; zero if something may.
    pub(super) fn cooldown(&mut self, now: i64) -> Duration {
        self.clamp_to_bounds(now);
        duration_between(now, self.cool_until)
    }

    /// The source said "slower". Gives the wait.
    pub(super) fn record_throttle(&mut self, now: i64, asked: Option<Duration>) -> Duration {
        self.clamp_to_bounds(now);
        // Several requests under way hear of one and the same throttling.
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

    /// A request went well.
    pub(super) fn record_success(&mut self, now: i64) {
        if self.cool_until <= now {
            self.in_a_row = 0;
        }
    }

    /// Whether it says nothing any more.
    pub(super) fn is_idle(&self, now: i64) -> bool {
        self.next <= now && self.cool_until <= now && self.in_a_row == 0
    }

    /// A clock that was set back, or a file that lies, must not stop a source for days.
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
