//! The records of a mock provider: requests, pipes, threads, queued faults and counters.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::http::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use serde_json::Value;

use super::{MockFault, MockSettings, ScriptedAnswer};

/// One recorded request. The key itself is never stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestRecord {
    /// Milliseconds since the mock provider started.
    pub at_ms: u64,
    pub kind: RequestKind,
    pub method: String,
    pub path: String,
    /// The headers, without the key.
    pub headers: BTreeMap<String, String>,
    /// Whether the key was right.
    pub key: KeyCheck,
    /// The body as JSON; null if it was not JSON or is not stored.
    pub body: Value,
    pub body_bytes: usize,
    pub outcome: RequestOutcome,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A model request.
    Ask,
    /// Creates or updates a pipe.
    CreatePipe,
    /// Lists pipes or models.
    List,
    /// A path that no provider has.
    Unknown,
}

/// The result of checking the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyCheck {
    /// The accepted key, or any key where none is demanded.
    Right,
    /// Another key.
    Wrong,
    /// No key.
    Missing,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// The request has not ended yet.
    Pending,
    /// It was answered with this status.
    Answered(u16),
    /// The caller went away before the answer.
    Dropped,
    /// A fault cut the connection.
    Cut,
}

/// The state that all requests of a mock provider share.
#[derive(Debug)]
pub(super) struct MockState {
    inner: Mutex<MockStateInner>,
    started: Instant,
}

#[derive(Debug, Default)]
pub(super) struct MockStateInner {
    pub(super) settings: MockSettings,
    pub(super) ask_faults: VecDeque<MockFault>,
    pub(super) pipe_faults: VecDeque<MockFault>,
    pub(super) default_fault: Option<MockFault>,
    pub(super) rules: Vec<ScriptedAnswer>,
    pub(super) records: Vec<RequestRecord>,
    pub(super) pipes: BTreeMap<String, Value>,
    pub(super) threads: Vec<String>,
    pub(super) overwritten: usize,
    pub(super) ask_count: usize,
    pub(super) in_flight: usize,
    pub(super) peak: usize,
    /// The number of resets, so that a request from before a reset does not change the new records.
    era: usize,
    window: Option<(Instant, u32)>,
}

/// The rate limit after a request was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimitState {
    pub(super) limit: u32,
    pub(super) remaining: u32,
    pub(super) reset_seconds: u64,
    pub(super) exceeded: bool,
}

impl MockState {
    pub(super) fn new(settings: MockSettings) -> Self {
        let inner = MockStateInner {
            settings,
            ..MockStateInner::default()
        };
        Self {
            inner: Mutex::new(inner),
            started: Instant::now(),
        }
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&MockStateInner) -> T) -> T {
        look(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn write<T>(&self, change: impl FnOnce(&mut MockStateInner) -> T) -> T {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn reset(&self) {
        self.write(|inner| {
            *inner = MockStateInner {
                settings: inner.settings.clone(),
                in_flight: inner.in_flight,
                era: inner.era + 1,
                ..MockStateInner::default()
            };
        });
    }

    /// Counts a request in its second; returns `None` when there is no limit.
    pub(super) fn count(&self) -> Option<RateLimitState> {
        self.write(|inner| {
            let limit = inner.settings.rate?;
            let now = Instant::now();
            let (since, used) = match inner.window {
                Some((since, used)) if now.duration_since(since).as_secs() < 1 => (since, used),
                _ => (now, 0),
            };
            let exceeded = used >= limit;
            let used = if exceeded { used } else { used + 1 };
            inner.window = Some((since, used));
            Some(RateLimitState {
                limit,
                remaining: limit - used,
                reset_seconds: 1,
                exceeded,
            })
        })
    }

    /// Records a request; the guard records its outcome.
    pub(super) fn record(self: &Arc<Self>, seen: RequestView<'_>) -> RequestGuard {
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.write(|inner| {
            let keep = inner.settings.keep_bodies;
            let key = check_key(inner.settings.key.as_deref(), seen.headers);
            inner.records.push(RequestRecord {
                at_ms,
                kind: seen.kind,
                method: seen.method.to_string(),
                path: seen.path.to_owned(),
                headers: if keep {
                    recorded_headers(seen.headers)
                } else {
                    BTreeMap::new()
                },
                key,
                body: if keep { seen.body.clone() } else { Value::Null },
                body_bytes: seen.body_bytes,
                outcome: RequestOutcome::Pending,
            });
            if seen.kind == RequestKind::Ask {
                inner.in_flight += 1;
                inner.peak = inner.peak.max(inner.in_flight);
            }
            RequestGuard {
                state: Arc::clone(self),
                era: inner.era,
                index: inner.records.len() - 1,
                kind: seen.kind,
                key,
                outcome: RequestOutcome::Dropped,
            }
        })
    }
}

/// A request before it is recorded.
#[derive(Clone, Copy)]
pub(super) struct RequestView<'a> {
    pub(super) kind: RequestKind,
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Value,
    pub(super) body_bytes: usize,
}

/// Records the outcome of a request, also when its future is dropped because the caller went away.
pub(super) struct RequestGuard {
    state: Arc<MockState>,
    era: usize,
    index: usize,
    kind: RequestKind,
    pub(super) key: KeyCheck,
    outcome: RequestOutcome,
}

impl RequestGuard {
    pub(super) fn finish(mut self, status: StatusCode) {
        self.outcome = RequestOutcome::Answered(status.as_u16());
    }

    pub(super) fn finish_cut(mut self) {
        self.outcome = RequestOutcome::Cut;
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.state.write(|inner| {
            if self.kind == RequestKind::Ask {
                inner.in_flight = inner.in_flight.saturating_sub(1);
            }
            if inner.era == self.era
                && let Some(record) = inner.records.get_mut(self.index)
            {
                record.outcome = self.outcome;
            }
        });
    }
}

const KEY_HEADERS: [&str; 3] = ["authorization", "x-api-key", "lb-llm-key"];

fn recorded_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let named = headers
        .iter()
        .filter(|(name, _)| !KEY_HEADERS.contains(&name.as_str()));
    named
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect()
}

fn check_key(wanted: Option<&str>, headers: &HeaderMap) -> KeyCheck {
    let Some(wanted) = wanted else {
        return KeyCheck::Right;
    };
    let bearer = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    let plain = headers
        .get("x-api-key")
        .and_then(|value| value.to_str().ok());
    match bearer.or(plain) {
        Some(key) if key == wanted => KeyCheck::Right,
        Some(_) => KeyCheck::Wrong,
        None => KeyCheck::Missing,
    }
}
