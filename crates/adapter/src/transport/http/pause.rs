//! How long to wait before trying again: never less than the server asks for, and not all at the
//! same moment.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

/// What a server that does not say gets.
const USUAL: Duration = Duration::from_secs(1);

/// Even a server that wants us back at once gets this.
const LEAST: Duration = Duration::from_millis(50);

/// The wait after `failures` tries in a row that came to nothing: what the server asked for,
/// doubled each time up to `longest`, and up to a tenth more.
pub(crate) fn pause(asked: Option<Duration>, failures: u32, longest: Duration) -> Duration {
    let first = asked.unwrap_or(USUAL).max(LEAST);
    let doubled = first.saturating_mul(2_u32.saturating_pow(failures.min(16)));
    let wait = doubled.min(longest.max(first));
    let tenth = u64::try_from(wait.as_millis() / 10).unwrap_or(u64::MAX);
    wait.saturating_add(Duration::from_millis(some_number() % tenth.max(1)))
}

/// A number that nobody foresees; good enough to spread tries.
fn some_number() -> u64 {
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
            let wait = pause(Some(asked), failures, longest);
            assert!(wait >= asked && wait <= longest + longest / 10, "{wait:?}");
        }
        assert!(pause(Some(asked), 3, longest) >= asked * 8);
        assert!(pause(None, 0, longest) >= USUAL);
        assert!(pause(Some(Duration::ZERO), 0, longest) >= LEAST);
        let patient = Duration::from_mins(10);
        assert!(pause(Some(patient), 5, longest) >= patient);
    }
}
