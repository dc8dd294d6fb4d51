//! Tests of the agent loop: tools that let a model call other tools.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use deliberate_core::SystemIds;
use deliberate_llm::ChatModel;
use deliberate_toolkit::{
    AgentLimits, AgentRun, AgentStopReason, CallerContext, NeedsReply, Registry, RegistryDeps,
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{RegistryFixture, deps, expect_done, expect_needs_reply},
    scripted_model::{ScriptedModel, reply, reply_with_cost},
    test_tools::{AskOnceTool, NoteTool, model_request},
};

fn meta(name: &'static str, thinks: bool) -> ToolMeta {
    ToolMeta {
        name,
        title: name,
        description: "A tool of the tests.",
        hints: ToolHints::ASKS_MODEL,
        asks_model: thinks,
        limits: ToolLimits::default(),
    }
}

/// Runs an agent loop.
struct AgentTool;

#[derive(Debug, Deserialize, JsonSchema)]
struct AgentInput {
    #[serde(default)]
    turns: Option<usize>,
    #[serde(default)]
    calls: Option<usize>,
    #[serde(default)]
    result_bytes: Option<usize>,
}

impl Tool for AgentTool {
    type Input = AgentInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("act", true)
    }

    async fn run(
        &self,
        input: AgentInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let tools = ["tally", "note", "ponder"].map(|name| ToolSpec {
            name: name.to_owned(),
            description: format!("Does {name}."),
            schema: json!({ "type": "object" }),
        });
        let usual = AgentLimits::default();
        let limits = AgentLimits {
            turns: input.turns.unwrap_or(usual.turns),
            calls: input.calls.unwrap_or(usual.calls),
            result_bytes: input.result_bytes.unwrap_or(usual.result_bytes),
        };
        let ask = deliberate_llm::ModelRequest {
            schema: Value::Null,
            ..model_request("think", "What is there?")
        };
        let AgentRun {
            text,
            tool_uses: evidence,
            changes,
            stop_reason: stopped,
            conversation,
        } = call.run_agent_loop(ask, &tools, limits).await?;
        Ok(ToolOutput {
            output: json!({ "text": text, "evidence": evidence, "stopped": stopped, "said": null, "messages": conversation.len() }),
            changes,
            session: None,
        })
    }
}

/// Has an effect outside the store and counts how often.
struct CountingTool(Arc<AtomicUsize>);

#[derive(Debug, Deserialize, JsonSchema)]
struct SizeInput {
    #[serde(default)]
    size: usize,
}

impl Tool for CountingTool {
    type Input = SizeInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("tally", false)
    }

    async fn run(&self, input: SizeInput, _: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        let times = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(ToolOutput {
            output: json!({ "said": format!("{times} times{}", "ü".repeat(input.size)) }),
            changes: Vec::new(),
            session: None,
        })
    }
}

/// Has a memoized effect outside the store, then sends a model request.
struct MemoizingTool(Arc<AtomicUsize>);

impl Tool for MemoizingTool {
    type Input = SizeInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("reach", true)
    }

    async fn run(&self, _: SizeInput, call: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        let times = call
            .memoize_async("reach", async { self.0.fetch_add(1, Ordering::SeqCst) + 1 })
            .await;
        let view: Value = call.ask(model_request("view", "?"), None).await?.value;
        Ok(ToolOutput {
            output: json!({ "times": times, "view": view }),
            changes: Vec::new(),
            session: None,
        })
    }
}

struct AgentFixture {
    fixture: RegistryFixture,
    times: Arc<AtomicUsize>,
}

fn registry(parts: RegistryDeps, times: &Arc<AtomicUsize>) -> Registry {
    Registry::new(parts)
        .with(AgentTool)
        .with(CountingTool(times.clone()))
        .with(MemoizingTool(times.clone()))
        .with(NoteTool)
        .with(AskOnceTool)
}

fn agent_fixture(model: Option<Arc<dyn ChatModel>>) -> AgentFixture {
    let times = Arc::<AtomicUsize>::default();
    let mut house = RegistryFixture::without_model();
    let parts = RegistryDeps {
        ids: Arc::new(SystemIds),
        ..deps(house.store.clone(), model)
    };
    house.registry = Arc::new(registry(parts, &times));
    AgentFixture {
        fixture: house,
        times,
    }
}

impl AgentFixture {
    fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }
}

fn calls(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({ "name": name, "arguments": arguments }))
        .collect();
    json!({ "calls": calls, "answer": "" })
}

fn answer(text: &str) -> Value {
    json!({ "calls": [], "answer": text })
}

fn last_message(needs: &NeedsReply) -> &str {
    &needs.asks[0].messages.last().unwrap().text
}

#[tokio::test]
async fn a_model_calls_and_answers_and_all_is_kept_in_one() {
    let both = calls(&[("tally", json!({})), ("note", json!({ "content": "seen" }))]);
    let mind = ScriptedModel::new([
        reply_with_cost(&both.to_string(), 10, None),
        reply_with_cost(&answer("There is one.").to_string(), 10, None),
    ]);
    let store = RecordingStore::new();
    let times = Arc::default();
    let registry = registry(deps(store.clone(), Some(mind.clone())), &times);
    let output = expect_done(
        registry
            .call("act", json!({}), CallerContext::default())
            .await,
    );
    assert_eq!(output["text"], "There is one.");
    assert_eq!(output["stopped"], json!(AgentStopReason::Answered));
    assert_eq!(output["messages"], 4);
    let evidence = &output["evidence"];
    assert_eq!(evidence[0]["tool"], "tally");
    assert_eq!(evidence[0]["result"], "1 times");
    assert_eq!(evidence[1]["arguments"], json!({ "content": "seen" }));
    assert_eq!(evidence[1]["failed"], false);

    let keys: Vec<String> = mind.requests().into_iter().map(|ask| ask.key).collect();
    assert_eq!(keys, ["think/turn1", "think/turn2"]);
    let told = mind.requests()[1].messages[2].text.clone();
    assert!(told.contains("1 times") && told.contains("seen"), "{told}");
    let commits = store.commits();
    assert_eq!(commits.len(), 1, "{commits:?}");
    assert_eq!(commits[0].len(), 3, "a session, a thought, the record");
    assert_eq!(store.records()[0].spent.model_calls, 2);
}

#[tokio::test]
async fn a_call_that_waits_for_its_client_runs_no_tool_twice() {
    let stage = agent_fixture(None);
    let needs = expect_needs_reply(stage.fixture.call("act", json!({})).await);
    assert_eq!(needs.asks[0].key, "think/turn1");
    let both = calls(&[("tally", json!({})), ("note", json!({ "content": "seen" }))]);
    let second = expect_needs_reply(stage.fixture.resume(&needs.id, json!([both])).await);
    assert_eq!(second.asks[0].key, "think/turn2");
    assert_eq!(stage.times(), 1);
    assert_eq!(
        stage.fixture.thoughts().await,
        [],
        "nothing is kept before the end"
    );

    let again = calls(&[("tally", json!({}))]);
    let third = expect_needs_reply(stage.fixture.resume(&needs.id, json!([again])).await);
    assert!(last_message(&third).contains("2 times"), "{third:?}");
    let output = expect_done(
        stage
            .fixture
            .resume(&needs.id, json!([answer("done")]))
            .await,
    );
    assert_eq!(stage.times(), 2);
    assert_eq!(output["text"], "done");
    assert_eq!(output["evidence"][0]["result"], "1 times");
    // The thought of the first run is stored, under the id that the model saw.
    let thoughts = stage.fixture.thoughts().await;
    assert_eq!(thoughts.len(), 1);
    assert!(last_message(&second).contains(thoughts[0].id.as_str()));
}

#[tokio::test]
async fn a_call_that_is_run_again_shows_the_same_tags() {
    let part = |needs: &NeedsReply| {
        let text = last_message(needs);
        let (_, after) = text.split_once("<result-").unwrap();
        let part: String = after.chars().take(6).collect();
        assert!(text.ends_with(&format!("\n</result-{part}>")), "{text}");
        part
    };
    let one = calls(&[("tally", json!({}))]);
    let mut parts = Vec::new();
    for _ in 0..2 {
        let stage = agent_fixture(None);
        let needs = expect_needs_reply(stage.fixture.call("act", json!({})).await);
        let second = expect_needs_reply(stage.fixture.resume(&needs.id, json!([one])).await);
        let third = expect_needs_reply(stage.fixture.resume(&needs.id, json!([one])).await);
        assert_eq!(part(&second), part(&third));
        let seen = second.asks[0].messages.len();
        assert_eq!(third.asks[0].messages[..seen], second.asks[0].messages[..]);
        parts.push(part(&third));
    }
    assert_ne!(parts[0], parts[1], "another call has other tags");
}

#[tokio::test]
async fn a_tool_that_waits_itself_holds_up_its_call_and_undoes_nothing() {
    let stage = agent_fixture(None);
    let needs = expect_needs_reply(stage.fixture.call("act", json!({})).await);
    let both = calls(&[
        ("ponder", json!({ "content": "why?" })),
        ("tally", json!({})),
    ]);
    let inner = expect_needs_reply(stage.fixture.resume(&needs.id, json!([both])).await);
    let keys: Vec<&str> = inner.asks.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["think/turn1/call1/view"]);
    assert_eq!(stage.times(), 1);
    let view = json!([{ "view": "because", "percent": 50 }]);
    let last = expect_needs_reply(stage.fixture.resume(&needs.id, view).await);
    assert!(last_message(&last).contains("because"));
    let output = expect_done(
        stage
            .fixture
            .resume(&needs.id, json!([answer("done")]))
            .await,
    );
    assert_eq!(output["evidence"][0]["tool"], "ponder");
    assert_eq!(stage.times(), 1);
    assert_eq!(stage.fixture.thoughts().await.len(), 1);
}

#[tokio::test]
async fn what_fails_is_told_and_the_model_goes_on() {
    let wrong = calls(&[("note", json!({ "contend": "x" })), ("tally", json!({}))]);
    let mind = ScriptedModel::new([reply(&wrong.to_string()), reply("Well.")]);
    let stage = agent_fixture(Some(mind.clone()));
    let output = expect_done(stage.fixture.call("act", json!({})).await);
    assert_eq!(output["text"], "Well.");
    assert_eq!(output["evidence"][0]["failed"], true);
    assert_eq!(output["evidence"][1]["failed"], false);
    let told = mind.requests()[1].messages[2].text.clone();
    assert!(
        told.starts_with("note failed:") && told.contains("content"),
        "{told}"
    );
}

#[tokio::test]
async fn turns_and_calls_have_an_end() {
    let more = || reply(&calls(&[("tally", json!({})), ("tally", json!({}))]).to_string());
    let mind = ScriptedModel::new([more(), more(), reply("Enough.")]);
    let stage = agent_fixture(Some(mind.clone()));
    let output = expect_done(stage.fixture.call("act", json!({ "turns": 3 })).await);
    assert_eq!(output["stopped"], "out_of_turns");
    assert_eq!(output["text"], "Enough.");
    assert_eq!(stage.times(), 4);
    let last = mind.requests().pop().unwrap();
    assert!(last.system.contains("Answer now"), "{}", last.system);

    let mind = ScriptedModel::new([more(), more(), reply("Enough.")]);
    let stage = self::agent_fixture(Some(mind.clone()));
    let output = expect_done(stage.fixture.call("act", json!({ "calls": 3 })).await);
    assert_eq!(output["stopped"], "out_of_calls");
    assert_eq!(output["evidence"].as_array().unwrap().len(), 3);
    assert_eq!(stage.times(), 3);
    let told = mind.requests()[2].messages.last().unwrap().text.clone();
    assert!(told.contains("the limit is 3 calls"), "{told}");
}

#[tokio::test]
async fn long_results_are_cut_and_it_is_said() {
    let long = calls(&[("tally", json!({ "size": 100 }))]);
    let mind = ScriptedModel::new([reply(&long.to_string()), reply("Well.")]);
    let stage = agent_fixture(Some(mind));
    let output = expect_done(
        stage
            .fixture
            .call("act", json!({ "result_bytes": 20 }))
            .await,
    );
    let result = output["evidence"][0]["result"].as_str().unwrap();
    assert_eq!(
        result,
        "1 timesüüüüüü\n[truncated; the whole text has 207 bytes]"
    );
}

#[tokio::test]
async fn what_is_done_outside_is_done_once() {
    let stage = agent_fixture(None);
    let needs = expect_needs_reply(stage.fixture.call("reach", json!({})).await);
    let output = expect_done(
        stage
            .fixture
            .resume(&needs.id, json!([{ "view": "x", "percent": 1 }]))
            .await,
    );
    assert_eq!(output["times"], 1);
    assert_eq!(stage.times(), 1);
}
