//! A small registry and HTTP helpers.

use std::path::Path;

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use deliberate_llm::{ChatMessage, ModelReply, ModelRequest, PlainText, Purpose, TokenUsage};
use deliberate_testkit::fixtures::{ScriptedModel, open_store, registry_deps, reply};
use deliberate_toolkit::{
    Registry, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use http_body_util::BodyExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// A registry with two tools and a model with a constant reply, on a store in that file.
pub(crate) fn registry(file: &Path) -> Registry {
    let model = ScriptedModel::from_fn(|_, _| {
        Ok(ModelReply {
            model: Some("m".to_owned()),
            usage: TokenUsage {
                prompt_tokens: 7,
                completion_tokens: 3,
                cost_usd: Some(0.25),
            },
            ..reply("{\"word\":\"yes\"}")
        })
    });
    Registry::new(registry_deps(open_store(file), Some(model)))
        .with(AskModelTool)
        .with(PanicTool)
}

struct AskModelTool;

struct PanicTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NoInput {}

fn tool_meta(name: &'static str, title: &'static str) -> ToolMeta {
    ToolMeta {
        name,
        title,
        description: "Does what its test needs.",
        hints: ToolHints::ASKS_MODEL,
        asks_model: true,
        limits: ToolLimits::default(),
    }
}

fn output_only(output: Value) -> ToolOutput<Value> {
    ToolOutput {
        output,
        changes: Vec::new(),
        session: None,
    }
}

impl Tool for AskModelTool {
    type Input = NoInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        tool_meta("ponder", "Ponder & <b>wonder</b>")
    }

    async fn run(&self, _: NoInput, call: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        let ask = ModelRequest {
            key: "ponder".to_owned(),
            purpose: Purpose::new("ponder"),
            system: "Think.".to_owned(),
            messages: vec![ChatMessage::user("why?")],
            schema: json!({ "type": "object" }),
            plain_text: PlainText::IsTheAnswer,
            max_tokens: 100,
            temperature: 0.0,
            ..ModelRequest::default()
        };
        let answer = call.ask::<Value>(ask, None).await?;
        Ok(output_only(answer.value))
    }
}

impl Tool for PanicTool {
    type Input = NoInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        tool_meta("stumble", "Stumble")
    }

    async fn run(&self, _: NoInput, _: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        panic!("as it was told")
    }
}

/// A complete response.
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

/// Sends a `GET`; `prepare` may change the request.
pub(crate) async fn get(
    router: &Router,
    path: &str,
    prepare: impl FnOnce(&mut Request<Body>),
) -> TestResponse {
    let mut request = Request::get(path).body(Body::empty()).unwrap();
    prepare(&mut request);
    let answer = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    TestResponse {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

/// Sets the `Accept` header.
pub(crate) fn with_accept(kind: &'static str) -> impl FnOnce(&mut Request<Body>) {
    move |request| {
        request
            .headers_mut()
            .insert("accept", http::HeaderValue::from_static(kind));
    }
}
