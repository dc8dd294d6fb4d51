//! The upstream servers' tools in the clients' tool list: each is a call of `gateway_call`.

use std::sync::Arc;

use deliberate_json_schema::{
    restore_large_integers, stringify_large_integers, take_large_integers,
};
use deliberate_toolkit::{AliasTarget, ExternalTarget, ExternalTool, ExternalTools, InputReply};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::CALL_TOOL;
use crate::{Gateway, client_requests::SuspendedUpstreamCalls};

/// Provides the exposed tools of upstream servers.
pub struct ExposedTools(pub Arc<Gateway>);

impl ExternalTools for ExposedTools {
    fn list(&self) -> Vec<ExternalTool> {
        self.0.external_tools().to_vec()
    }

    fn wait_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.wait_first_listing())
    }

    fn resolve(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&InputReply>,
    ) -> Option<AliasTarget> {
        // The call itself checks whether the state belongs to it.
        let again = match again {
            Some(again) if !SuspendedUpstreamCalls::is_state_id(&again.state) => return None,
            again => again.map(|it| json!({ "state": it.state, "responses": it.responses })),
        };
        let mut arguments = if self.0.may_be_tool(name) {
            json!({ "tool": name, "arguments": object_or_empty(arguments) })
        } else if name == CALL_TOOL && again.is_some() {
            object_or_empty(arguments)
        } else {
            return None;
        };
        if let (Some(again), Some(fields)) = (again, arguments.as_object_mut()) {
            fields.insert("again".to_owned(), again);
        }
        Some(AliasTarget {
            tool: CALL_TOOL,
            arguments,
        })
    }

    fn find<'a>(&'a self, pattern: &'a str) -> BoxFuture<'a, Vec<ExternalTool>> {
        Box::pin(self.0.find_matching(pattern))
    }

    fn external_name(&self, tool: &str, arguments: &Value) -> Option<Arc<str>> {
        let called = called_name(tool, arguments)?;
        self.0.may_be_tool(called).then(|| called.into())
    }

    fn call_scopes(&self, tool: &str, arguments: &Value) -> Vec<String> {
        let called = called_name(tool, arguments);
        let server = called.and_then(|called| self.0.server_of_tool(called));
        let of_server = server.map(|server| format!("{CALL_TOOL}/{server}"));
        called
            .map(str::to_owned)
            .filter(|_| of_server.is_some())
            .into_iter()
            .chain(of_server.clone())
            .collect()
    }

    fn call_target(&self, tool: &str, arguments: &Value) -> Option<ExternalTarget> {
        let called = called_name(tool, arguments)?;
        let (server, tool) = match self.0.split_tool_name(called) {
            Some((upstream, tool)) => (Some(upstream.name().to_owned()), tool),
            None => (None, called),
        };
        Some(ExternalTarget {
            tool: tool.to_owned(),
            server,
        })
    }

    fn stringify_large_integers(&self, value: &mut Value) {
        stringify_large_integers(value);
    }

    fn take_large_integers(&self, value: &mut Value) -> Option<Value> {
        take_large_integers(value)
    }

    fn restore_large_integers(&self, value: &mut Value, digits: &Value) {
        restore_large_integers(value, digits);
    }
}

/// Returns the name of the upstream server's tool in a call of `gateway_call`.
fn called_name<'a>(tool: &str, arguments: &'a Value) -> Option<&'a str> {
    let called = arguments.get("tool").and_then(Value::as_str);
    called.filter(|_| tool == CALL_TOOL)
}

/// Returns an empty object if there are no arguments.
fn object_or_empty(arguments: &Value) -> Value {
    match arguments {
        Value::Null => json!({}),
        given => given.clone(),
    }
}
