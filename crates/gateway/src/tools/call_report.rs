//! Reports the end of a call to metrics and the audit log, however it ends.

use deliberate_toolkit::{ErrorCode, ToolContext, ToolError};
use serde_json::Value;
use tokio::time::Instant;

/// The report of one call. Dropping it unfinished reports a cancelled call.
pub(super) struct CallReport<'a> {
    call: &'a ToolContext,
    started_at: Instant,
    /// The server that was called or, once there is an answer, the one that answered.
    server: Option<String>,
    /// The tool, once it is known to exist.
    tool: Option<String>,
}

impl<'a> CallReport<'a> {
    /// Starts the report. A call whose name belongs to no server reaches none and is not reported.
    pub(super) fn new(call: &'a ToolContext, server: Option<String>) -> Self {
        Self {
            call,
            started_at: Instant::now(),
            server,
            tool: None,
        }
    }

    pub(super) fn set_target(&mut self, server: &str, tool: &str) {
        self.server = Some(server.to_owned());
        self.tool = Some(tool.to_owned());
    }

    pub(super) fn finish(mut self, outcome: &Result<Value, ToolError>) {
        let failed = |result: &Value| result.get("isError") == Some(&Value::Bool(true));
        let code = match outcome {
            Ok(result) if failed(result) => Some(ErrorCode::ToolFailed.as_str()),
            Ok(_) => None,
            Err(error) => Some(error.code()),
        };
        self.send(code);
    }

    fn send(&mut self, code: Option<&str>) {
        if let Some(server) = self.server.take() {
            let elapsed = self.started_at.elapsed();
            self.call
                .report_external_call(&server, self.tool.as_deref(), elapsed, code);
        }
    }
}

impl Drop for CallReport<'_> {
    fn drop(&mut self) {
        self.send(Some(ErrorCode::Cancelled.as_str()));
    }
}
