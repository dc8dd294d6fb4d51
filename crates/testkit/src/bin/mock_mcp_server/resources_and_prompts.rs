//! Resources, prompts and completion: a few of each.

use serde_json::{Value, json};

use super::{
    rpc_result::{RpcFailure, RpcResult, code},
    server::MockMcpServer,
    session::ClientExchange,
};

const GREETING: &str = "text://greeting";
const PIXEL: &str = "blob://pixel";
const NOTES: &str = "note://";

impl MockMcpServer {
    pub(crate) fn handle_listing_request(
        &self,
        method: &str,
        params: &Value,
        stateless: bool,
    ) -> RpcResult {
        match method {
            "resources/list" => self.page_of("resources", &resources(), params),
            "resources/templates/list" => self.page_of(
                "resourceTemplates",
                &[json!({
                    "uriTemplate": "note://{name}",
                    "name": "note",
                    "title": "A note",
                    "mimeType": "text/plain",
                })],
                params,
            ),
            "resources/read" => read_resource(params, stateless),
            "prompts/list" => self.page_of("prompts", &prompts(), params),
            "prompts/get" => get_prompt(params),
            "completion/complete" => Ok(complete_argument(params)),
            _ => Err(RpcFailure::unknown_method(method)),
        }
    }

    /// Accepts a subscription and announces a change at once.
    pub(crate) fn subscribe(talk: &ClientExchange, params: &Value) -> Value {
        let (talk, uri) = (talk.clone(), params["uri"].clone());
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            talk.notify("notifications/resources/updated", &json!({ "uri": uri }));
        });
        json!({})
    }
}

fn resources() -> Vec<Value> {
    vec![
        json!({
            "uri": GREETING,
            "name": "greeting",
            "title": "A greeting",
            "mimeType": "text/plain",
            "annotations": { "audience": ["user"], "priority": 0.5 },
            "x-unknown": true,
        }),
        json!({ "uri": PIXEL, "name": "pixel", "mimeType": "image/png", "size": 70 }),
        json!({ "uri": "note://first", "name": "first" }),
    ]
}

fn read_resource(params: &Value, stateless: bool) -> RpcResult {
    let uri = params["uri"].as_str().unwrap_or_default();
    let content = match uri {
        GREETING => json!({ "uri": uri, "mimeType": "text/plain", "text": "Good day." }),
        PIXEL => json!({ "uri": uri, "mimeType": "image/png", "blob": "iVBORw0KGgo=" }),
        _ => {
            let note = uri.strip_prefix(NOTES).filter(|name| !name.is_empty());
            let name = note.ok_or_else(|| not_found(uri, stateless))?;
            json!({ "uri": uri, "mimeType": "text/plain", "text": format!("Note {name}.") })
        }
    };
    Ok(json!({ "contents": [content] }))
}

fn not_found(uri: &str, stateless: bool) -> RpcFailure {
    let code = if stateless {
        code::INVALID_PARAMS
    } else {
        code::RESOURCE_NOT_FOUND
    };
    let mut refusal = RpcFailure::new(code, "Resource not found");
    refusal.data = json!({ "uri": uri });
    refusal
}

fn prompts() -> Vec<Value> {
    vec![
        json!({
            "name": "greet",
            "title": "Greet",
            "description": "Greets somebody.",
            "arguments": [
                { "name": "name", "description": "Whom.", "required": true },
                { "name": "style", "required": false },
            ],
        }),
        json!({ "name": "plain" }),
    ]
}

fn get_prompt(params: &Value) -> RpcResult {
    let said = match params["name"].as_str() {
        Some("greet") => {
            let Some(name) = params["arguments"]["name"].as_str() else {
                return Err(RpcFailure::new(code::INVALID_PARAMS, "name is missing"));
            };
            format!("Greet {name}.")
        }
        Some("plain") => "Say something.".to_owned(),
        _ => return Err(RpcFailure::new(code::INVALID_PARAMS, "no such prompt")),
    };
    Ok(json!({
        "description": "A prompt.",
        "messages": [{ "role": "user", "content": { "type": "text", "text": said } }],
    }))
}

fn complete_argument(params: &Value) -> Value {
    let begun = params["argument"]["value"].as_str().unwrap_or_default();
    let values: Vec<&str> = ["Ada", "Alan", "Barbara", "Grace"]
        .into_iter()
        .filter(|name| name.to_lowercase().starts_with(&begun.to_lowercase()))
        .collect();
    json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } })
}
