//! Limits per client: requests per minute and concurrent requests.
//!
//! A client is a named principal, else an address. IPv6 clients are counted by network, because one
//! household has more addresses than could be tracked.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
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

/// The largest number of clients whose rate is tracked. Further addresses without a name share one
/// limit.
const MAX_TRACKED_CLIENTS: usize = 16 * 1024;

/// The shortest interval between removals of idle clients.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The limits of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitOptions {
    /// Requests per minute on average; `None` means no limit.
    pub per_minute: Option<NonZeroU32>,
    /// The size of a burst; `None` means the requests of one minute.
    pub burst: Option<NonZeroU32>,
    /// Concurrent requests, including open streams; `None` means no limit.
    pub max_concurrent: Option<usize>,
}

impl LimitOptions {
    /// For a server on this machine, whose clients all have one address.
    pub const LOCAL: Self = Self {
        per_minute: None,
        burst: None,
        max_concurrent: Some(1024),
    };

    /// For a server that other machines reach.
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

/// The client that a request counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RateLimitKey(RateLimitKeyKind);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RateLimitKeyKind {
    Name(Arc<str>),
    Address(Ipv4Addr),
    /// The first 64 bits of an IPv6 address.
    Network(u64),
    /// All clients beyond the tracked number.
    Shared,
}

impl RateLimitKey {
    /// A named principal.
    pub fn for_name(name: Arc<str>) -> Self {
        Self(RateLimitKeyKind::Name(name))
    }

    /// The client at an address.
    pub fn for_address(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => RateLimitKeyKind::Address(address),
            IpAddr::V6(address) => RateLimitKeyKind::Network((u128::from(address) >> 64) as u64),
        })
    }
}

type KeyedRateLimiter = RateLimiter<RateLimitKey, HashMapStateStore<RateLimitKey>, DefaultClock>;

/// Applies the limits of every client.
#[derive(Debug)]
pub struct ClientLimiter {
    quotas: RwLock<Arc<ClientQuotas>>,
    clock: DefaultClock,
    running: Arc<RunningRequestCounts>,
    rejected: AtomicU64,
    /// The time of the last removal of idle clients.
    last_sweep: Mutex<Option<Instant>>,
}

/// The limits, and the requests of each client that count towards its rate.
#[derive(Debug)]
struct ClientQuotas {
    options: LimitOptions,
    rate_limiter: Option<KeyedRateLimiter>,
}

impl ClientQuotas {
    fn new(options: LimitOptions) -> Self {
        let quota = options.per_minute.map(|per_minute| {
            Quota::per_minute(per_minute).allow_burst(options.burst.unwrap_or(per_minute))
        });
        Self {
            options,
            rate_limiter: quota.map(RateLimiter::hashmap),
        }
    }
}

/// The number of running requests per client.
type RunningRequestCounts = Mutex<HashMap<RateLimitKey, usize>>;

impl ClientLimiter {
    pub fn new(options: LimitOptions) -> Self {
        Self {
            quotas: RwLock::new(Arc::new(ClientQuotas::new(options))),
            clock: DefaultClock::default(),
            running: Arc::default(),
            rejected: AtomicU64::new(0),
            last_sweep: Mutex::default(),
        }
    }

    /// Applies other limits from now on. Running requests go on.
    pub fn set_limits(&self, options: LimitOptions) {
        if self.quotas().options != options {
            let quotas = Arc::new(ClientQuotas::new(options));
            *self.quotas.write().unwrap_or_else(PoisonError::into_inner) = quotas;
        }
    }

    fn quotas(&self) -> Arc<ClientQuotas> {
        let quotas = self.quotas.read().unwrap_or_else(PoisonError::into_inner);
        quotas.clone()
    }

    /// The number of clients with a running request.
    pub fn active_clients(&self) -> usize {
        lock_counts(&self.running).len()
    }

    /// The number of requests that were rejected because of these limits.
    pub fn rejected_count(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) fn check_rate(&self, client: &RateLimitKey) -> Result<(), HttpRejection> {
        let quotas = self.quotas();
        let Some(rate) = &quotas.rate_limiter else {
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

    /// Tells whether one more client can be tracked. When there are many, idle ones are removed,
    /// but not at every request, which would make a flood expensive.
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

    /// Takes a permit of the client's concurrent requests; dropping it returns it.
    pub(super) fn acquire_permit(
        &self,
        client: RateLimitKey,
    ) -> Result<RequestPermit, HttpRejection> {
        let limit = self.quotas().options.max_concurrent;
        let mut counts = lock_counts(&self.running);
        let count = counts.get(&client).copied().unwrap_or(0);
        if limit.is_some_and(|limit| count >= limit) {
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

/// A permit for one running request of a client.
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
        "Too many concurrent requests from this client; wait for some to end.",
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
        let quotas = limits.quotas();
        assert!(quotas.rate_limiter.as_ref().unwrap().len() <= MAX_TRACKED_CLIENTS + 1);
        let known = RateLimitKey::for_name("alice".into());
        assert!(limits.check_rate(&known).is_ok(), "names are not shared");
    }
}
