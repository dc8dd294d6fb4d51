//! Work that takes its time, done where nobody waits for it who has others waiting.

use deliberate_toolkit::ToolError;

/// Runs it on a thread of its own.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "work beside the runtime failed");
        ToolError::Internal
    })
}
