//! Whose turn is when: the arithmetic of one source's pace. Knows no clock and no file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::headers::LONGEST_WAIT;

/// The first cooldown when nobody says how long it should be; it doubles with each one after.
const FIRST_COOLDOWN: Duration = Duration::from_secs(30);
const LONGEST_COOLDOWN: Duration = Duration::from_mins(10);

/// The pace of one source, in microseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
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
pub(super) struct Slot {
    pub(super) wait: Duration,
    /// Whether the source said "slower" last.
    pub(super) in_trouble: bool,
    pub(super) slower: u64,
}

impl State {
    /// Takes the next turn, or says how long it would be to wait for it.
    pub(super) fn take(
        &mut self,
        now: i64,
        every: Duration,
        patience: Duration,
    ) -> Result<Slot, Duration> {
        self.mend(now);
        let at = now.max(self.next).max(self.cool_until);
        let wait = micros_between(now, at);
        if wait > patience {
            return Err(wait);
        }
        let every = every.max(Duration::from_micros(self.slower));
        self.next = later(at, every);
        Ok(Slot {
            wait,
            in_trouble: self.in_a_row > 0,
            slower: self.slower,
        })
    }

    /// How long nothing may be asked from now on; zero if something may.
    pub(super) fn cooling(&mut self, now: i64) -> Duration {
        self.mend(now);
        micros_between(now, self.cool_until)
    }

    /// The source said "slower". Gives the wait.
    pub(super) fn throttled(&mut self, now: i64, asked: Option<Duration>) -> Duration {
        self.mend(now);
        // Several requests under way hear of one and the same throttling.
        if self.cool_until <= now {
            self.in_a_row = self.in_a_row.saturating_add(1);
        }
        let ours = || {
            let doubled = 1_u32 << self.in_a_row.saturating_sub(1).min(16);
            FIRST_COOLDOWN.saturating_mul(doubled).min(LONGEST_COOLDOWN)
        };
        let wait = asked.unwrap_or_else(ours).min(LONGEST_WAIT);
        self.cool_until = self.cool_until.max(later(now, wait));
        micros_between(now, self.cool_until)
    }

    /// A request went well.
    pub(super) fn went_well(&mut self, now: i64) {
        if self.cool_until <= now {
            self.in_a_row = 0;
        }
    }

    /// Whether it says nothing any more.
    pub(super) fn is_over(&self, now: i64) -> bool {
        self.next <= now && self.cool_until <= now && self.in_a_row == 0
    }

    /// A clock that was set back, or a file that lies, must not stop a source for days.
    fn mend(&mut self, now: i64) {
        let latest = later(now, LONGEST_WAIT);
        for moment in [&mut self.next, &mut self.cool_until] {
            if *moment > latest {
                *moment = now;
            }
        }
        self.slower = self.slower.min(60_000_000);
    }
}

fn later(moment: i64, by: Duration) -> i64 {
    moment.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX))
}

fn micros_between(from: i64, to: i64) -> Duration {
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
        let mut state = State::default();
        let mut wait = || state.take(NOW, 3 * SECOND, 7 * SECOND).map(|it| it.wait);
        assert_eq!(wait(), Ok(Duration::ZERO));
        assert_eq!(wait(), Ok(3 * SECOND));
        assert_eq!(wait(), Ok(6 * SECOND));
        assert_eq!(wait(), Err(9 * SECOND));
        assert_eq!(wait(), Err(9 * SECOND), "a refusal takes no turn");
    }

    #[test]
    fn cooldowns_grow_and_end() {
        let mut state = State::default();
        assert_eq!(state.throttled(NOW, None), 30 * SECOND);
        assert_eq!(state.throttled(NOW, None), 30 * SECOND, "the same one");
        assert_eq!(state.take(NOW, SECOND, 5 * SECOND), Err(30 * SECOND));
        let patient = state.take(NOW, SECOND, 40 * SECOND).unwrap();
        assert_eq!(patient.wait, 30 * SECOND);
        assert!(patient.in_trouble);
        assert_eq!(state.throttled(after(31), None), 60 * SECOND);
        assert_eq!(state.throttled(after(100), None), 120 * SECOND);
        for round in 1..10 {
            assert!(state.throttled(after(1000 * round), None) <= LONGEST_COOLDOWN);
        }
        state.went_well(after(20_000));
        assert_eq!(state.throttled(after(20_000), None), 30 * SECOND);
    }

    #[test]
    fn the_sources_word_counts() {
        let mut state = State::default();
        assert_eq!(state.throttled(NOW, Some(5 * SECOND)), 5 * SECOND);
        assert_eq!(state.throttled(NOW, Some(2 * SECOND)), 5 * SECOND);
        assert_eq!(state.throttled(NOW, Some(SECOND * 90_000)), LONGEST_WAIT);
        let mut state = State {
            slower: 4_000_000,
            ..State::default()
        };
        let _ = state.take(NOW, SECOND, SECOND);
        assert_eq!(state.take(NOW, SECOND, SECOND), Err(4 * SECOND));
    }

    #[test]
    fn a_moment_out_of_reach_is_no_moment() {
        let mut state = State {
            next: i64::MAX,
            cool_until: after(100_000),
            ..State::default()
        };
        assert_eq!(
            state.take(NOW, SECOND, SECOND).unwrap().wait,
            Duration::ZERO
        );
    }

    proptest! {
        #[test]
        fn no_two_turns_are_closer_than_the_pace(
            steps in proptest::collection::vec((0_u64..5_000_000, 0_u64..20_000_000), 1..60),
            every in 0_u64..4_000_000,
        ) {
            let mut state = State::default();
            let (mut now, mut last) = (NOW, i64::MIN);
            for (passes, patience) in steps {
                now = later(now, Duration::from_micros(passes));
                let every = Duration::from_micros(every);
                if let Ok(slot) = state.take(now, every, Duration::from_micros(patience)) {
                    prop_assert!(slot.wait <= Duration::from_micros(patience));
                    let at = later(now, slot.wait);
                    prop_assert!(last == i64::MIN || at >= later(last, every));
                    last = at;
                }
            }
        }
    }
}
