//! Reads of sessions are answered while other calls hold every permit.

use std::future::pending;

use deliberate_core::Mode;
use deliberate_toolkit::{
    CallLimits, CallOutcome, CallerContext, Tool, ToolContext, ToolError, ToolHints, ToolLimits,
    ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::test_registry::ReasoningTestRegistry;

/// A tool whose calls never end.
struct HangingTool;

#[derive(Deserialize, JsonSchema)]
struct HangingInput {}

#[derive(Serialize, JsonSchema)]
struct HangingOutput {}

impl Tool for HangingTool {
    type Input = HangingInput;
    type Output = HangingOutput;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "hang",
            title: "Hang",
            description: "Never answers.",
            hints: ToolHints::ADDITIVE,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        _: HangingInput,
        _: &ToolContext,
    ) -> Result<ToolOutput<HangingOutput>, ToolError> {
        pending().await
    }
}

#[tokio::test]
async fn sessions_and_their_usage_are_listed_while_every_permit_for_work_is_taken() {
    let bounds = CallLimits {
        running_calls: 1,
        waiting_calls: 0,
        ..CallLimits::default()
    };
    let desk = ReasoningTestRegistry::with_tool(bounds, HangingTool);
    desk.add_session(Mode::Linear, [("a", "b")]).await;
    let registry = desk.registry.clone();
    let hanging = {
        let registry = registry.clone();
        tokio::spawn(async move {
            let called = registry.call("hang", json!({}), CallerContext::default());
            called.await
        })
    };
    while registry.running_and_waiting().0 == 0 {
        tokio::task::yield_now().await;
    }
    let call = async |arguments| {
        let caller = CallerContext::default();
        registry.call("reasoning_sessions", arguments, caller).await
    };
    for arguments in [
        json!({}),
        json!({ "action": "list" }),
        json!({ "action": "usage" }),
    ] {
        let answer = call(arguments.clone()).await;
        assert!(
            matches!(answer, Ok(CallOutcome::Done(_))),
            "{arguments}: {answer:?}"
        );
    }
    let rename = json!({ "action": "rename", "session_id": "s", "title": "t" });
    let refused = call(rename).await.unwrap_err();
    assert_eq!(refused.code(), "Overloaded", "what changes something waits");
    hanging.abort();
}
