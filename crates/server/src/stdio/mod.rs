//! MCP over standard input and output.
//!
//! Bytes come in through [`LineSplitter`], which bounds every line; each line is read by
//! [`read_line`], which answers for what the SDK would drop or misjudge; what is sound goes to
//! the SDK through `transport`. Standard output carries the protocol and nothing else.

mod lines;
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

/// How standard input and output are served.
#[derive(Debug, Clone)]
pub struct StdioOptions {
    /// The longest line that is taken.
    pub line_bytes: usize,
    /// How long running calls may go on after the input has ended.
    pub grace: Duration,
    /// Cancelled to stop: no new calls, running ones finish within the grace.
    pub shutdown: CancellationToken,
    /// Cancelled as soon as a client that said something has left, while its calls may still run.
    pub client_disconnected: CancellationToken,
}

/// Whom the streams served until they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// A client.
    Client,
    /// Nobody: the input ended before anything was said.
    NoClient,
}

/// Serves this process's standard input and output until the input ends.
pub async fn serve(face: McpHandler, options: StdioOptions) -> io::Result<SessionEnd> {
    let (input, output) = stdio_pipes();
    serve_on(face, options, input, output).await
}

/// Serves any pair of streams in the same way.
pub async fn serve_on(
    face: McpHandler,
    options: StdioOptions,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<SessionEnd> {
    let heard = Arc::<AtomicBool>::default();
    let transport = StdioTransport::new(input, output, options, face.input_ended(), heard.clone());
    let served = move || {
        if heard.load(Ordering::Relaxed) {
            SessionEnd::Client
        } else {
            SessionEnd::NoClient
        }
    };
    // Large, and most of it the SDK's.
    match Box::pin(RawResultService(face).serve(transport)).await {
        Ok(service) => match service.waiting().await {
            Ok(_) => Ok(served()),
            Err(error) => Err(io::Error::other(error)),
        },
        // The client left before it said anything; that is no failure of ours.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(served())
        }
        Err(error) => Err(io::Error::other(error)),
    }
}
