//! Tools that need something from the client: by a request of ours in the era with a handshake, by
//! a result that asks for more in the other.

use serde_json::{Value, json};

use super::{
    rpc_result::{RpcFailure, RpcResult, code, text_result},
    server::MockMcpServer,
    session::ClientExchange,
};

/// What the client must bring along when it calls again.
const REQUEST_STATE: &str = "the-state-of-the-first-call";

impl MockMcpServer {
    pub(crate) async fn ask_client(
        talk: &ClientExchange,
        stateless: bool,
        tool: &str,
        params: &Value,
    ) -> RpcResult {
        let (method, question) = client_request(tool, &params["arguments"]);
        if stateless {
            return input_required_result(method, &question, params);
        }
        let answer = talk.request(method, &question).await.unwrap_or_default();
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
            "requestState is not what it was",
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
