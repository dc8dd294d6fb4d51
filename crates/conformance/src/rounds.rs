//! Tools and a prompt that need more than one round: they answer `input_required`, and the client
//! comes again with what was asked for. What they remember travels with the client, sealed.

use std::collections::BTreeMap;

use rmcp::{
    ErrorData,
    model::{
        InputRequest, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions, Tool,
    },
};
use serde_json::{Value, json};

use crate::tools::{Answer, Call, says, tool};

const PREFIX: &str = "test_input_required_result_";

/// What a name is asked for with.
pub(crate) const NAME_KEY: &str = "user_name";

pub(crate) fn tools() -> Vec<Tool> {
    let all = [
        ("test_input_required_result_elicitation", "Asks for a name"),
        ("test_input_required_result_sampling", "Asks a model"),
        (
            "test_input_required_result_list_roots",
            "Asks for the roots",
        ),
        (
            "test_input_required_result_request_state",
            "Gives the client something to keep",
        ),
        (
            "test_input_required_result_multiple_inputs",
            "Asks three things at once",
        ),
        ("test_input_required_result_multi_round", "Asks twice"),
        (
            "test_input_required_result_tampered_state",
            "Takes nothing back that was changed",
        ),
        (
            "test_input_required_result_capabilities",
            "Asks what the client can answer",
        ),
        (
            "test_streaming_elicitation",
            "Asks once, and in no other way",
        ),
    ];
    all.into_iter()
        .map(|(name, about)| tool(name, about, &json!({})))
        .collect()
}

pub(crate) fn has(name: &str) -> bool {
    name.starts_with(PREFIX) || name == "test_streaming_elicitation"
}

pub(crate) fn call(call: &Call<'_>, name: &str) -> Answer {
    let given = call.request.input_responses.clone().unwrap_or_default();
    match name.strip_prefix(PREFIX).unwrap_or_default() {
        "sampling" => match given.get("capital_question") {
            Some(reply) => says(format!("The model says: {}", text_in(reply))),
            None => ask([(
                "capital_question",
                sampling("What is the capital of France?", 100)?,
            )]),
        },
        "list_roots" => match given
            .get("client_roots")
            .and_then(|it| it["roots"].as_array())
        {
            Some(roots) => says(format!("The client has {} roots.", roots.len())),
            None => ask([("client_roots", roots()?)]),
        },
        "request_state" | "tampered_state" => keeps_state(call, name, &given),
        "multiple_inputs" => asks_three_things(call, name, &given),
        "multi_round" => asks_twice(call, name, &given),
        "capabilities" => asks_what_it_may(call, &given),
        _ => match accepted(&given, NAME_KEY, "name") {
            Some(name) => says(format!("Hello, {name}!")),
            None => ask([(NAME_KEY, name_of("What is your name?")?)]),
        },
    }
}

fn keeps_state(call: &Call<'_>, name: &str, given: &InputResponses) -> Answer {
    if opened(call, name)?.is_some() && given.get("confirm").is_some_and(Value::is_object) {
        return says("state-ok: what the client kept is what it was given.");
    }
    let confirm = elicitation(
        "Please confirm",
        &json!({ "ok": { "type": "boolean" } }),
        "ok",
    )?;
    ask_and_keep(call, name, "confirm", [("confirm", confirm)])
}

fn asks_three_things(call: &Call<'_>, name: &str, given: &InputResponses) -> Answer {
    let all = [NAME_KEY, "greeting", "client_roots"];
    if opened(call, name)?.is_some() && all.iter().all(|key| given.contains_key(*key)) {
        return says("All three were answered.");
    }
    let asks = [
        (NAME_KEY, name_of("What is your name?")?),
        ("greeting", sampling("Generate a greeting", 50)?),
        ("client_roots", roots()?),
    ];
    ask_and_keep(call, name, "three", asks)
}

fn asks_twice(call: &Call<'_>, name: &str, given: &InputResponses) -> Answer {
    let kept = opened(call, name)?;
    let color = accepted(given, "step2", "color");
    match (kept.as_deref(), accepted(given, "step1", "name"), color) {
        (Some(who), _, Some(color)) if who != "nobody" => says(format!("{who} likes {color}.")),
        (Some("nobody"), Some(who), _) => {
            let question = "Step 2: What is your favorite color?";
            let color = elicitation(question, &json!({ "color": { "type": "string" } }), "color")?;
            ask_and_keep(call, name, who, [("step2", color)])
        }
        _ => {
            let who = name_of("Step 1: What is your name?")?;
            ask_and_keep(call, name, "nobody", [("step1", who)])
        }
    }
}

fn asks_what_it_may(call: &Call<'_>, given: &InputResponses) -> Answer {
    if !given.is_empty() {
        return says("What was asked is answered.");
    }
    let declared = call.context.client_capabilities().unwrap_or_default();
    let mut asks = Vec::new();
    if declared.sampling.is_some() {
        asks.push(("model", sampling("Say something", 50)?));
    }
    if declared.elicitation.is_some() {
        asks.push(("person", name_of("What is your name?")?));
    }
    if asks.is_empty() {
        return says("The client can't be asked anything.");
    }
    ask(asks)
}

/// What was given under a key, if it was accepted and has that text.
pub(crate) fn accepted<'a>(given: &'a InputResponses, key: &str, field: &str) -> Option<&'a str> {
    let reply = given.get(key)?;
    if reply["action"] != "accept" {
        return None;
    }
    reply.get("content")?.get(field)?.as_str()
}

/// What the client's model said.
fn text_in(reply: &Value) -> &str {
    let text = reply.pointer("/content/text").and_then(Value::as_str);
    text.unwrap_or("nothing")
}

/// Asks for a name.
pub(crate) fn name_of(question: &str) -> Result<InputRequest, ErrorData> {
    elicitation(question, &json!({ "name": { "type": "string" } }), "name")
}

/// A question for the person in front of the client.
pub(crate) fn elicitation(
    message: &str,
    properties: &Value,
    required: &str,
) -> Result<InputRequest, ErrorData> {
    let schema = json!({ "type": "object", "properties": properties, "required": [required] });
    request(
        "elicitation/create",
        &json!({ "mode": "form", "message": message, "requestedSchema": schema }),
    )
}

/// The result that asks, and gives nothing to keep.
pub(crate) fn asking<K: Into<String>>(
    asks: impl IntoIterator<Item = (K, InputRequest)>,
) -> InputRequiredResult {
    let asks: BTreeMap<_, _> = asks
        .into_iter()
        .map(|(key, ask)| (key.into(), ask))
        .collect();
    InputRequiredResult::from_input_requests(asks)
}

#[expect(clippy::unnecessary_wraps, reason = "it is what every tool answers")]
fn ask<K: Into<String>>(asks: impl IntoIterator<Item = (K, InputRequest)>) -> Answer {
    Ok(asking(asks).into())
}

#[expect(clippy::unnecessary_wraps, reason = "it is what every tool answers")]
fn ask_and_keep<K: Into<String>>(
    call: &Call<'_>,
    name: &str,
    kept: &str,
    asks: impl IntoIterator<Item = (K, InputRequest)>,
) -> Answer {
    let options = SealOptions::new().associated_data(name.as_bytes());
    let mut result = asking(asks);
    result.request_state = Some(call.state.seal.seal_with(kept.as_bytes(), &options));
    Ok(result.into())
}

/// What the client kept, if it brought anything; changed, it is refused.
fn opened(call: &Call<'_>, name: &str) -> Result<Option<String>, ErrorData> {
    let codec: &RequestStateCodec = &call.state.seal;
    let Some(sealed) = &call.request.request_state else {
        return Ok(None);
    };
    let bytes = codec
        .open_with(sealed, name.as_bytes())
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
    Ok(String::from_utf8(bytes).ok())
}

fn sampling(question: &str, tokens: u32) -> Result<InputRequest, ErrorData> {
    let content = json!({ "type": "text", "text": question });
    request(
        "sampling/createMessage",
        &json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": tokens }),
    )
}

fn roots() -> Result<InputRequest, ErrorData> {
    request("roots/list", &json!({}))
}

fn request(method: &str, params: &Value) -> Result<InputRequest, ErrorData> {
    serde_json::from_value(json!({ "method": method, "params": params }))
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
