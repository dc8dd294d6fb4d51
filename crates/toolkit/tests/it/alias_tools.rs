//! Tests of unlisted tools, the front that they are called through, and the step state that only a
//! tool may set.

use std::sync::Arc;

use deliberate_toolkit::{
    CallOutcome, CallerContext, Principal, Registry, STEP_STATE, Tool, ToolContext, ToolError,
    ToolHints, ToolLimits, ToolMeta, ToolOutput, ToolScope,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    registry_fixture::{RegistryFixture, deps, expect_done},
    test_tools::{EchoTool, NoteTool},
};

/// Stands for `echo` and `note`; without arguments it says so.
struct AliasTool;

/// Accepts any arguments.
#[derive(Debug, Deserialize, JsonSchema)]
struct AnyInput {
    #[serde(flatten)]
    #[schemars(skip)]
    fields: Map<String, Value>,
}

fn meta(name: &'static str) -> ToolMeta {
    ToolMeta {
        name,
        title: "A tool",
        description: "A tool.",
        hints: ToolHints::ADDITIVE,
        asks_model: false,
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

impl Tool for AliasTool {
    type Input = AnyInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("front")
    }

    fn alias_targets(&self) -> Vec<&'static str> {
        vec!["echo", "note"]
    }

    fn resolve_alias(&self, arguments: &Value) -> Option<(String, Value)> {
        let name = arguments.get("tool")?.as_str()?;
        Some((name.to_owned(), arguments["arguments"].clone()))
    }

    async fn run(&self, _: AnyInput, _: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        Ok(output_only(json!({ "help": self.alias_targets() })))
    }
}

/// Answers its own arguments.
struct EchoInputTool;

impl Tool for EchoInputTool {
    type Input = AnyInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("open")
    }

    async fn run(&self, input: AnyInput, _: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        Ok(output_only(Value::Object(input.fields)))
    }
}

fn fixture() -> RegistryFixture {
    let mut house = RegistryFixture::without_model();
    let registry = Registry::new(deps(house.store.clone(), None))
        .with(AliasTool)
        .with(EchoInputTool)
        .with_unlisted(EchoTool)
        .with_unlisted(NoteTool);
    house.registry = Arc::new(registry);
    house
}

fn principal(tools: &[&str]) -> Principal {
    Principal {
        name: Some("ann".into()),
        scope: ToolScope::Only(tools.iter().map(|name| (*name).to_owned()).collect()),
    }
}

async fn call_with_scope(
    fixture: &RegistryFixture,
    tools: &[&str],
    arguments: Value,
) -> Result<CallOutcome, ToolError> {
    let caller = CallerContext {
        principal: principal(tools),
        ..CallerContext::default()
    };
    fixture.registry.call("front", arguments, caller).await
}

fn alias_arguments(tool: &str) -> Value {
    json!({ "tool": tool, "arguments": { "content": "hi" } })
}

#[test]
fn what_is_not_listed_is_there_all_the_same() {
    let house = fixture();
    let listed: Vec<_> = house.registry.list().map(|it| it.meta.name).collect();
    assert_eq!(listed, ["front", "open", "reasoning_resume"]);
    let all: Vec<_> = house.registry.all().map(|it| it.meta.name).collect();
    assert_eq!(all, ["front", "open", "echo", "note", "reasoning_resume"]);
    assert!(house.registry.get("echo").is_some());
}

#[tokio::test]
async fn who_may_call_one_tool_behind_a_front_is_shown_it_and_told_what_it_is() {
    let house = fixture();
    let ann = principal(&["echo"]);
    let shown = ["front", "echo", "note", "open", "nothing"];
    let shown = shown.map(|name| house.registry.is_visible_to(&ann, name));
    assert_eq!(shown, [true, true, false, false, false]);
    let help = expect_done(call_with_scope(&house, &["echo"], json!({})).await);
    assert_eq!(help["help"], json!(["echo", "note"]));
    expect_done(call_with_scope(&house, &["echo"], alias_arguments("echo")).await);
    // Neither the front nor its own name gives access to a tool outside the scope.
    for may in [["echo"], ["front"]] {
        let error = call_with_scope(&house, &may, alias_arguments("note")).await;
        let what = "note".to_owned();
        assert_eq!(error, Err(ToolError::Forbidden { what }), "{may:?}");
    }
    let nothing = call_with_scope(&house, &["open"], json!({})).await;
    assert_eq!(nothing.unwrap_err().code(), "Forbidden");
    assert!(!house.registry.is_visible_to(&principal(&["open"]), "front"));
}

#[tokio::test]
async fn a_call_through_a_front_is_recorded_as_that_of_the_tool() {
    let house = fixture();
    expect_done(house.call("front", alias_arguments("note")).await);
    assert_eq!(house.last_record().await.tool_name, "note");
    let wrong = json!({ "tool": "note", "arguments": { "contnt": "hi" } });
    let error = house.call("front", wrong).await.unwrap_err();
    assert!(error.to_string().contains("contnt"), "{error}");
    let error = house
        .call("front", alias_arguments("nte"))
        .await
        .unwrap_err();
    assert_eq!(error.hint().unwrap(), "Did you mean note?");
}

#[tokio::test]
async fn no_caller_can_say_what_a_tool_says_to_itself() {
    let house = fixture();
    assert_eq!(
        expect_done(house.call("open", json!({ "x": 1 })).await)["x"],
        1
    );
    for (tool, arguments) in [
        ("open", json!({ STEP_STATE: { "left": [] } })),
        (
            "front",
            json!({ "tool": "open", "arguments": { STEP_STATE: 1 } }),
        ),
    ] {
        let error = house.call(tool, arguments).await.unwrap_err();
        assert_eq!(error.code(), "Validation");
        assert!(error.to_string().contains(STEP_STATE), "{error}");
    }
}
