//! What a stand-in remembers: requests, pipes, threads, faults to come, and its counters.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::http::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use serde_json::Value;

use super::{MockFault, MockSettings, ScriptedAnswer};

/// One request as the stand-in saw it. The key itself is never kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestRecord {
    /// Milliseconds since the stand-in started.
    pub at_ms: u64,
    /// What was wanted.
    pub kind: RequestKind,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers, without the key.
    pub headers: BTreeMap<String, String>,
    /// Which key came with it.
    pub key: KeyCheck,
    /// The body as JSON; null if it was none or is not kept.
    pub body: Value,
    /// The size of the body.
    pub body_bytes: usize,
    /// How it ended.
    pub outcome: RequestOutcome,
}

/// What a request wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Ask a model.
    Ask,
    /// Create or update a pipe.
    CreatePipe,
    /// List pipes or models.
    List,
    /// Something the providers do not have.
    Unknown,
}

/// Which key came with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyCheck {
    /// The one that is accepted, or any where none is demanded.
    Right,
    /// Another one.
    Wrong,
    /// None.
    Missing,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// It has not ended yet.
    Pending,
    /// It was answered with this status.
    Answered(u16),
    /// The caller went away before the answer.
    Dropped,
    /// A fault cut the connection.
    Cut,
}

/// Shared by all requests of one stand-in.
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
    /// Counts resets, so that a request from before one leaves the new records alone.
    era: usize,
    window: Option<(Instant, u32)>,
}

/// What the rate headers say after a request was counted.
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

    /// Counts a request in its second; `None` when there is no limit.
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

    /// Writes a request down; the guard writes how it ended.
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

/// A request before it is written down.
#[derive(Clone, Copy)]
pub(super) struct RequestView<'a> {
    pub(super) kind: RequestKind,
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Value,
    pub(super) body_bytes: usize,
}

/// Notes the end of a request, also when its future is dropped because the caller went away.
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
