//! Logs go to standard error, because on stdio transport standard output is the protocol.

use std::io::IsTerminal as _;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogFormat, LogLevel};

/// Starts logging. Has no effect if a subscriber is already in place.
pub(crate) fn start(level: LogLevel, format: LogFormat) {
    let ansi = std::io::stderr().is_terminal();
    // An error here means that someone else logs already, and then there is nothing to do.
    let _ = subscriber(level, format, ansi, std::io::stderr).try_init();
}

fn subscriber<W>(
    level: LogLevel,
    format: LogFormat,
    ansi: bool,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    let registry = tracing_subscriber::registry().with(targets(level));
    match format {
        LogFormat::Pretty => Box::new(registry.with(layer.with_ansi(ansi))),
        LogFormat::Json => Box::new(registry.with(layer.json().flatten_event(true))),
    }
}

/// What is let through. [`Targets`] rather than `EnvFilter`: it needs no regular expressions, which
/// would cost start-up time.
fn targets(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // rmcp writes whole messages, thoughts included, at info and debug; content is for trace only.
    let rmcp = if level == LevelFilter::TRACE {
        level
    } else {
        level.min(LevelFilter::WARN)
    };
    Targets::new().with_default(level).with_target("rmcp", rmcp)
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

    fn logged(level: LogLevel, format: LogFormat) -> String {
        let captured = Captured::default();
        let writer = captured.clone();
        let subscriber = subscriber(level, format, false, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "deliberate", thoughts = 3, "session answered");
            tracing::debug!(target: "deliberate::store", "row written");
            tracing::info!(target: "rmcp::service", "request with content");
            tracing::warn!(target: "rmcp::service", "client went away");
        });
        let bytes = captured.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn info_keeps_message_contents_of_rmcp_out() {
        let log = logged(LogLevel::Info, LogFormat::Pretty);
        assert!(
            log.contains("session answered") && log.contains("thoughts=3"),
            "{log}"
        );
        assert!(log.contains("client went away"), "{log}");
        assert!(!log.contains("request with content"), "{log}");
        assert!(!log.contains("row written"), "{log}");
    }

    #[test]
    fn debug_keeps_them_out_too_and_trace_lets_them_through() {
        let debug = logged(LogLevel::Debug, LogFormat::Pretty);
        assert!(debug.contains("row written") && !debug.contains("request with content"));
        assert!(logged(LogLevel::Trace, LogFormat::Pretty).contains("request with content"));
        assert!(!logged(LogLevel::Error, LogFormat::Pretty).contains("client went away"));
    }

    #[test]
    fn json_is_one_object_per_line() {
        let log = logged(LogLevel::Info, LogFormat::Json);
        let lines: Vec<serde_json::Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["message"], "session answered");
        assert_eq!(lines[0]["thoughts"], 3);
        assert_eq!(lines[0]["level"], "INFO");
    }
}
