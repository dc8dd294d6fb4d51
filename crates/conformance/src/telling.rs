//! Tools that tell the client something while they run: logs and progress.

#![expect(deprecated, reason = "the suite tests logging until it is removed")]

use std::time::Duration;

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, Tool};
use serde_json::json;

use crate::tools::{Answer, Call, says, tool};

/// Between two things told; the suite waits for them one by one.
const PAUSE: Duration = Duration::from_millis(50);

/// How long the call lasts whose stream a client may lose.
const MOMENT: Duration = Duration::from_millis(100);

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "test_tool_with_logging",
            "Logs three times while it runs",
            &json!({}),
        ),
        tool(
            "test_logging_tool",
            "Logs if the request asks for logs",
            &json!({}),
        ),
        tool(
            "test_tool_with_progress",
            "Tells its progress three times",
            &json!({}),
        ),
        tool("test_reconnection", "Takes a moment", &json!({})),
    ]
}

pub(crate) async fn logs_three_times(call: &Call<'_>) -> Answer {
    for text in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        log(call, text).await;
        tokio::time::sleep(PAUSE).await;
    }
    says("Logged three times.")
}

pub(crate) async fn logs_if_asked_to(call: &Call<'_>) -> Answer {
    if call.context.meta.log_level().is_some() {
        log(call, "Logged, since the request asks for logs").await;
    }
    says("Done.")
}

pub(crate) async fn progresses(call: &Call<'_>) -> Answer {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = call.context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, done)
                .with_total(100.0)
                .with_message(format!("{done} of 100 done"));
            // A client that has gone is told nothing more.
            drop(call.context.peer.notify_progress(told).await);
        }
        tokio::time::sleep(PAUSE).await;
    }
    says("All is done.")
}

pub(crate) async fn takes_a_moment() -> Answer {
    tokio::time::sleep(MOMENT).await;
    says("A moment has passed.")
}

async fn log(call: &Call<'_>, text: &str) {
    let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text))
        .with_logger("conformance");
    // A client that has gone is told nothing more.
    drop(call.context.peer.notify_logging_message(told).await);
}
