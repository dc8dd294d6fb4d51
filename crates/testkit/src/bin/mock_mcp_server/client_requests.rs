//! Tools that need input from the client: by a server request in the handshake revisions, by an
//! incomplete result in the stateless revision.

use serde_json::{Value, json};

use super::{
    rpc_result::{RpcFailure, RpcResult, code, text_result},
    server::MockMcpServer,
    session::ClientExchange,
};

/// The state that the client must send back with the second call.
const REQUEST_STATE: &str = "the-state-of-the-first-call";

impl MockMcpServer {
    pub(crate) async fn ask_client(
        exchange: &ClientExchange,
        stateless: bool,
        tool: &str,
        params: &Value,
    ) -> RpcResult {
        let (method, question) = client_request(tool, &params["arguments"]);
        if stateless {
            return input_required_result(method, &question, params);
        }
        let answer = exchange
            .request(method, &question)
            .await
            .unwrap_or_default();
        match &answer["error"] {
            Value::Null => Ok(text_result(answer["result"].to_string())),
            error => {
                let mut result = text_result(format!("refused: {error}"));
                result["isError"] = json!(true);
                Ok(result)
            }
        }
    }
}

fn input_required_result(method: &str, question: &Value, params: &Value) -> RpcResult {
    let answer = &params["inputResponses"]["answer"];
    if answer.is_null() {
        return Ok(json!({
            "resultType": "input_required",
            "inputRequests": { "answer": { "method": method, "params": question } },
            "requestState": REQUEST_STATE,
        }));
    }
    if params["requestState"] != REQUEST_STATE {
        return Err(RpcFailure::new(
            code::INVALID_PARAMS,
            "requestState differs from the one sent",
        ));
    }
    Ok(text_result(answer.to_string()))
}

fn client_request(tool: &str, arguments: &Value) -> (&'static str, Value) {
    let said = |name: &str| arguments[name].as_str().unwrap_or("?").to_owned();
    match tool {
        "ask" => (
            "elicitation/create",
            json!({
                "mode": "form",
                "message": said("message"),
                "requestedSchema": {
                    "type": "object",
                    "properties": { "answer": { "type": "string" } },
                    "required": ["answer"],
                },
            }),
        ),
        "sample" => (
            "sampling/createMessage",
            json!({
                "messages": [
                    { "role": "user", "content": { "type": "text", "text": said("prompt") } },
                ],
                "maxTokens": 100,
            }),
        ),
        _ => ("roots/list", json!({})),
    }
}
