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

use super::guard::Refusal;

/// Clients whose rate is remembered. Beyond it, addresses that are not known by name share one
/// account.
const CLIENTS: usize = 16 * 1024;

/// How often quiet clients are forgotten at most.
const SWEEP: Duration = Duration::from_secs(1);

/// What one client may take.
#[derive(Debug, Clone, Copy)]
pub struct LimitOptions {
    /// Requests a minute on average; none is no limit.
    pub per_minute: Option<NonZeroU32>,
    /// Requests that may come at once before the average counts; none is a minute's worth.
    pub burst: Option<NonZeroU32>,
    /// Requests at the same time, open streams among them; none is no limit.
    pub at_once: Option<usize>,
}

impl LimitOptions {
    /// For a server that only this machine reaches, whose programs all come from one address.
    pub const THIS_MACHINE: Self = Self {
        per_minute: None,
        burst: None,
        at_once: Some(1024),
    };

    /// For a server that others reach.
    pub const BEYOND: Self = Self {
        per_minute: NonZeroU32::new(600),
        burst: NonZeroU32::new(120),
        at_once: Some(64),
    };
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self::THIS_MACHINE
    }
}

/// Whose share a request counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Client(Key);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Named(Arc<str>),
    Address(Ipv4Addr),
    /// The first 64 bits of an address.
    Network(u64),
    /// Everyone there is no more room for.
    Others,
}

impl Client {
    /// Someone who was let in by name.
    pub fn named(name: Arc<str>) -> Self {
        Self(Key::Named(name))
    }

    /// Whoever is at that address.
    pub fn at(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => Key::Address(address),
            IpAddr::V6(address) => Key::Network((u128::from(address) >> 64) as u64),
        })
    }
}

type Rate = RateLimiter<Client, HashMapStateStore<Client>, DefaultClock>;

/// Holds every client to its share.
#[derive(Debug)]
pub struct Limits {
    rate: Option<Rate>,
    clock: DefaultClock,
    at_once: Option<usize>,
    running: Arc<Running>,
    refused: AtomicU64,
    /// When clients that have been quiet were last forgotten.
    swept: Mutex<Option<Instant>>,
}

/// How many requests of each client run.
type Running = Mutex<HashMap<Client, usize>>;

impl Limits {
    /// Limits that nobody has used yet.
    pub fn new(options: LimitOptions) -> Self {
        let quota = options.per_minute.map(|per_minute| {
            Quota::per_minute(per_minute).allow_burst(options.burst.unwrap_or(per_minute))
        });
        Self {
            rate: quota.map(RateLimiter::hashmap),
            clock: DefaultClock::default(),
            at_once: options.at_once,
            running: Arc::default(),
            refused: AtomicU64::new(0),
            swept: Mutex::default(),
        }
    }

    /// Clients that have a request running.
    pub fn active_clients(&self) -> usize {
        running(&self.running).len()
    }

    /// Requests that were refused because a client had used its share.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Counts a request against the client's rate.
    pub(super) fn count(&self, client: &Client) -> Result<(), Refusal> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        let others = Client(Key::Others);
        let client = if self.has_room(rate) || matches!(client.0, Key::Named(_)) {
            client
        } else {
            &others
        };
        rate.check_key(client).map_err(|not_until| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let wait = not_until.wait_time_from(self.clock.now());
            too_many().retry_after(whole_seconds(wait))
        })
    }

    /// Whether one more client can be remembered. Once there are many, those that have been quiet
    /// are forgotten, though not at every request: that would make a flood dear.
    fn has_room(&self, rate: &Rate) -> bool {
        if rate.len() < CLIENTS {
            return true;
        }
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
            rate.retain_recent();
            rate.shrink_to_fit();
            *swept = Some(Instant::now());
        }
        rate.len() < CLIENTS
    }

    /// Takes a place among the client's running requests; it is free again when dropped.
    pub(super) fn place(&self, client: Client) -> Result<Place, Refusal> {
        let mut counts = running(&self.running);
        let count = counts.get(&client).copied().unwrap_or(0);
        if self.at_once.is_some_and(|limit| count >= limit) {
            drop(counts);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(too_many_at_once().retry_after(1));
        }
        counts.insert(client.clone(), count + 1);
        drop(counts);
        Ok(Place {
            client,
            running: self.running.clone(),
        })
    }
}

fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

fn running(running: &Running) -> std::sync::MutexGuard<'_, HashMap<Client, usize>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place among the running requests of a client.
#[derive(Debug)]
pub(super) struct Place {
    client: Client,
    running: Arc<Running>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = running(&self.running);
        if let Some(count) = counts.get_mut(&self.client) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

fn too_many() -> Refusal {
    Refusal::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limited",
        "Too many requests from this client; wait as long as Retry-After says.",
    )
}

fn too_many_at_once() -> Refusal {
    Refusal::new(
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
        let at = |address: &str| Client::at(address.parse().unwrap());
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }

    #[test]
    fn clients_beyond_number_share_one_account() {
        let limits = Limits::new(LimitOptions {
            per_minute: NonZeroU32::new(1),
            ..LimitOptions::BEYOND
        });
        let beyond = CLIENTS + 1000;
        let refused = (0..u32::try_from(beyond).unwrap())
            .filter(|number| {
                let client = Client::at(Ipv4Addr::from(*number).into());
                limits.count(&client).is_err()
            })
            .count();
        assert!(refused > 0, "the shared account has its limit too");
        assert!(limits.rate.as_ref().unwrap().len() <= CLIENTS + 1);
        let known = Client::named("alice".into());
        assert!(limits.count(&known).is_ok(), "names are not shared");
    }
}
