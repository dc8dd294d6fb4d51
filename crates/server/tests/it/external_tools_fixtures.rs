//! A mock gateway: external tools whose definitions and answers have unknown fields in an unusual
//! order.

use std::sync::Arc;

use deliberate_json_schema::{
    restore_large_integers, stringify_large_integers, take_large_integers,
};
use deliberate_reasoning::register;
use deliberate_server::SubscriptionLimits;
use deliberate_toolkit::{
    AliasTarget, ExternalTool, ExternalTools, InputReply, RAW_RESULT, Registry, Tool, ToolContext,
    ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::test_server::TestServer;

/// The definition of an external tool.
pub(crate) const ECHO: &str = concat!(
    r#"{"vendorTop":{"z":1,"a":2},"name":"far__echo","icons":[{"weird":1,"src":"x:y"}],"#,
    r#""inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
    r#""properties":{"zz":{"type":"string","x-mcp-header":"Zone"},"aa":{"x-note":[2,1]}},"#,
    r#""required":["zz"]},"annotations":{"vendorHint":5,"readOnlyHint":true},"title":null}"#,
);

/// Its result.
pub(crate) const ECHO_RESULT: &str = concat!(
    r#"{"zeta":1,"content":[{"vendor":{"b":1,"a":2},"type":"text","text":"hi","extra":true},"#,
    r#"{"type":"hologram","data":"x"}],"_meta":{"y":1,"x":2},"isError":false,"#,
    r#""structuredContent":{"b":1.5,"a":[3,1]}}"#,
);

/// Its request for input from a client of a stateless revision.
pub(crate) const INPUT_REQUIRED_RESULT: &str = concat!(
    r#"{"vendor":1,"resultType":"input_required","inputRequests":{"who":{"params":"#,
    r#"{"vendor":2,"message":"Who?","requestedSchema":{"type":"object","properties":{}}},"#,
    r#""method":"elicitation/create"}},"requestState":"far state"}"#,
);

/// Each permit ends one call of `far__wait`.
pub(crate) static RELEASE_WAITING: Semaphore = Semaphore::const_new(0);

/// Each permit ends one call of `far__copy` that waits.
pub(crate) static RELEASE_COPY: Semaphore = Semaphore::const_new(0);

struct MockGateway;

#[derive(Debug, Deserialize, JsonSchema)]
struct MockGatewayInput {
    tool: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    again: Option<Value>,
}

impl Tool for MockGateway {
    type Input = MockGatewayInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "gateway_call",
            title: "Call",
            description: "Calls a tool of another server.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        to: MockGatewayInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let result = match to.tool.as_str() {
            "far__ask" => ask_user(&to, call).await,
            "far__wait" => {
                RELEASE_WAITING.acquire().await.unwrap().forget();
                serde_json::from_str(ECHO_RESULT).unwrap()
            }
            "far__copy" => {
                if to.arguments["wait"] == true {
                    RELEASE_COPY.acquire().await.unwrap().forget();
                }
                json!({ "content": [], "structuredContent": to.arguments })
            }
            "far__never" => std::future::pending().await,
            "far__big" => json!({ "content": [{ "type": "text", "text": "x".repeat(5_000_000) }] }),
            _ => {
                if to.arguments["progress"] == true {
                    call.progress(1.0, Some(2.0), "half");
                }
                serde_json::from_str(ECHO_RESULT).unwrap()
            }
        };
        Ok(ToolOutput {
            output: json!({ RAW_RESULT: result }),
            changes: Vec::new(),
            session: None,
        })
    }

    fn is_replayable(&self) -> bool {
        false
    }
}

/// Requests input from the user in the form of the client's era.
async fn ask_user(to: &MockGatewayInput, call: &ToolContext) -> Value {
    let client = call.client_features();
    if client.modern {
        return match &to.again {
            None => serde_json::from_str(INPUT_REQUIRED_RESULT).unwrap(),
            Some(again) => text_result(&again.to_string()),
        };
    }
    let Some(requests) = client.requests.as_ref().filter(|_| client.elicitation) else {
        return text_result("nobody can be asked");
    };
    let params = json!({
        "vendor": 1, "message": "Who?", "requestedSchema": { "type": "object", "properties": {} },
    });
    match requests.request("elicitation/create", params).await {
        Ok(answer) => text_result(&answer.to_string()),
        Err(refused) => text_result(&refused.to_string()),
    }
}

fn text_result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

struct MockExternalTools;

const TOOL_NAMES: [&str; 6] = [
    "far__echo",
    "far__copy",
    "far__ask",
    "far__never",
    "far__wait",
    "far__big",
];

impl ExternalTools for MockExternalTools {
    fn list(&self) -> Vec<ExternalTool> {
        let guest = |name: &str| {
            let definition = match name {
                "far__echo" => serde_json::from_str(ECHO).unwrap(),
                name => json!({ "name": name, "inputSchema": { "type": "object" } }),
            };
            ExternalTool {
                name: name.into(),
                definition: Arc::new(definition),
            }
        };
        TOOL_NAMES.map(guest).into()
    }

    fn resolve(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&InputReply>,
    ) -> Option<AliasTarget> {
        let mut call = json!({ "tool": name, "arguments": arguments });
        match again {
            None if TOOL_NAMES.contains(&name) => {}
            Some(again) if again.state == "far state" => {
                call["again"] = again.responses.clone();
            }
            _ => return None,
        }
        Some(AliasTarget {
            tool: "gateway_call",
            arguments: call,
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

pub(crate) fn register_with_external(registry: Registry) -> Registry {
    register(registry)
        .with(MockGateway)
        .with_external_tools(Arc::new(MockExternalTools))
}

pub(crate) fn server_with_external() -> TestServer {
    TestServer::with_registry(SubscriptionLimits::default(), register_with_external)
}

/// The answer in the form of the era.
pub(crate) fn expected_result(modern: bool) -> String {
    if modern {
        ECHO_RESULT.replacen('{', r#"{"resultType":"complete","#, 1)
    } else {
        ECHO_RESULT.to_owned()
    }
}
