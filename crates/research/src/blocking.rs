//! Runs long computations outside the async runtime's threads.

use deliberate_toolkit::ToolError;

/// Runs a closure on a thread that may block.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a blocking task failed");
        ToolError::Internal
    })
}
