//! MCP over standard input and output.
//!
//! [`LineSplitter`] limits every line; [`read_line`] parses it and rejects what the SDK would drop
//! or misjudge; valid messages go to the SDK through `transport`. Standard output carries only the
//! protocol.

mod lines;
mod open_batches;
mod transport;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{ServiceExt, service::ServerInitializeError, transport::stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

pub use lines::{LineSplitter, StdioLine};

pub use crate::message::{BodyMessage, IncomingMessage, RpcRejection, read_body, read_line};

use super::raw_result::RawResultService;
use crate::McpHandler;
use transport::StdioTransport;

/// The settings of the stdio transport.
#[derive(Debug, Clone)]
pub struct StdioOptions {
    /// The longest accepted line.
    pub line_bytes: usize,
    /// How long running calls may continue after the input has ended.
    pub grace: Duration,
    /// Cancelled to stop: no new calls are accepted, running ones finish within the grace period.
    pub shutdown: CancellationToken,
    /// Cancelled as soon as a client that sent a message has disconnected; its calls may still run.
    pub client_disconnected: CancellationToken,
}

/// Whether the streams had a client before they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    Client,
    /// The input ended before the first message.
    NoClient,
}

/// Serves the standard input and output of this process until the input ends.
pub async fn serve(face: McpHandler, options: StdioOptions) -> io::Result<SessionEnd> {
    let (input, output) = stdio_pipes();
    serve_on(face, options, input, output).await
}

/// Serves any pair of streams in the same way.
pub async fn serve_on(
    handler: McpHandler,
    options: StdioOptions,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<SessionEnd> {
    let heard = Arc::<AtomicBool>::default();
    let transport =
        StdioTransport::new(input, output, options, handler.input_ended(), heard.clone());
    let served = move || {
        if heard.load(Ordering::Relaxed) {
            SessionEnd::Client
        } else {
            SessionEnd::NoClient
        }
    };
    // The future is large, mostly because of the SDK.
    match Box::pin(RawResultService(handler).serve(transport)).await {
        Ok(service) => match service.waiting().await {
            Ok(_) => Ok(served()),
            Err(error) => Err(io::Error::other(error)),
        },
        // The client disconnected before its first message; this is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(served())
        }
        Err(error) => Err(io::Error::other(error)),
    }
}
