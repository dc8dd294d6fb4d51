//! Tools and a prompt with several rounds: they return `input_required`, and the client repeats the
//! call with the input. Their state travels with the client, sealed.

use std::collections::BTreeMap;

use rmcp::{
    ErrorData,
    model::{
        InputRequest, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions, Tool,
    },
};
use serde_json::{Value, json};

use crate::tools::{FixtureCall, FixtureResult, build_tool, text_result};

const TOOL_PREFIX: &str = "test_input_required_result_";

/// The key of the request for a name.
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
            "Returns a state for the client to send back",
        ),
        (
            "test_input_required_result_multiple_inputs",
            "Asks three things at once",
        ),
        ("test_input_required_result_multi_round", "Asks twice"),
        (
            "test_input_required_result_tampered_state",
            "Rejects a state that was changed",
        ),
        (
            "test_input_required_result_capabilities",
            "Asks only what the client supports",
        ),
        (
            "test_streaming_elicitation",
            "Asks once, with elicitation only",
        ),
    ];
    all.into_iter()
        .map(|(name, about)| build_tool(name, about, &json!({})))
        .collect()
}

pub(crate) fn has_tool(name: &str) -> bool {
    name.starts_with(TOOL_PREFIX) || name == "test_streaming_elicitation"
}

pub(crate) fn call_tool(call: &FixtureCall<'_>, name: &str) -> FixtureResult {
    let given = call.request.input_responses.clone().unwrap_or_default();
    match name.strip_prefix(TOOL_PREFIX).unwrap_or_default() {
        "sampling" => match given.get("capital_question") {
            Some(reply) => text_result(format!("The model says: {}", reply_text(reply))),
            None => require_input([(
                "capital_question",
                sampling_request("What is the capital of France?", 100)?,
            )]),
        },
        "list_roots" => match given
            .get("client_roots")
            .and_then(|it| it["roots"].as_array())
        {
            Some(roots) => text_result(format!("The client has {} roots.", roots.len())),
            None => require_input([("client_roots", roots_request()?)]),
        },
        "request_state" | "tampered_state" => ask_with_request_state(call, name, &given),
        "multiple_inputs" => ask_three_inputs(call, name, &given),
        "multi_round" => ask_twice(call, name, &given),
        "capabilities" => ask_supported_inputs(call, &given),
        _ => match accepted_text(&given, NAME_KEY, "name") {
            Some(name) => text_result(format!("Hello, {name}!")),
            None => require_input([(NAME_KEY, name_request("What is your name?")?)]),
        },
    }
}

fn ask_with_request_state(
    call: &FixtureCall<'_>,
    name: &str,
    given: &InputResponses,
) -> FixtureResult {
    if open_request_state(call, name)?.is_some()
        && given.get("confirm").is_some_and(Value::is_object)
    {
        return text_result("state-ok: what the client kept is what it was given.");
    }
    let confirm = elicitation_request(
        "Please confirm",
        &json!({ "ok": { "type": "boolean" } }),
        "ok",
    )?;
    require_input_with_state(call, name, "confirm", [("confirm", confirm)])
}

fn ask_three_inputs(call: &FixtureCall<'_>, name: &str, given: &InputResponses) -> FixtureResult {
    let all = [NAME_KEY, "greeting", "client_roots"];
    if open_request_state(call, name)?.is_some() && all.iter().all(|key| given.contains_key(*key)) {
        return text_result("All three were answered.");
    }
    let asks = [
        (NAME_KEY, name_request("What is your name?")?),
        ("greeting", sampling_request("Generate a greeting", 50)?),
        ("client_roots", roots_request()?),
    ];
    require_input_with_state(call, name, "three", asks)
}

fn ask_twice(call: &FixtureCall<'_>, name: &str, given: &InputResponses) -> FixtureResult {
    let kept = open_request_state(call, name)?;
    let color = accepted_text(given, "step2", "color");
    match (
        kept.as_deref(),
        accepted_text(given, "step1", "name"),
        color,
    ) {
        (Some(who), _, Some(color)) if who != "nobody" => {
            text_result(format!("{who} likes {color}."))
        }
        (Some("nobody"), Some(who), _) => {
            let question = "Step 2: What is your favorite color?";
            let color =
                elicitation_request(question, &json!({ "color": { "type": "string" } }), "color")?;
            require_input_with_state(call, name, who, [("step2", color)])
        }
        _ => {
            let who = name_request("Step 1: What is your name?")?;
            require_input_with_state(call, name, "nobody", [("step1", who)])
        }
    }
}

fn ask_supported_inputs(call: &FixtureCall<'_>, given: &InputResponses) -> FixtureResult {
    if !given.is_empty() {
        return text_result("The request was answered.");
    }
    let declared = call.context.client_capabilities().unwrap_or_default();
    let mut asks = Vec::new();
    if declared.sampling.is_some() {
        asks.push(("model", sampling_request("Say something", 50)?));
    }
    if declared.elicitation.is_some() {
        asks.push(("person", name_request("What is your name?")?));
    }
    if asks.is_empty() {
        return text_result("The client cannot be asked anything.");
    }
    require_input(asks)
}

/// Returns the text of an accepted answer.
pub(crate) fn accepted_text<'a>(
    given: &'a InputResponses,
    key: &str,
    field: &str,
) -> Option<&'a str> {
    let reply = given.get(key)?;
    if reply["action"] != "accept" {
        return None;
    }
    reply.get("content")?.get(field)?.as_str()
}

/// Returns the text of the client's model.
fn reply_text(reply: &Value) -> &str {
    let text = reply.pointer("/content/text").and_then(Value::as_str);
    text.unwrap_or("nothing")
}

pub(crate) fn name_request(question: &str) -> Result<InputRequest, ErrorData> {
    elicitation_request(question, &json!({ "name": { "type": "string" } }), "name")
}

/// Builds a question for the client's user.
pub(crate) fn elicitation_request(
    message: &str,
    properties: &Value,
    required: &str,
) -> Result<InputRequest, ErrorData> {
    let schema = json!({ "type": "object", "properties": properties, "required": [required] });
    build_input_request(
        "elicitation/create",
        &json!({ "mode": "form", "message": message, "requestedSchema": schema }),
    )
}

/// Builds a result that asks for input and carries no state.
pub(crate) fn input_required<K: Into<String>>(
    asks: impl IntoIterator<Item = (K, InputRequest)>,
) -> InputRequiredResult {
    let asks: BTreeMap<_, _> = asks
        .into_iter()
        .map(|(key, ask)| (key.into(), ask))
        .collect();
    InputRequiredResult::from_input_requests(asks)
}

#[expect(clippy::unnecessary_wraps, reason = "every tool returns this type")]
fn require_input<K: Into<String>>(
    asks: impl IntoIterator<Item = (K, InputRequest)>,
) -> FixtureResult {
    Ok(input_required(asks).into())
}

#[expect(clippy::unnecessary_wraps, reason = "every tool returns this type")]
fn require_input_with_state<K: Into<String>>(
    call: &FixtureCall<'_>,
    name: &str,
    kept: &str,
    asks: impl IntoIterator<Item = (K, InputRequest)>,
) -> FixtureResult {
    let options = SealOptions::new().associated_data(name.as_bytes());
    let mut result = input_required(asks);
    result.request_state = Some(call.state.state_codec.seal_with(kept.as_bytes(), &options));
    Ok(result.into())
}

/// Opens the state that the client sent back, if any; a changed state is rejected.
fn open_request_state(call: &FixtureCall<'_>, name: &str) -> Result<Option<String>, ErrorData> {
    let codec: &RequestStateCodec = &call.state.state_codec;
    let Some(sealed) = &call.request.request_state else {
        return Ok(None);
    };
    let bytes = codec
        .open_with(sealed, name.as_bytes())
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
    Ok(String::from_utf8(bytes).ok())
}

fn sampling_request(question: &str, tokens: u32) -> Result<InputRequest, ErrorData> {
    let content = json!({ "type": "text", "text": question });
    build_input_request(
        "sampling/createMessage",
        &json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": tokens }),
    )
}

fn roots_request() -> Result<InputRequest, ErrorData> {
    build_input_request("roots/list", &json!({}))
}

fn build_input_request(method: &str, params: &Value) -> Result<InputRequest, ErrorData> {
    serde_json::from_value(json!({ "method": method, "params": params }))
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
