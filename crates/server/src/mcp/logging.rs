//! Log messages about the outcome of calls, for clients that request them. Revision 2026-07-28
//! deprecates them and has each request ask for them, but clients still show them.

#![expect(deprecated, reason = "clients of the handshake revisions use it")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use deliberate_toolkit::LogForwarder;
use rmcp::{
    RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam},
    service::RequestContext,
};
use serde_json::{Value, json};

use super::client_info::ClientInfo;

/// The log level of a connection; off by default.
#[derive(Debug, Clone)]
pub(super) struct ClientLogLevel(Arc<AtomicU8>);

const LOGGING_OFF: u8 = u8::MAX;

/// The names of the levels by their rank.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

impl Default for ClientLogLevel {
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(LOGGING_OFF)))
    }
}

impl ClientLogLevel {
    pub(super) fn set(&self, level: LoggingLevel) {
        self.0.store(severity_rank(level), Ordering::Relaxed);
    }

    fn is_enabled(
        &self,
        level: LoggingLevel,
        context: &RequestContext<RoleServer>,
        modern: bool,
    ) -> bool {
        let from = self.least_severe(context, modern);
        from.is_some_and(|from| severity_rank(level) >= from)
    }

    /// Returns the rank of the least severe level that the client wants.
    fn least_severe(&self, context: &RequestContext<RoleServer>, modern: bool) -> Option<u8> {
        if modern {
            context.meta.log_level().map(severity_rank)
        } else {
            Some(self.0.load(Ordering::Relaxed))
        }
    }

    /// Returns what passes on log messages of upstream servers during a call, if the client wants
    /// any.
    pub(super) fn forwarder(
        &self,
        context: &RequestContext<RoleServer>,
        modern: bool,
    ) -> Option<LogForwarder> {
        let rank = self.least_severe(context, modern)?;
        let wanted = *LEVELS.get(usize::from(rank))?;
        let (level, context) = (self.clone(), context.clone());
        let send: Arc<dyn Fn(Value) + Send + Sync> = Arc::new(move |message| {
            let Ok(message) = serde_json::from_value::<LoggingMessageNotificationParam>(message)
            else {
                return;
            };
            if level.is_enabled(message.level, &context, modern) {
                let peer = context.peer.clone();
                // The transport notices a client that is gone.
                tokio::spawn(async move { drop(peer.notify_logging_message(message).await) });
            }
        });
        Some(LogForwarder {
            level: wanted,
            send,
        })
    }

    /// Sends the outcome of a call.
    pub(super) async fn log_call(
        &self,
        context: &RequestContext<RoleServer>,
        client: &ClientInfo,
        tool: &str,
        took: Duration,
        error: Option<&str>,
    ) {
        let level = match error {
            Some(_) => LoggingLevel::Warning,
            None => LoggingLevel::Info,
        };
        if !self.is_enabled(level, context, client.modern) {
            return;
        }
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let data = match error {
            Some(code) => json!({ "tool": tool, "took_ms": took_ms, "error": code }),
            None => json!({ "tool": tool, "took_ms": took_ms }),
        };
        let message = LoggingMessageNotificationParam::new(level, data).with_logger("deliberate");
        // The transport notices a client that is gone.
        drop(context.peer.notify_logging_message(message).await);
    }
}

const fn severity_rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
