//! A connection for tests: sends messages and receives events.

use std::{sync::Arc, time::Duration};

use deliberate_mcp_client::{
    config::{ServerConfig, ServerLimits, StdioConfig, TransportConfig},
    jsonrpc::{self, RpcMessage},
    transport::{
        Connector, IncomingEvent, IncomingSink, McpTransport, MessageKind, OutgoingMessage,
        TransportError, stdio::StdioConnector,
    },
};
use deliberate_testkit::{mock_mcp_server_program, wait_until};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

/// A time limit that nothing reaches, even on a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct TestConnection {
    pub(crate) transport: Arc<dyn McpTransport>,
    incoming: mpsc::UnboundedReceiver<IncomingEvent>,
}

pub(crate) fn program<S: Into<String>>(
    command: &str,
    arguments: impl IntoIterator<Item = S>,
) -> StdioConfig {
    match ServerConfig::stdio("test", command, arguments).transport {
        TransportConfig::Stdio(config) => config,
        other => panic!("{other:?}"),
    }
}

/// The mock server with these faults.
pub(crate) fn mock_server(faults: &[&str]) -> StdioConfig {
    let faults = faults.iter().flat_map(|fault| ["--fault", fault]);
    program(&mock_mcp_server_program().to_string_lossy(), faults)
}

pub(crate) fn limits() -> ServerLimits {
    ServerLimits {
        connect_timeout: TEST_TIMEOUT,
        response_timeout: TEST_TIMEOUT,
        ..ServerLimits::default()
    }
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> OutgoingMessage {
    OutgoingMessage {
        body: jsonrpc::encode_request(id, method, params).into(),
        kind: MessageKind::Request(id),
        method: Some(method.to_owned()),
        name: None,
        param_headers: Vec::new(),
    }
}

pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> OutgoingMessage {
    let params = json!({ "name": tool, "arguments": arguments });
    request(id, "tools/call", &params)
}

impl TestConnection {
    pub(crate) async fn open(connector: &dyn Connector) -> Result<Self, TransportError> {
        let (put, came) = mpsc::unbounded_channel();
        let inbox = IncomingSink::new(move |incoming| {
            let _ = put.send(incoming);
        });
        let link = connector.open(inbox, Instant::now() + TEST_TIMEOUT).await?;
        Ok(Self {
            transport: link,
            incoming: came,
        })
    }

    pub(crate) async fn start(config: StdioConfig, limits: &ServerLimits) -> Self {
        let connector = StdioConnector::new(config, limits);
        Self::open(&connector).await.unwrap()
    }

    pub(crate) async fn next(&mut self) -> IncomingEvent {
        let event = timeout(TEST_TIMEOUT, self.incoming.recv()).await;
        event.expect("nothing came").expect("the end came before")
    }

    /// Returns true if nothing more can arrive.
    pub(crate) async fn is_over(&mut self) -> bool {
        timeout(TEST_TIMEOUT, self.incoming.recv())
            .await
            .unwrap()
            .is_none()
    }

    pub(crate) async fn answer(&mut self) -> (u64, Value) {
        loop {
            match self.next().await {
                IncomingEvent::Message {
                    message: RpcMessage::Response { id, outcome },
                    ..
                } => {
                    let result = outcome.unwrap();
                    return (id, serde_json::from_str(result.get()).unwrap());
                }
                IncomingEvent::Closed(error) => panic!("closed: {error:?}"),
                _ => {}
            }
        }
    }

    /// Calls a tool and returns its text.
    pub(crate) async fn text(&mut self, id: u64, tool: &str, arguments: &Value) -> String {
        self.transport
            .send(call(id, tool, arguments))
            .await
            .unwrap();
        let (answered, result) = self.answer().await;
        assert_eq!(answered, id);
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Skips events and returns the end of the connection.
    pub(crate) async fn end(&mut self) -> Option<TransportError> {
        loop {
            if let IncomingEvent::Closed(error) = self.next().await {
                return error;
            }
        }
    }
}

/// Returns true if a process exists and is not a zombie.
#[cfg(unix)]
pub(crate) fn is_alive(id: &str) -> bool {
    let output = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", id])
        .output()
        .unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// Waits until a process is gone.
#[cfg(unix)]
pub(crate) async fn wait_until_gone(id: &str) {
    wait_until(|| !is_alive(id)).await;
}
