//! A stand-in for what knows other servers: our tool that calls them, and two of their tools.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use deliberate_toolkit::{
    About, Again, Annotations, Call, Guest, Guests, HANDED_ON, Limits, Outcome, StandsFor, Tool,
    ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Our tool that calls those of others; waits where a test wants it to.
#[derive(Clone)]
pub(crate) struct Forward {
    runs: Arc<AtomicUsize>,
    pub(crate) may_end: Arc<Semaphore>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct To {
    tool: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    again: Option<Value>,
}

impl Forward {
    pub(crate) fn new(permits: usize) -> Self {
        Self {
            runs: Arc::default(),
            may_end: Arc::new(Semaphore::new(permits)),
        }
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Tool for Forward {
    type Input = To;
    type Output = Value;

    fn about(&self) -> About {
        About {
            name: "forward",
            title: "Forward",
            description: "Calls a tool of another server.",
            annotations: Annotations::THINKS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, to: To, call: &Call) -> Result<Outcome<Value>, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.may_end.acquire().await.unwrap().forget();
        let result = json!({
            "zebra": to.tool, "content": to.arguments, "again": to.again,
            "modern": call.client().modern,
        });
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

/// Runs one other tool.
pub(crate) struct Through;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Named {
    tool: String,
}

impl Tool for Through {
    type Input = Named;
    type Output = Value;

    fn about(&self) -> About {
        About {
            name: "through",
            title: "Through",
            description: "Runs another tool.",
            annotations: Annotations::THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, named: Named, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let can_run = call.can_run(&named.tool);
        let may_wait = call.may_wait(&named.tool);
        let arguments = json!({ "path": "b" });
        let inner = call.run_tool("a", &named.tool, arguments).await?;
        Ok(Outcome {
            output: json!({ "inner": inner.output, "can": can_run, "waits": may_wait }),
            ..inner
        })
    }
}

pub(crate) struct Two;

impl Guests for Two {
    fn list(&self) -> Vec<Guest> {
        let guest = |name: &str| Guest {
            name: name.into(),
            definition: Arc::new(json!({ "name": name, "inputSchema": { "type": "object" } })),
        };
        vec![guest("fs__read"), guest("fs__write")]
    }

    fn stands_for(
        &self,
        name: &str,
        arguments: &Value,
        again: Option<&Again>,
    ) -> Option<StandsFor> {
        let is_guest = self.list().iter().any(|guest| &*guest.name == name);
        let arguments = match again {
            None if is_guest => json!({ "tool": name, "arguments": arguments }),
            Some(again) if again.state == format!("for {name}") => {
                json!({ "tool": name, "arguments": arguments, "again": again.responses })
            }
            _ => return None,
        };
        Some(StandsFor {
            tool: "forward",
            arguments,
        })
    }

    fn stood_for(&self, tool: &str, arguments: &Value) -> Option<Arc<str>> {
        (tool == "forward").then(|| arguments["tool"].as_str().unwrap().into())
    }
}

/// Works outside and changes something here as well.
pub(crate) struct Changing(pub(crate) Forward);

impl Tool for Changing {
    type Input = To;
    type Output = Value;

    fn about(&self) -> About {
        About {
            name: "changing",
            ..self.0.about()
        }
    }

    async fn run(&self, to: To, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let mut outcome = self.0.run(to, call).await?;
        outcome.changes.push(deliberate_core::Change::SetState {
            key: "k".to_owned(),
            value: None,
            at: call.now(),
        });
        Ok(outcome)
    }

    fn may_run_again(&self) -> bool {
        false
    }
}
