//! Tests of tools that run other tools within their own call.

use std::sync::Arc;

use deliberate_core::SystemIds;
use deliberate_llm::ChatModel;
use deliberate_testkit::fixtures::progress_caller;
use deliberate_toolkit::{
    CallerContext, ErrorCode, Principal, Registry, RegistryDeps, Tool, ToolContext, ToolError,
    ToolHints, ToolLimits, ToolMeta, ToolOutput, ToolScope,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{ALL, RegistryFixture, deps, expect_done, expect_needs_reply},
    scripted_model::{ScriptedModel, reply_with_cost},
    steps::SteppingTool,
    test_tools::{AskOnceTool, NoteTool, ProgressTool},
};

/// Runs other tools concurrently and returns their changes.
struct NestedRunner(&'static str);

#[derive(Debug, Deserialize, JsonSchema)]
struct NestedPlan {
    inner: Vec<NestedCall>,
    #[serde(default)]
    fail: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NestedCall {
    key: String,
    tool: String,
    arguments: Value,
}

impl Tool for NestedRunner {
    type Input = NestedPlan;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: self.0,
            title: "Runs others",
            description: "Runs other tools.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        plan: NestedPlan,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let runs = plan
            .inner
            .iter()
            .map(|inner| call.run_tool(&inner.key, &inner.tool, inner.arguments.clone()));
        let mut answers = Vec::new();
        let mut changes = Vec::new();
        for inner in futures::future::join_all(runs).await {
            let inner = inner?;
            answers.push(inner.output);
            changes.extend(inner.changes);
        }
        if plan.fail {
            return Err(ToolError::Custom {
                code: ErrorCode::ToolFailed,
                message: "it failed afterwards".to_owned(),
                hint: None,
            });
        }
        let can_run: Vec<bool> = ["note", "outer", "reasoning_resume", "nothing"]
            .map(|name| call.can_run(name))
            .to_vec();
        Ok(ToolOutput {
            output: json!({ "answers": answers, "can_run": can_run }),
            changes,
            session: None,
        })
    }
}

fn registry(parts: RegistryDeps) -> Registry {
    Registry::new(parts)
        .with(NestedRunner("outer"))
        .with(NestedRunner("middle"))
        .with(NoteTool)
        .with(AskOnceTool)
        .with(ProgressTool)
        .with(SteppingTool::default())
}

fn fixture(model: Option<Arc<dyn ChatModel>>) -> RegistryFixture {
    let mut house = RegistryFixture::without_model();
    house.registry = Arc::new(registry(RegistryDeps {
        ids: Arc::new(SystemIds),
        ..deps(house.store.clone(), model)
    }));
    house
}

fn run(inner: &[(&str, &str, Value)]) -> Value {
    let inner: Vec<Value> = inner
        .iter()
        .map(|(key, tool, arguments)| json!({ "key": key, "tool": tool, "arguments": arguments }))
        .collect();
    json!({ "inner": inner })
}

fn note(text: &str) -> Value {
    json!({ "content": text })
}

async fn expect_error(arguments: Value) -> ToolError {
    fixture(None).call("outer", arguments).await.unwrap_err()
}

#[tokio::test]
async fn what_inner_tools_change_is_committed_with_the_call_in_one() {
    let store = RecordingStore::new();
    let registry = registry(deps(store.clone(), None));
    let arguments = run(&[("a", "note", note("one")), ("b", "note", note("two"))]);
    let output = expect_done(
        registry
            .call("outer", arguments, CallerContext::default())
            .await,
    );
    assert_eq!(output["answers"][0]["content"], "one");
    assert_eq!(output["answers"][1]["content"], "two");
    let commits = store.commits();
    assert_eq!(commits.len(), 1, "{commits:?}");
    assert_eq!(
        commits[0].len(),
        5,
        "a session and a thought each, and the record"
    );
    let records = store.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].tool_name, "outer");
}

#[tokio::test]
async fn nothing_of_an_inner_tool_is_kept_if_the_outer_fails() {
    let house = fixture(None);
    let mut arguments = run(&[("a", "note", note("lost"))]);
    arguments["fail"] = json!(true);
    let error = house.call("outer", arguments).await.unwrap_err();
    assert_eq!(error.code(), "ToolFailed");
    assert_eq!(house.store.sessions(ALL).await.unwrap(), []);
}

#[tokio::test]
async fn the_arguments_of_an_inner_tool_are_checked() {
    let error = expect_error(run(&[("a", "note", json!({ "contend": "x" }))])).await;
    assert_eq!(error.code(), "Validation");
    assert!(error.to_string().contains("content"), "{error}");
}

#[tokio::test]
async fn an_unknown_inner_tool_is_told_with_the_nearest() {
    let error = expect_error(run(&[("a", "noted", note("x"))])).await;
    assert!(
        matches!(&error, ToolError::UnknownTool { nearest: Some(near), .. } if near == "note"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_tool_runs_neither_itself_nor_resuming_nor_a_chain_of_tools() {
    let chain = run(&[("a", "middle", run(&[("b", "note", note("x"))]))]);
    for arguments in [
        run(&[("a", "outer", run(&[]))]),
        run(&[("a", "reasoning_resume", json!({ "id": "x" }))]),
        chain,
    ] {
        let error = expect_error(arguments).await;
        assert_eq!(error.code(), "NotWithin", "{error}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn what_can_be_run_is_known_before() {
    let output = expect_done(fixture(None).call("outer", run(&[])).await);
    assert_eq!(output["can_run"], json!([true, false, false, false]));
}

#[tokio::test]
async fn an_inner_tool_is_for_those_who_may_call_it() {
    let house = fixture(None);
    let scope = ToolScope::Only(["outer".to_owned()].into());
    let caller = CallerContext {
        principal: Principal { name: None, scope },
        ..CallerContext::default()
    };
    let arguments = run(&[("a", "note", note("x"))]);
    let error = house.registry.call("outer", arguments, caller).await;
    assert_eq!(
        error,
        Err(ToolError::Forbidden {
            what: "note".to_owned()
        })
    );
    assert_eq!(house.store.sessions(ALL).await.unwrap(), []);
}

#[tokio::test]
async fn a_tool_whose_work_goes_on_is_not_taken_for_done_after_its_first_leg() {
    let house = fixture(None);
    let climb = |last: u32| run(&[("a", "climb", json!({ "step": 1, "last": last }))]);
    let error = house.call("outer", climb(3)).await.unwrap_err();
    assert_eq!(error.code(), "NotWithin");
    assert!(
        error.to_string().contains("climb needs more than one step"),
        "{error}"
    );
    assert_eq!(house.store.sessions(ALL).await.unwrap(), []);
    // Work that fits into one step is done.
    let output = expect_done(house.call("outer", climb(1)).await);
    assert_eq!(output["answers"][0]["step"], 1);
    assert_eq!(house.store.sessions(ALL).await.unwrap().len(), 1);
}

#[tokio::test]
async fn asks_of_the_same_name_get_each_their_own_reply() {
    let house = fixture(None);
    let arguments = run(&[
        ("a", "ponder", note("tea?")),
        ("b", "ponder", note("milk?")),
    ]);
    let needs = expect_needs_reply(house.call("outer", arguments).await);
    let questions: Vec<_> = needs
        .asks
        .iter()
        .map(|ask| (ask.key.as_str(), ask.messages[0].text.as_str()))
        .collect();
    assert_eq!(questions, [("a/view", "tea?"), ("b/view", "milk?")]);
    assert_eq!(house.thoughts().await, []);

    // The replies come one by one: the first request is not sent again.
    let view = |text: &str| json!([{ "view": text, "percent": 50 }]);
    let second = expect_needs_reply(house.resume(&needs.id, view("green")).await);
    let keys: Vec<_> = second.asks.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["b/view"]);
    let output = expect_done(house.resume(&needs.id, view("a little")).await);
    assert_eq!(output["answers"][0]["content"], "green");
    assert_eq!(output["answers"][1]["content"], "a little");
    assert_eq!(house.thoughts().await.len(), 2);
}

#[tokio::test]
async fn what_inner_tools_spend_and_tell_counts_for_the_call() {
    let reply = || reply_with_cost(r#"{"view":"yes","percent":85}"#, 10, Some(0.5));
    let house = fixture(Some(ScriptedModel::new([reply(), reply()])));
    let (caller, heard) = progress_caller();
    let steps = json!({ "numbers": [1.0, 1.0], "pause_secs": 0 });
    let arguments = run(&[
        ("a", "ponder", note("tea?")),
        ("b", "ponder", note("milk?")),
        ("c", "steps", steps),
    ]);
    expect_done(house.registry.call("outer", arguments, caller).await);
    let records = house.records().await;
    assert_eq!(records.len(), 1, "{records:?}");
    let spent = &records[0].spent;
    assert_eq!((spent.model_calls, spent.prompt_tokens), (2, 20));
    assert_eq!(spent.cost_usd, Some(1.0));
    let heard = heard.lock().unwrap();
    let at: Vec<_> = heard.iter().filter(|told| told.message == "at 1").collect();
    assert_eq!(at.len(), 2, "{heard:?}");
    assert!(at[0].done < at[1].done);
}
