//! The delay before a stream is opened again: never less than the server asks for, with jitter.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

/// The delay if the server does not ask for one.
const DEFAULT_DELAY: Duration = Duration::from_secs(1);

/// The delay even if the server asks for none.
const MIN_DELAY: Duration = Duration::from_millis(50);

/// Returns the delay after `failures` consecutive failures: what the server asked for, doubled each
/// time up to `longest`, plus up to a tenth of it.
pub fn reconnect_delay(asked: Option<Duration>, failures: u32, longest: Duration) -> Duration {
    let first = asked.unwrap_or(DEFAULT_DELAY).max(MIN_DELAY);
    let doubled = first.saturating_mul(2_u32.saturating_pow(failures.min(16)));
    let wait = doubled.min(longest.max(first));
    let tenth = u64::try_from(wait.as_millis() / 10).unwrap_or(u64::MAX);
    wait.saturating_add(Duration::from_millis(random_number() % tenth.max(1)))
}

/// Returns an unpredictable number, good enough to spread retries.
fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_shorter_than_asked_and_grows_to_its_limit() {
        let longest = Duration::from_secs(30);
        let asked = Duration::from_millis(500);
        for failures in 0..40 {
            let wait = reconnect_delay(Some(asked), failures, longest);
            assert!(wait >= asked && wait <= longest + longest / 10, "{wait:?}");
        }
        assert!(reconnect_delay(Some(asked), 3, longest) >= asked * 8);
        assert!(reconnect_delay(None, 0, longest) >= DEFAULT_DELAY);
        assert!(reconnect_delay(Some(Duration::ZERO), 0, longest) >= MIN_DELAY);
        let patient = Duration::from_mins(10);
        assert!(reconnect_delay(Some(patient), 5, longest) >= patient);
    }
}
