//! A server whose database is damaged, or whose disk is full or read-only.

mod damage;
mod retention;
#[cfg(target_os = "linux")]
mod unwritable_disk;

use std::net::SocketAddr;

use deliberate_testkit::{StdioClient, load::free_port, raw_http::RawHttp};
use serde_json::Value;
use tokio::process::Command;

use crate::support::serve;

/// Starts a server on standard input and output and over HTTP.
async fn serve_both(command: &mut Command) -> (StdioClient, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()));
    command.args(["serve", "--stdio", "--http", &address.to_string()]);
    (serve(command).await, address)
}

/// Returns the status code and the report of `/health`.
async fn health(address: SocketAddr) -> (u16, Value) {
    let mut http = RawHttp::connect(address).await.unwrap();
    let answer = http.request("GET", "/health", &[], "").await.unwrap();
    (answer.status, answer.json().unwrap())
}
