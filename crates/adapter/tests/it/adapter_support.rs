//! Adapters for tests.

use std::sync::Arc;

use deliberate_adapter::{
    Adapter, AdapterConfig, CallOptions, ClientError, McpClient, adapter::ToolCallResult,
    client::NoClientHandler,
};
use serde_json::{Value, json};

use crate::client_support::{
    ScriptedServer, ServerConnection, answer_handshake, stdio, with_deadline,
};

/// A server of the handshake era with these tools; `calls` answers their calls.
pub(crate) fn handshake_server(
    tools: Value,
    calls: impl Fn(&ServerConnection, &Value) + Send + Sync + 'static,
) -> Arc<ScriptedServer> {
    ScriptedServer::new(move |stage, message| {
        if answer_handshake(stage, message) {
            return;
        }
        match message["method"].as_str() {
            Some("tools/list") => stage.answer(message, &json!({ "tools": tools })),
            Some("tools/call") => calls(stage, message),
            _ => {}
        }
    })
}

/// A server with tools of these names that answers its own name.
pub(crate) fn named_server(name: &'static str, tools: &[&str]) -> Arc<ScriptedServer> {
    let tools: Vec<Value> = tools.iter().map(|tool| tool_definition(tool)).collect();
    handshake_server(tools.into(), move |stage, message| {
        stage.answer_text(message, name);
    })
}

pub(crate) fn tool_definition(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

pub(crate) fn connect_client(name: &str, puppet: &Arc<ScriptedServer>) -> McpClient {
    McpClient::with_connector(stdio(name, &[]), puppet.clone(), Arc::new(NoClientHandler))
}

pub(crate) fn adapter(servers: &[(&str, &Arc<ScriptedServer>)], config: AdapterConfig) -> Adapter {
    let clients = servers
        .iter()
        .map(|(name, puppet)| connect_client(name, puppet));
    Adapter::with_clients(clients, config)
}

pub(crate) async fn function_names(adapter: &Adapter) -> Vec<String> {
    let functions = with_deadline(adapter.to_functions())
        .await
        .unwrap()
        .functions;
    functions
        .into_iter()
        .map(|function| function.name)
        .collect()
}

pub(crate) async fn execute(
    adapter: &Adapter,
    server: &str,
    tool: &str,
    arguments: Value,
) -> Result<ToolCallResult, ClientError> {
    with_deadline(adapter.execute(server, tool, arguments, CallOptions::default())).await
}
