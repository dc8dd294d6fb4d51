//! Tools that need something from the client: by a request of ours in the era with a handshake, by
//! a result that asks for more in the other.

use serde_json::{Value, json};

use crate::{
    answers::{Answer, Refusal, code, text},
    talk::Talk,
    upstream::Upstream,
};

/// What the client must bring along when it calls again.
const REQUEST_STATE: &str = "the-state-of-the-first-call";

impl Upstream {
    pub(crate) async fn ask(talk: &Talk, stateless: bool, tool: &str, params: &Value) -> Answer {
        let (method, question) = question(tool, &params["arguments"]);
        if stateless {
            return asked_by_result(method, &question, params);
        }
        let answer = talk.ask(method, &question).await.unwrap_or_default();
        match &answer["error"] {
            Value::Null => Ok(text(answer["result"].to_string())),
            error => {
                let mut result = text(format!("refused: {error}"));
                result["isError"] = json!(true);
                Ok(result)
            }
        }
    }
}

fn asked_by_result(method: &str, question: &Value, params: &Value) -> Answer {
    let answer = &params["inputResponses"]["answer"];
    if answer.is_null() {
        return Ok(json!({
            "resultType": "input_required",
            "inputRequests": { "answer": { "method": method, "params": question } },
            "requestState": REQUEST_STATE,
        }));
    }
    if params["requestState"] != REQUEST_STATE {
        return Err(Refusal::new(
            code::INVALID_PARAMS,
            "requestState is not what it was",
        ));
    }
    Ok(text(answer.to_string()))
}

fn question(tool: &str, arguments: &Value) -> (&'static str, Value) {
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
