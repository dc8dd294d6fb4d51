//! A client handler that accepts every request of a server, in place of a user and a model.

use deliberate_mcp_client::{
    client::{ClientCapabilities, ClientHandler},
    jsonrpc::RpcError,
};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

pub(crate) struct AutoAccept;

impl ClientHandler for AutoAccept {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            sampling: true,
            elicitation: true,
            elicitation_url: false,
            roots: true,
        }
    }

    fn sample<'a>(
        &'a self,
        _server: &'a str,
        _params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async {
            Ok(json!({
                "role": "assistant",
                "content": { "type": "text", "text": "A thought." },
                "model": "none",
                "stopReason": "endTurn",
            }))
        })
    }

    fn elicit<'a>(
        &'a self,
        _server: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async move { Ok(json!({ "action": "accept", "content": fill_form(&params) })) })
    }

    fn list_roots<'a>(&'a self, _server: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async { vec![json!({ "uri": "file:///", "name": "everything" })] })
    }
}

/// Fills in a form with its defaults; required fields without a default get a value of their type.
fn fill_form(params: &Value) -> Value {
    let required = params.pointer("/requestedSchema/required");
    let required: Vec<&str> = (required.and_then(Value::as_array))
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let fields = params.pointer("/requestedSchema/properties");
    let mut form = Map::new();
    for (name, field) in fields.and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = field.get("default") {
            form.insert(name.clone(), default.clone());
        } else if required.contains(&name.as_str()) {
            let value = match field.get("type").and_then(Value::as_str) {
                Some("boolean") => json!(true),
                Some("integer" | "number") => json!(1),
                _ => json!("test"),
            };
            form.insert(name.clone(), value);
        }
    }
    Value::Object(form)
}
