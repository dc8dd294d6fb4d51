//! What one client may take: requests a minute, and requests at the same time.
//!
//! A client is a principal with a name, else an address; of IPv6 addresses the network counts,
//! because a household has more of them than we could remember.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    state::keyed::HashMapStateStore,
};

use super::guard::HttpRejection;

/// Clients whose rate is remembered. Beyond it, addresses that are not known by name share one
/// account.
const MAX_TRACKED_CLIENTS: usize = 16 * 1024;

/// How often quiet clients are forgotten at most.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// What one client may take.
#[derive(Debug, Clone, Copy)]
pub struct LimitOptions {
    /// Requests a minute on average; none is no limit.
    pub per_minute: Option<NonZeroU32>,
    /// Requests that may come at once before the average counts; none is a minute's worth.
    pub burst: Option<NonZeroU32>,
    /// Requests at the same time, open streams among them; none is no limit.
    pub max_concurrent: Option<usize>,
}

impl LimitOptions {
    /// For a server that only this machine reaches, whose programs all come from one address.
    pub const LOCAL: Self = Self {
        per_minute: None,
        burst: None,
        max_concurrent: Some(1024),
    };

    /// For a server that others reach.
    pub const REMOTE: Self = Self {
        per_minute: NonZeroU32::new(600),
        burst: NonZeroU32::new(120),
        max_concurrent: Some(64),
    };
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self::LOCAL
    }
}

/// Whose share a request counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RateLimitKey(RateLimitKeyKind);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RateLimitKeyKind {
    Name(Arc<str>),
    Address(Ipv4Addr),
    /// The first 64 bits of an address.
    Network(u64),
    /// Everyone there is no more room for.
    Shared,
}

impl RateLimitKey {
    /// Someone who was let in by name.
    pub fn for_name(name: Arc<str>) -> Self {
        Self(RateLimitKeyKind::Name(name))
    }

    /// Whoever is at that address.
    pub fn for_address(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => RateLimitKeyKind::Address(address),
            IpAddr::V6(address) => RateLimitKeyKind::Network((u128::from(address) >> 64) as u64),
        })
    }
}

type KeyedRateLimiter = RateLimiter<RateLimitKey, HashMapStateStore<RateLimitKey>, DefaultClock>;

/// Holds every client to its share.
#[derive(Debug)]
pub struct ClientLimiter {
    rate_limiter: Option<KeyedRateLimiter>,
    clock: DefaultClock,
    max_concurrent: Option<usize>,
    running: Arc<RunningRequestCounts>,
    rejected: AtomicU64,
    /// When clients that have been quiet were last forgotten.
    last_sweep: Mutex<Option<Instant>>,
}

/// How many requests of each client run.
type RunningRequestCounts = Mutex<HashMap<RateLimitKey, usize>>;

impl ClientLimiter {
    /// Limits that nobody has used yet.
    pub fn new(options: LimitOptions) -> Self {
        let quota = options.per_minute.map(|per_minute| {
            Quota::per_minute(per_minute).allow_burst(options.burst.unwrap_or(per_minute))
        });
        Self {
            rate_limiter: quota.map(RateLimiter::hashmap),
            clock: DefaultClock::default(),
            max_concurrent: options.max_concurrent,
            running: Arc::default(),
            rejected: AtomicU64::new(0),
            last_sweep: Mutex::default(),
        }
    }

    /// Clients that have a request running.
    pub fn active_clients(&self) -> usize {
        lock_counts(&self.running).len()
    }

    /// Requests that were refused because a client had used its share.
    pub fn rejected_count(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Counts a request against the client's rate.
    pub(super) fn check_rate(&self, client: &RateLimitKey) -> Result<(), HttpRejection> {
        let Some(rate) = &self.rate_limiter else {
            return Ok(());
        };
        let others = RateLimitKey(RateLimitKeyKind::Shared);
        let client = if self.has_room(rate) || matches!(client.0, RateLimitKeyKind::Name(_)) {
            client
        } else {
            &others
        };
        rate.check_key(client).map_err(|not_until| {
            self.rejected.fetch_add(1, Ordering::Relaxed);
            let wait = not_until.wait_time_from(self.clock.now());
            rate_limited().retry_after(ceil_seconds(wait))
        })
    }

    /// Whether one more client can be remembered. Once there are many, those that have been quiet
    /// are forgotten, though not at every request: that would make a flood dear.
    fn has_room(&self, rate: &KeyedRateLimiter) -> bool {
        if rate.len() < MAX_TRACKED_CLIENTS {
            return true;
        }
        let mut swept = self
            .last_sweep
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if swept.is_none_or(|swept| swept.elapsed() >= SWEEP_INTERVAL) {
            rate.retain_recent();
            rate.shrink_to_fit();
            *swept = Some(Instant::now());
        }
        rate.len() < MAX_TRACKED_CLIENTS
    }

    /// Takes a place among the client's running requests; it is free again when dropped.
    pub(super) fn acquire_permit(
        &self,
        client: RateLimitKey,
    ) -> Result<RequestPermit, HttpRejection> {
        let mut counts = lock_counts(&self.running);
        let count = counts.get(&client).copied().unwrap_or(0);
        if self.max_concurrent.is_some_and(|limit| count >= limit) {
            drop(counts);
            self.rejected.fetch_add(1, Ordering::Relaxed);
            return Err(concurrency_limited().retry_after(1));
        }
        counts.insert(client.clone(), count + 1);
        drop(counts);
        Ok(RequestPermit {
            client,
            running: self.running.clone(),
        })
    }
}

fn ceil_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

fn lock_counts(
    running: &RunningRequestCounts,
) -> std::sync::MutexGuard<'_, HashMap<RateLimitKey, usize>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place among the running requests of a client.
#[derive(Debug)]
pub(super) struct RequestPermit {
    client: RateLimitKey,
    running: Arc<RunningRequestCounts>,
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let mut counts = lock_counts(&self.running);
        if let Some(count) = counts.get_mut(&self.client) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

fn rate_limited() -> HttpRejection {
    HttpRejection::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limited",
        "Too many requests from this client; wait as long as Retry-After says.",
    )
}

fn concurrency_limited() -> HttpRejection {
    HttpRejection::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too_many_at_once",
        "Too many requests of this client at the same time; wait for some to end.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let at = |address: &str| RateLimitKey::for_address(address.parse().unwrap());
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }

    #[test]
    fn clients_beyond_number_share_one_account() {
        let limits = ClientLimiter::new(LimitOptions {
            per_minute: NonZeroU32::new(1),
            ..LimitOptions::REMOTE
        });
        let beyond = MAX_TRACKED_CLIENTS + 1000;
        let refused = (0..u32::try_from(beyond).unwrap())
            .filter(|number| {
                let client = RateLimitKey::for_address(Ipv4Addr::from(*number).into());
                limits.check_rate(&client).is_err()
            })
            .count();
        assert!(refused > 0, "the shared account has its limit too");
        assert!(limits.rate_limiter.as_ref().unwrap().len() <= MAX_TRACKED_CLIENTS + 1);
        let known = RateLimitKey::for_name("alice".into());
        assert!(limits.check_rate(&known).is_ok(), "names are not shared");
    }
}
