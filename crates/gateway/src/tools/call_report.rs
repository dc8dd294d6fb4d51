//! Reports the end of a call to metrics and the audit log, however it ends.

use deliberate_toolkit::{ErrorCode, ToolContext, ToolError};
use serde_json::Value;
use tokio::time::Instant;

/// The longest name of a tool of no server in a report.
const MAX_UNKNOWN_NAME: usize = 128;

/// The report of one call. Dropping it unfinished reports a cancelled call.
pub(super) struct CallReport<'a> {
    call: &'a ToolContext,
    started_at: Instant,
    /// The server that was called or, once there is an answer, the one that answered; absent if the
    /// name belongs to none.
    server: Option<String>,
    /// The tool, once it is known to exist; without a server, the whole name.
    tool: Option<String>,
    is_sent: bool,
}

impl<'a> CallReport<'a> {
    /// Starts the report of a call of this name.
    pub(super) fn new(call: &'a ToolContext, server: Option<String>, name: &str) -> Self {
        let unknown = server.is_none();
        Self {
            call,
            started_at: Instant::now(),
            server,
            tool: unknown.then(|| deliberate_core::truncate_chars(name, MAX_UNKNOWN_NAME)),
            is_sent: false,
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
        if !std::mem::replace(&mut self.is_sent, true) {
            let (server, tool) = (self.server.as_deref(), self.tool.as_deref());
            let elapsed = self.started_at.elapsed();
            self.call.report_external_call(server, tool, elapsed, code);
        }
    }
}

impl Drop for CallReport<'_> {
    fn drop(&mut self) {
        self.send(Some(ErrorCode::Cancelled.as_str()));
    }
}
