//! Requests input in the answer to a call, as in revision 2026-07-28: the client asks its own model
//! and sends the call again with the replies.
//!
//! The client returns only the id of the suspended call. Everything else is in the store, so an
//! attacker would have to guess the id, and it is valid only for one owner, one tool and one set of
//! arguments.

#![expect(
    deprecated,
    reason = "asking the client's model is deprecated in 2026-07-28, and the only way to ask it"
)]

use deliberate_llm::system_with_schema;
use deliberate_toolkit::{BackgroundCall, ClientPrompt, NeedsReply};
use rmcp::model::{CreateMessageRequest, InputRequest, InputRequests, InputResponses};
use serde_json::{Map, Value, json};

use super::sampling::sampling_params;

/// The model requests of a suspended call as requests to the client.
pub(super) fn input_requests(needs: NeedsReply) -> InputRequests {
    let asks = needs.asks.into_iter();
    asks.map(|ask| (ask.key.clone(), sampling_request(ask)))
        .collect()
}

fn sampling_request(ask: ClientPrompt) -> InputRequest {
    let system = system_with_schema(&ask.system, &ask.schema);
    let params = sampling_params(ask.messages, system, ask.max_tokens, ask.temperature);
    InputRequest::CreateMessage(CreateMessageRequest::new(params))
}

/// The arguments that resume a call with the client's replies. Replies are taken in the order of
/// the requests up to the first missing one, which is requested again.
pub(super) fn resume_arguments(
    id: &str,
    left: &BackgroundCall,
    responses: &InputResponses,
) -> Value {
    let replies: Vec<Value> = left
        .asks
        .iter()
        .map_while(|key| responses.get(key).map(reply_text))
        .collect();
    json!({ "id": id, "replies": replies })
}

/// The text of a message. A value that is not a message has none and is requested again, like any
/// unusable reply.
fn reply_text(response: &Value) -> Value {
    let text_of = |block: &Map<String, Value>| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        let text = block.get("text").and_then(Value::as_str);
        text.filter(|_| is_text).map(str::to_owned)
    };
    let text = match response.get("content") {
        Some(Value::Object(block)) => text_of(block),
        Some(Value::Array(blocks)) => {
            let texts: Vec<String> = blocks
                .iter()
                .filter_map(Value::as_object)
                .filter_map(text_of)
                .collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    };
    Value::String(text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::reply_text;

    #[test]
    fn the_text_of_a_message_is_the_reply_and_rubbish_has_none() {
        for (response, text) in [
            (json!({ "content": { "type": "text", "text": "a" } }), "a"),
            (
                json!({ "content": [
                    { "type": "text", "text": "a" },
                    { "type": "image", "data": "x" },
                    { "type": "text", "text": "b" },
                ] }),
                "a\nb",
            ),
            (json!({ "content": { "type": "image", "text": "a" } }), ""),
            (json!({ "content": "a" }), ""),
            (json!({}), ""),
            (json!(null), ""),
            (json!([1]), ""),
        ] {
            assert_eq!(reply_text(&response), text, "{response}");
        }
    }
}
