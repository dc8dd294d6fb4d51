//! Tools that send log messages and progress notifications while they run.

#![expect(deprecated, reason = "the suite tests logging until it is removed")]

use std::time::Duration;

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, Tool};
use serde_json::json;

use crate::tools::{FixtureCall, FixtureResult, build_tool, text_result};

/// The pause between two notifications; the suite waits for them one by one.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(50);

/// The duration of the call whose stream a client may lose.
const CALL_DURATION: Duration = Duration::from_millis(100);

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        build_tool(
            "test_tool_with_logging",
            "Logs three times while it runs",
            &json!({}),
        ),
        build_tool(
            "test_logging_tool",
            "Logs if the request asks for logs",
            &json!({}),
        ),
        build_tool(
            "test_tool_with_progress",
            "Reports progress three times",
            &json!({}),
        ),
        build_tool("test_reconnection", "Takes a moment", &json!({})),
    ]
}

pub(crate) async fn log_three_times(call: &FixtureCall<'_>) -> FixtureResult {
    for text in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        send_log(call, text).await;
        tokio::time::sleep(NOTIFICATION_INTERVAL).await;
    }
    text_result("Logged three times.")
}

pub(crate) async fn log_if_requested(call: &FixtureCall<'_>) -> FixtureResult {
    if call.context.meta.log_level().is_some() {
        send_log(call, "Logged, since the request asks for logs").await;
    }
    text_result("Done.")
}

pub(crate) async fn report_progress(call: &FixtureCall<'_>) -> FixtureResult {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = call.context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, done)
                .with_total(100.0)
                .with_message(format!("{done} of 100 done"));
            // The notification fails only if the client is gone.
            drop(call.context.peer.notify_progress(told).await);
        }
        tokio::time::sleep(NOTIFICATION_INTERVAL).await;
    }
    text_result("All is done.")
}

pub(crate) async fn wait_briefly() -> FixtureResult {
    tokio::time::sleep(CALL_DURATION).await;
    text_result("A moment has passed.")
}

async fn send_log(call: &FixtureCall<'_>, text: &str) {
    let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text))
        .with_logger("conformance");
    // The notification fails only if the client is gone.
    drop(call.context.peer.notify_logging_message(told).await);
}
