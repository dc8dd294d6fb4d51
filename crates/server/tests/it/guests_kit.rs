//! A stand-in for what knows other servers: guests whose definitions and answers have fields that
//! nobody here knows, in an order of their own.

use std::sync::Arc;

use deliberate_reasoning::register;
use deliberate_server::SubscriptionLimits;
use deliberate_toolkit::{
    About, Again, Annotations, Call, Guest, Guests, HANDED_ON, Limits, Outcome, Registry,
    StandsFor, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::wire::House;

/// How a guest describes itself.
pub(crate) const ECHO: &str = concat!(
    r#"{"vendorTop":{"z":1,"a":2},"name":"far__echo","icons":[{"weird":1,"src":"x:y"}],"#,
    r#""inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
    r#""properties":{"zz":{"type":"string","x-mcp-header":"Zone"},"aa":{"x-note":[2,1]}},"#,
    r#""required":["zz"]},"annotations":{"vendorHint":5,"readOnlyHint":true},"title":null}"#,
);

/// What it answers.
pub(crate) const ANSWER: &str = concat!(
    r#"{"zeta":1,"content":[{"vendor":{"b":1,"a":2},"type":"text","text":"hi","extra":true},"#,
    r#"{"type":"hologram","data":"x"}],"_meta":{"y":1,"x":2},"isError":false,"#,
    r#""structuredContent":{"b":1.5,"a":[3,1]}}"#,
);

/// What it asks for, of a client of the later era.
pub(crate) const INPUT: &str = concat!(
    r#"{"vendor":1,"resultType":"input_required","inputRequests":{"who":{"params":"#,
    r#"{"vendor":2,"message":"Who?","requestedSchema":{"type":"object","properties":{}}},"#,
    r#""method":"elicitation/create"}},"requestState":"far state"}"#,
);

/// Lets calls of `far__wait` end, one a permit.
pub(crate) static MAY_END: Semaphore = Semaphore::const_new(0);

struct Gateway;

#[derive(Debug, Deserialize, JsonSchema)]
struct To {
    tool: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    again: Option<Value>,
}

impl Tool for Gateway {
    type Input = To;
    type Output = Value;

    fn about(&self) -> About {
        About {
            name: "gateway_call",
            title: "Call",
            description: "Calls a tool of another server.",
            annotations: Annotations::THINKS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, to: To, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let result = match to.tool.as_str() {
            "far__ask" => ask(&to, call).await,
            "far__wait" => {
                MAY_END.acquire().await.unwrap().forget();
                serde_json::from_str(ANSWER).unwrap()
            }
            "far__never" => std::future::pending().await,
            "far__big" => json!({ "content": [{ "type": "text", "text": "x".repeat(5_000_000) }] }),
            _ => {
                if to.arguments["progress"] == true {
                    call.progress(1.0, Some(2.0), "half");
                }
                serde_json::from_str(ANSWER).unwrap()
            }
        };
        Ok(Outcome {
            output: json!({ HANDED_ON: result }),
            changes: Vec::new(),
            session: None,
        })
    }

    fn may_run_again(&self) -> bool {
        false
    }
}

/// Asks the user, in the way of the client's era.
async fn ask(to: &To, call: &Call) -> Value {
    let client = call.client();
    if client.modern {
        return match &to.again {
            None => serde_json::from_str(INPUT).unwrap(),
            Some(again) => text(&again.to_string()),
        };
    }
    let Some(requests) = client.requests.as_ref().filter(|_| client.elicitation) else {
        return text("nobody can be asked");
    };
    let params = json!({
        "vendor": 1, "message": "Who?", "requestedSchema": { "type": "object", "properties": {} },
    });
    match requests.request("elicitation/create", params).await {
        Ok(answer) => text(&answer.to_string()),
        Err(refused) => text(&refused.to_string()),
    }
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

struct Far;

const NAMES: [&str; 5] = [
    "far__echo",
    "far__ask",
    "far__never",
    "far__wait",
    "far__big",
];

impl Guests for Far {
    fn list(&self) -> Vec<Guest> {
        let guest = |name: &str| {
            let definition = match name {
                "far__echo" => serde_json::from_str(ECHO).unwrap(),
                name => json!({ "name": name, "inputSchema": { "type": "object" } }),
            };
            Guest {
                name: name.into(),
                definition: Arc::new(definition),
            }
        };
        NAMES.map(guest).into()
    }

    fn stands_for(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&Again>,
    ) -> Option<StandsFor> {
        let mut call = json!({ "tool": name, "arguments": arguments });
        match again {
            None if NAMES.contains(&name) => {}
            Some(again) if again.state == "far state" => {
                call["again"] = again.responses.clone();
            }
            _ => return None,
        }
        Some(StandsFor {
            tool: "gateway_call",
            arguments: call,
        })
    }
}

pub(crate) fn furnish(registry: Registry) -> Registry {
    register(registry).with(Gateway).with_guests(Arc::new(Far))
}

pub(crate) fn house() -> House {
    House::with(SubscriptionLimits::default(), furnish)
}

/// The answer as a client of that era reads it.
pub(crate) fn answer(modern: bool) -> String {
    if modern {
        ANSWER.replacen('{', r#"{"resultType":"complete","#, 1)
    } else {
        ANSWER.to_owned()
    }
}
