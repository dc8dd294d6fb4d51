//! What a stand-in remembers: requests, pipes, threads, faults to come, and its counters.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::http::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use serde_json::Value;

use super::{Fault, Rule, Settings};

/// One request as the stand-in saw it. The key itself is never kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// Milliseconds since the stand-in started.
    pub at_ms: u64,
    /// What was wanted.
    pub kind: Kind,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers, without the key.
    pub headers: BTreeMap<String, String>,
    /// Which key came with it.
    pub key: KeySeen,
    /// The body as JSON; null if it was none or is not kept.
    pub body: Value,
    /// The size of the body.
    pub body_bytes: usize,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a request wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
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
pub enum KeySeen {
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
pub enum Outcome {
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
pub(super) struct State {
    inner: Mutex<Inner>,
    started: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) settings: Settings,
    pub(super) ask_faults: VecDeque<Fault>,
    pub(super) pipe_faults: VecDeque<Fault>,
    pub(super) always: Option<Fault>,
    pub(super) rules: Vec<Rule>,
    pub(super) records: Vec<Recorded>,
    pub(super) pipes: BTreeMap<String, Value>,
    pub(super) threads: Vec<String>,
    pub(super) overwritten: usize,
    pub(super) asked: usize,
    pub(super) in_flight: usize,
    pub(super) peak: usize,
    /// Counts resets, so that a request from before one leaves the new records alone.
    era: usize,
    window: Option<(Instant, u32)>,
}

/// What the rate headers say after a request was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) limit: u32,
    pub(super) remaining: u32,
    pub(super) reset_seconds: u64,
    pub(super) exceeded: bool,
}

impl State {
    pub(super) fn new(settings: Settings) -> Self {
        let inner = Inner {
            settings,
            ..Inner::default()
        };
        Self {
            inner: Mutex::new(inner),
            started: Instant::now(),
        }
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&Inner) -> T) -> T {
        look(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn write<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn reset(&self) {
        self.write(|inner| {
            *inner = Inner {
                settings: inner.settings.clone(),
                in_flight: inner.in_flight,
                era: inner.era + 1,
                ..Inner::default()
            };
        });
    }

    /// Counts a request in its second; `None` when there is no limit.
    pub(super) fn count(&self) -> Option<Rate> {
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
            Some(Rate {
                limit,
                remaining: limit - used,
                reset_seconds: 1,
                exceeded,
            })
        })
    }

    /// Writes a request down; the guard writes how it ended.
    pub(super) fn record(self: &Arc<Self>, seen: Seen<'_>) -> Guard {
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.write(|inner| {
            let keep = inner.settings.keep_bodies;
            let key = key_seen(inner.settings.key.as_deref(), seen.headers);
            inner.records.push(Recorded {
                at_ms,
                kind: seen.kind,
                method: seen.method.to_string(),
                path: seen.path.to_owned(),
                headers: if keep {
                    kept_headers(seen.headers)
                } else {
                    BTreeMap::new()
                },
                key,
                body: if keep { seen.body.clone() } else { Value::Null },
                body_bytes: seen.body_bytes,
                outcome: Outcome::Pending,
            });
            if seen.kind == Kind::Ask {
                inner.in_flight += 1;
                inner.peak = inner.peak.max(inner.in_flight);
            }
            Guard {
                state: Arc::clone(self),
                era: inner.era,
                index: inner.records.len() - 1,
                kind: seen.kind,
                key,
                outcome: Outcome::Dropped,
            }
        })
    }
}

/// A request before it is written down.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) kind: Kind,
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Value,
    pub(super) body_bytes: usize,
}

/// Notes the end of a request, also when its future is dropped because the caller went away.
pub(super) struct Guard {
    state: Arc<State>,
    era: usize,
    index: usize,
    kind: Kind,
    pub(super) key: KeySeen,
    outcome: Outcome,
}

impl Guard {
    pub(super) fn answered(mut self, status: StatusCode) {
        self.outcome = Outcome::Answered(status.as_u16());
    }

    pub(super) fn cut(mut self) {
        self.outcome = Outcome::Cut;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.state.write(|inner| {
            if self.kind == Kind::Ask {
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

fn kept_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
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

fn key_seen(wanted: Option<&str>, headers: &HeaderMap) -> KeySeen {
    let Some(wanted) = wanted else {
        return KeySeen::Right;
    };
    let bearer = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    let plain = headers
        .get("x-api-key")
        .and_then(|value| value.to_str().ok());
    match bearer.or(plain) {
        Some(key) if key == wanted => KeySeen::Right,
        Some(_) => KeySeen::Wrong,
        None => KeySeen::Missing,
    }
}
