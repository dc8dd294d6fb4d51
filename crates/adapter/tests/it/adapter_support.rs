//! Adapters in the hands of a test.

use std::sync::Arc;

use deliberate_adapter::{
    Adapter, AdapterConfig, CallOptions, Client, Error, adapter::Executed, client::NoHandler,
};
use serde_json::{Value, json};

use crate::client_support::{Puppet, Stage, older, soon, stdio};

/// A server of the handshake era with these tools; `calls` answers their calls.
pub(crate) fn server(
    tools: Value,
    calls: impl Fn(&Stage, &Value) + Send + Sync + 'static,
) -> Arc<Puppet> {
    Puppet::new(move |stage, message| {
        if older(stage, message) {
            return;
        }
        match message["method"].as_str() {
            Some("tools/list") => stage.answer(message, &json!({ "tools": tools })),
            Some("tools/call") => calls(stage, message),
            _ => {}
        }
    })
}

/// A server that has tools of these names and says its own.
pub(crate) fn saying(name: &'static str, tools: &[&str]) -> Arc<Puppet> {
    let tools: Vec<Value> = tools.iter().map(|tool| tool_named(tool)).collect();
    server(tools.into(), move |stage, message| stage.say(message, name))
}

pub(crate) fn tool_named(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

pub(crate) fn connected(name: &str, puppet: &Arc<Puppet>) -> Client {
    Client::with_connector(stdio(name, &[]), puppet.clone(), Arc::new(NoHandler))
}

/// An adapter of these servers.
pub(crate) fn adapter(servers: &[(&str, &Arc<Puppet>)], config: AdapterConfig) -> Adapter {
    let clients = servers.iter().map(|(name, puppet)| connected(name, puppet));
    Adapter::with_clients(clients, config)
}

pub(crate) async fn names(adapter: &Adapter) -> Vec<String> {
    let functions = soon(adapter.to_functions()).await.unwrap().functions;
    functions
        .into_iter()
        .map(|function| function.name)
        .collect()
}

pub(crate) async fn run(
    adapter: &Adapter,
    server: &str,
    tool: &str,
    arguments: Value,
) -> Result<Executed, Error> {
    soon(adapter.execute(server, tool, arguments, CallOptions::default())).await
}
