//! The status of a client, from its own counters. The server is not asked.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::McpClient;
use crate::ClientError;

/// The status of a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientStatus {
    /// The server's name.
    pub server: String,
    /// The server's address, without secrets.
    pub address: String,
    /// The state of the connection.
    pub state: ClientState,
    /// The protocol revision, while connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The number of requests that wait for an answer.
    pub in_flight: usize,
    /// The number of tool calls so far.
    pub calls: u64,
    /// The number of tool calls that failed, including those whose tool reported a failure.
    pub failures: u64,
    /// The number of reconnects.
    pub reconnects: u64,
    /// The number of invalid messages on this connection.
    pub garbage: u64,
    /// The mean duration of a call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<f64>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Whether the last attempt to connect failed.
    pub connect_failed: bool,
    /// When the server last accepted a connection or answered a call.
    #[serde(skip)]
    pub last_success: Option<SystemTime>,
    /// The duration of the last ping, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ping_ms: Option<f64>,
    /// The percentage of time since the first attempt during which the client was connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_percent: Option<f64>,
    /// The last lines that the program wrote to its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<String>,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientState {
    /// No connection is needed.
    Idle,
    /// A connection is being opened.
    Connecting,
    /// The connection is open.
    Ready,
    /// The last attempt failed; the client is in backoff.
    Resting,
    /// The client was closed.
    Stopped,
}

#[derive(Default)]
pub(super) struct ClientMetrics {
    calls: AtomicU64,
    failures: AtomicU64,
    total_latency_us: AtomicU64,
    connects: AtomicU64,
    history: Mutex<ConnectionHistory>,
}

#[derive(Default)]
struct ConnectionHistory {
    last_error: Option<String>,
    connect_failed: bool,
    last_success: Option<SystemTime>,
    last_ping: Option<Duration>,
    first_attempt: Option<Instant>,
    connected_since: Option<Instant>,
    connected_before: Duration,
}

impl ClientMetrics {
    /// Counts a call. A result with `isError` is an answer of the server and a failure of its tool.
    pub(super) fn record_call(&self, took: Duration, outcome: Result<&Value, &ClientError>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total_latency_us.fetch_add(took, Ordering::Relaxed);
        let reports_failure = |result: &Value| result.get("isError") == Some(&Value::Bool(true));
        if outcome.is_ok_and(reports_failure) || outcome.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        self.with_history(|more| match outcome {
            Ok(_) => more.last_success = Some(SystemTime::now()),
            Err(error) => more.last_error = Some(error.to_string()),
        });
    }

    pub(super) fn record_connect(&self) {
        self.connects.fetch_add(1, Ordering::Relaxed);
        self.with_history(|more| {
            more.first_attempt.get_or_insert_with(Instant::now);
            more.connected_since = Some(Instant::now());
            more.connect_failed = false;
            more.last_success = Some(SystemTime::now());
        });
    }

    pub(super) fn record_connect_failure(&self, error: &ClientError) {
        self.with_history(|more| {
            more.first_attempt.get_or_insert_with(Instant::now);
            more.connect_failed = true;
            more.last_error = Some(error.to_string());
        });
    }

    pub(super) fn record_disconnect(&self, why: &str) {
        self.with_history(|more| {
            if let Some(since) = more.connected_since.take() {
                more.connected_before += since.elapsed();
            }
            more.last_error = Some(format!("the connection ended: {why}"));
        });
    }

    pub(super) fn record_ping(&self, took: Duration) {
        self.with_history(|more| more.last_ping = Some(took));
    }

    pub(super) fn record_ping_failure(&self, error: &ClientError) {
        self.with_history(|more| {
            more.last_ping = None;
            more.last_error = Some(error.to_string());
        });
    }

    fn with_history<T>(&self, act: impl FnOnce(&mut ConnectionHistory) -> T) -> T {
        act(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl McpClient {
    /// Returns the status without asking the server.
    pub fn status(&self) -> ClientStatus {
        let counts = &self.inner.metrics;
        let live = self.current_connection();
        let calls = counts.calls.load(Ordering::Relaxed);
        let took = counts.total_latency_us.load(Ordering::Relaxed) as f64 / 1_000.0;
        let connects = counts.connects.load(Ordering::Relaxed);
        let in_ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        counts.with_history(|more| ClientStatus {
            server: self.name().to_owned(),
            address: self.inner.connector.display_address(),
            state: self.state(live.is_some()),
            version: live
                .as_ref()
                .and_then(|live| Some(live.server_info()?.version.clone())),
            in_flight: live.as_ref().map_or(0, |live| live.state.pending.len()),
            calls,
            failures: counts.failures.load(Ordering::Relaxed),
            reconnects: connects.saturating_sub(1),
            garbage: live
                .as_ref()
                .map_or(0, |live| live.state.garbage.load(Ordering::Relaxed)),
            mean_ms: (calls > 0).then(|| took / calls as f64),
            last_error: more.last_error.clone(),
            connect_failed: more.connect_failed,
            last_success: more.last_success,
            last_ping_ms: more.last_ping.map(in_ms),
            up_percent: more.first_attempt.map(|first| {
                let now = more
                    .connected_since
                    .map_or(Duration::ZERO, |since| since.elapsed());
                let all = first.elapsed().as_secs_f64().max(f64::EPSILON);
                (100.0 * (more.connected_before + now).as_secs_f64() / all).min(100.0)
            }),
            diagnosis: live.as_ref().and_then(|live| live.transport.diagnosis()),
        })
    }

    fn state(&self, live: bool) -> ClientState {
        if self.inner.shutdown.is_cancelled() {
            ClientState::Stopped
        } else if live {
            ClientState::Ready
        } else if self.is_connecting() {
            ClientState::Connecting
        } else if self.backoff_remaining().is_some() {
            ClientState::Resting
        } else {
            ClientState::Idle
        }
    }
}
