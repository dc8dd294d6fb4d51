//! How long to wait before trying again: never less than the server asks for, and not all at the
//! same moment.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

/// What a server that does not say gets.
const DEFAULT_DELAY: Duration = Duration::from_secs(1);

/// Even a server that wants us back at once gets this.
const MIN_DELAY: Duration = Duration::from_millis(50);

/// The wait after `failures` tries in a row that came to nothing: what the server asked for,
/// doubled each time up to `longest`, and up to a tenth more.
pub(crate) fn backoff_delay(asked: Option<Duration>, failures: u32, longest: Duration) -> Duration {
    let first = asked.unwrap_or(DEFAULT_DELAY).max(MIN_DELAY);
    let doubled = first.saturating_mul(2_u32.saturating_pow(failures.min(16)));
    let wait = doubled.min(longest.max(first));
    let tenth = u64::try_from(wait.as_millis() / 10).unwrap_or(u64::MAX);
    wait.saturating_add(Duration::from_millis(random_number() % tenth.max(1)))
}

/// A number that nobody foresees; good enough to spread tries.
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
            let wait = backoff_delay(Some(asked), failures, longest);
            assert!(wait >= asked && wait <= longest + longest / 10, "{wait:?}");
        }
        assert!(backoff_delay(Some(asked), 3, longest) >= asked * 8);
        assert!(backoff_delay(None, 0, longest) >= DEFAULT_DELAY);
        assert!(backoff_delay(Some(Duration::ZERO), 0, longest) >= MIN_DELAY);
        let patient = Duration::from_mins(10);
        assert!(backoff_delay(Some(patient), 5, longest) >= patient);
    }
}
