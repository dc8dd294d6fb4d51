//! A mock MCP server for tests: it has every feature that a client must handle, and faults that
//! real servers cannot be made to have on demand. Without faults its `echo` is as fast as a server
//! can be, for the benchmarks. It speaks all protocol revisions, over standard input and output,
//! over HTTP or over a WebSocket.

#![expect(
    clippy::indexing_slicing,
    reason = "indexing a JSON value returns null for a missing field"
)]

mod calls;
mod client_requests;
mod echo_fast_path;
mod faults;
mod http;
mod listing;
mod protocol_version;
mod resources_and_prompts;
mod rpc_result;
mod server;
mod session;
mod stdio;
mod websocket;

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
};

use clap::{Parser, ValueEnum};
use tokio::net::TcpListener;

use self::faults::ServerFaults;
use server::MockMcpServer;

/// Runs a mock MCP server with optional faults.
#[derive(Debug, Parser)]
struct MockMcpServerArgs {
    /// Serve HTTP at this address, under `/mcp`; port 0 picks a free one.
    #[arg(long, conflicts_with = "ws")]
    http: Option<SocketAddr>,
    /// Serve a WebSocket at this address, under any path.
    #[arg(long)]
    ws: Option<SocketAddr>,
    /// The protocol revisions to speak.
    #[arg(long, value_enum, default_value_t = ServedEras::Both)]
    era: ServedEras,
    /// Answer HTTP requests with streams.
    #[arg(long)]
    sse: bool,
    /// List two items per page.
    #[arg(long)]
    pages: bool,
    /// The file in which `count` stores its number.
    #[arg(long)]
    state: Option<PathBuf>,
    /// A fault, `NAME` or `NAME:VALUE`; may be repeated.
    #[arg(long = "fault")]
    faults: Vec<String>,
}

/// Protocol revisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ServedEras {
    /// 2024-11-05 to 2025-11-25.
    Handshake,
    /// 2026-07-28.
    Stateless,
    /// All of them.
    #[default]
    Both,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = MockMcpServerArgs::parse();
    let faults = ServerFaults::parse(&arguments.faults)?;
    tokio::time::sleep(faults.slow_start).await;
    let fast = arguments.faults.is_empty() && arguments.era == ServedEras::Both;
    let upstream = Arc::new(MockMcpServer {
        eras: arguments.era,
        faults,
        fast,
        pages: arguments.pages,
        state: arguments.state,
        ..MockMcpServer::default()
    });
    match (arguments.http, arguments.ws) {
        (Some(address), _) => {
            let listener = bind_listener(address).await?;
            http::serve(upstream, listener, arguments.sse).await
        }
        (None, Some(address)) => {
            let listener = bind_listener(address).await?;
            websocket::serve(upstream, listener).await
        }
        (None, None) => stdio::serve(upstream).await,
    }
}

async fn bind_listener(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await?;
    writeln!(io::stderr(), "listening on {}", listener.local_addr()?)?;
    Ok(listener)
}
