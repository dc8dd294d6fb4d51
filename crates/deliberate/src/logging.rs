//! Logging to standard error, because standard output is the protocol on the stdio transport.
//!
//! Logs contain events, not content: messages, arguments and answers are left out at every level
//! unless they are enabled. Keys are never logged.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, IsTerminal as _},
    panic::PanicHookInfo,
    thread,
};

use deliberate_toolkit::{AUDIT_TARGET, CALL_SPAN, MODEL_SPAN};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogFormat, LogLevelSetting};
use crate::log_queue::{self, LogQueue};
use crate::telemetry::SpanLayer;

/// Target of our own records that contain the content of messages.
const CONTENT_TARGET: &str = "deliberate::content";

/// Target of the OAuth client for upstream servers.
const OAUTH_TARGET: &str = "rmcp::transport::auth";

/// Whether logs may contain the content of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentLogging {
    Hidden,
    /// Enabled for debugging.
    Logged,
}

impl From<bool> for ContentLogging {
    fn from(is_on: bool) -> Self {
        if is_on { Self::Logged } else { Self::Hidden }
    }
}

/// Who waits while a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogDelivery {
    /// Whoever logs it, as in a short command.
    Direct,
    /// A thread of its own, as in a server, which must work while nobody reads its log.
    Queued,
}

/// What the log contains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogFilter {
    pub(crate) level: LogLevelSetting,
    pub(crate) content: ContentLogging,
    /// Whether calls of upstream servers' tools are logged at every level.
    pub(crate) audit: bool,
}

/// Changes the filter of the log while the program runs.
pub(crate) struct LogLevelControl(SetTargets);

type SetTargets = Box<dyn Fn(Targets) -> Result<(), reload::Error> + Send + Sync>;

impl LogLevelControl {
    pub(crate) fn set(&self, filter: LogFilter) -> Result<(), reload::Error> {
        (self.0)(targets(filter))
    }
}

/// Starts logging, and the export of spans if a collector is configured. Has no effect if a
/// subscriber is already installed.
pub(crate) fn start(
    filter: LogFilter,
    format: LogFormat,
    delivery: LogDelivery,
    spans: Option<SpanLayer>,
) -> LogLevelControl {
    let ansi = io::stderr().is_terminal();
    let queue = match delivery {
        LogDelivery::Direct => None,
        // Without a thread there is no queue.
        LogDelivery::Queued => LogQueue::install(io::stderr(), log_dropped_lines).ok(),
    };
    let writer = match queue {
        Some(queue) => {
            std::panic::set_hook(Box::new(log_panic));
            BoxMakeWriter::new(move || queue.clone())
        }
        None => BoxMakeWriter::new(io::stderr),
    };
    let lines = LogOutput {
        format,
        ansi,
        writer,
    };
    let (subscriber, control) = build_subscriber(targets(filter), lines, spans);
    // An error means that a subscriber is already installed, so there is nothing to do.
    let _ = subscriber.try_init();
    control
}

/// Reports dropped lines as an error, because errors may be among them.
fn log_dropped_lines(count: u64) {
    tracing::error!(count, "log lines were dropped because nobody read the log");
}

/// Writes a panic to the queue. The standard hook writes to standard error itself, and would wait
/// for its reader.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let mut text = format!("thread '{name}' {panic}\n");
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        text.push_str(&backtrace.to_string());
    }
    log_queue::write_stderr(&text);
}

/// Format and destination of log lines.
struct LogOutput<W> {
    format: LogFormat,
    ansi: bool,
    writer: W,
}

impl<W> LogOutput<W>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    fn layer<S>(self) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    {
        let layer = tracing_subscriber::fmt::layer().with_writer(self.writer);
        match self.format {
            LogFormat::Pretty => layer.with_ansi(self.ansi).boxed(),
            LogFormat::Json => layer.json().flatten_event(true).boxed(),
        }
    }
}

fn build_subscriber<W>(
    targets: Targets,
    lines: LogOutput<W>,
    spans: Option<SpanLayer>,
) -> (Box<dyn Subscriber + Send + Sync>, LogLevelControl)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let registry = tracing_subscriber::registry();
    match spans {
        // One filter for all layers, so that unwanted records are rejected once, at their call
        // site.
        None => {
            let (targets, handle) = reload::Layer::new(targets);
            let subscriber = registry.with(targets).with(lines.layer());
            let control = LogLevelControl(Box::new(move |targets| handle.reload(targets)));
            (Box::new(subscriber), control)
        }
        Some(spans) => {
            let (targets, handle) = reload::Layer::new(targets);
            let subscriber = registry
                .with(lines.layer().with_filter(targets))
                .with(spans.with_filter(SpanLayer::targets()));
            let control = LogLevelControl(Box::new(move |targets| handle.reload(targets)));
            (Box::new(subscriber), control)
        }
    }
}

/// Returns the filter. It uses [`Targets`] instead of `EnvFilter`, which needs regular expressions
/// and start-up time.
fn targets(filter: LogFilter) -> Targets {
    let content = filter.content;
    let level = match filter.level {
        LogLevelSetting::Error => LevelFilter::ERROR,
        LogLevelSetting::Warn => LevelFilter::WARN,
        LogLevelSetting::Info => LevelFilter::INFO,
        LogLevelSetting::Debug => LevelFilter::DEBUG,
        LogLevelSetting::Trace => LevelFilter::TRACE,
    };
    let shown = |most: LevelFilter| match content {
        ContentLogging::Logged => level,
        ContentLogging::Hidden => level.min(most),
    };
    Targets::new()
        // Detailed records of other crates may contain content, for which we cannot vouch.
        .with_default(shown(LevelFilter::INFO))
        .with_target("deliberate", level)
        .with_target(CONTENT_TARGET, shown(LevelFilter::OFF))
        // rmcp writes whole messages, thoughts included, at info and debug, the errors of calls at
        // warn, and a disconnected client, which is no error, at error.
        .with_target("rmcp", shown(LevelFilter::OFF))
        // It writes codes and tokens, which must never be logged.
        .with_target(OAUTH_TARGET, LevelFilter::OFF)
        // Whoever wants fewer lines still wants to know who called what.
        .with_target(
            AUDIT_TARGET,
            if filter.audit {
                LevelFilter::INFO
            } else {
                LevelFilter::OFF
            },
        )
        // For traces, not for log lines.
        .with_target(CALL_SPAN, LevelFilter::OFF)
        .with_target(MODEL_SPAN, LevelFilter::OFF)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn capture_log(level: LogLevelSetting, format: LogFormat, content: ContentLogging) -> String {
        let filter = LogFilter {
            level,
            content,
            audit: true,
        };
        capture_filtered(filter, format)
    }

    fn capture_filtered(filter: LogFilter, format: LogFormat) -> String {
        let captured = Captured::default();
        let writer = captured.clone();
        let lines = LogOutput {
            format,
            ansi: false,
            writer: move || writer.clone(),
        };
        let (subscriber, _) = build_subscriber(targets(filter), lines, None);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "deliberate", thoughts = 3, "session answered");
            tracing::debug!(target: "deliberate_store::sqlite", "row written");
            tracing::debug!(target: "deliberate::content", "what was answered");
            tracing::info!(target: "rmcp::service", "request with content");
            tracing::warn!(target: "rmcp::service", "response error with content");
            tracing::error!(target: "rmcp::service", "client went away");
            tracing::debug!(target: "rmcp::transport::auth", "the code is hush");
            tracing::error!(target: "rmcp::transport::auth::more", "the token is hush");
            tracing::warn!(target: "deliberate_server::http", "a port is taken");
            tracing::trace!(target: "hyper::proto", "bytes");
            tracing::info!(target: "audit", server = "far", "external call");
            let span = tracing::info_span!(target: "deliberate::call", "tools/call");
            assert!(span.is_disabled(), "nobody collects traces");
        });
        let bytes = captured.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn contents_of_messages_are_left_out_at_every_level() {
        for level in [
            LogLevelSetting::Info,
            LogLevelSetting::Debug,
            LogLevelSetting::Trace,
        ] {
            let log = capture_log(level, LogFormat::Pretty, ContentLogging::Hidden);
            assert!(
                log.contains("session answered") && log.contains("thoughts=3"),
                "{log}"
            );
            assert!(log.contains("a port is taken"), "{log}");
            for hidden in ["with content", "what was answered", "bytes", "went away"] {
                assert!(!log.contains(hidden), "{level:?}: {log}");
            }
        }
    }

    #[test]
    fn the_level_holds_for_our_own_words() {
        let log = |level| capture_log(level, LogFormat::Pretty, ContentLogging::Hidden);
        assert!(log(LogLevelSetting::Debug).contains("row written"));
        assert!(!log(LogLevelSetting::Info).contains("row written"));
        assert!(!log(LogLevelSetting::Warn).contains("session answered"));
    }

    #[test]
    fn who_asks_for_contents_gets_them_as_far_as_the_level_goes() {
        let log = |level| capture_log(level, LogFormat::Pretty, ContentLogging::Logged);
        assert!(log(LogLevelSetting::Trace).contains("bytes"));
        assert!(log(LogLevelSetting::Debug).contains("what was answered"));
        assert!(log(LogLevelSetting::Info).contains("request with content"));
        assert!(!log(LogLevelSetting::Error).contains("with content"));
    }

    #[test]
    fn codes_and_tokens_are_shown_to_nobody() {
        for content in [ContentLogging::Hidden, ContentLogging::Logged] {
            for level in [
                LogLevelSetting::Error,
                LogLevelSetting::Info,
                LogLevelSetting::Trace,
            ] {
                let log = capture_log(level, LogFormat::Pretty, content);
                assert!(!log.contains("hush"), "{level:?} {content:?}: {log}");
            }
        }
    }

    #[test]
    fn calls_of_other_servers_are_logged_at_every_level_unless_that_is_off() {
        for level in [LogLevelSetting::Error, LogLevelSetting::Trace] {
            for audit in [true, false] {
                let filter = LogFilter {
                    level,
                    content: ContentLogging::Hidden,
                    audit,
                };
                let log = capture_filtered(filter, LogFormat::Pretty);
                assert_eq!(log.contains("external call"), audit, "{level:?}: {log}");
            }
        }
    }

    #[test]
    fn json_is_one_object_per_line() {
        let log = capture_log(
            LogLevelSetting::Info,
            LogFormat::Json,
            ContentLogging::Hidden,
        );
        let lines: Vec<serde_json::Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["message"], "session answered");
        assert_eq!(lines[0]["thoughts"], 3);
        assert_eq!(lines[0]["level"], "INFO");
    }
}
