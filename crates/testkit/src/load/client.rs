//! A well-behaved client on one connection: it numbers its requests, reconnects when the server has
//! closed the connection, and accepts only the answer to its own request.

use std::net::SocketAddr;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::{ClientProtocol, LoadConnection, LoadResponse};

/// A client on one connection.
#[derive(Debug)]
pub struct LoadClient {
    host: SocketAddr,
    protocol: ClientProtocol,
    connection: Option<LoadConnection>,
    next_id: u64,
}

impl LoadClient {
    /// Creates a client whose ids begin at this number; it connects with its first request.
    pub fn new(host: SocketAddr, protocol: ClientProtocol, first_id: u64) -> Self {
        Self {
            host,
            protocol,
            connection: None,
            next_id: first_id,
        }
    }

    pub fn protocol(&self) -> ClientProtocol {
        self.protocol
    }

    /// Sends a request and returns its result.
    pub async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        let bytes = self.protocol.request(self.host, id, method, params);
        let answer = self.exchange(&bytes).await?;
        let mut response = answer.response(id)?;
        ensure!(answer.status == 200, "{method}: {}", answer.summary());
        match response.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => bail!("{method}: {response}"),
        }
    }

    /// Calls a tool and returns its structured answer.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut result = self.request("tools/call", params).await?;
        ensure!(result["isError"] != true, "{tool}: {result}");
        ensure!(result["structuredContent"].is_object(), "{tool}: {result}");
        Ok(result["structuredContent"].take())
    }

    /// Sends bytes that are one request. They are sent once: only a connection that was closed
    /// before is reopened.
    pub async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<LoadResponse> {
        let mut connection = match self.connection.take() {
            Some(kept) if !kept.is_closed() => kept,
            _ => LoadConnection::open(self.host)
                .await
                .context("can't connect")?,
        };
        let answer = connection.exchange(request).await?;
        if !answer.closes {
            self.connection = Some(connection);
        }
        Ok(answer)
    }
}
