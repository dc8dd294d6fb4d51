//! Tools that let a model call other tools.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use deliberate_core::SystemIds;
use deliberate_thinker::Thinker;
use deliberate_toolkit::{
    About, Acted, Acting, Annotations, Call, Caller, Hand, Limits, NeedsReply, Outcome, Parts,
    Registry, Stopped, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    house::{House, done, parts, waits_for},
    recorder::Recorder,
    scripted::{Scripted, costs, says},
    tools::{Note, Ponder, ask},
};

fn about(name: &'static str, thinks: bool) -> About {
    About {
        name,
        title: name,
        description: "A tool of the tests.",
        annotations: Annotations::THINKS,
        thinks,
        limits: Limits::default(),
    }
}

/// Lets a model act.
struct Act;

#[derive(Debug, Deserialize, JsonSchema)]
struct Bounds {
    #[serde(default)]
    turns: Option<usize>,
    #[serde(default)]
    calls: Option<usize>,
    #[serde(default)]
    result_bytes: Option<usize>,
}

impl Tool for Act {
    type Input = Bounds;
    type Output = Value;

    fn about(&self) -> About {
        about("act", true)
    }

    async fn run(&self, input: Bounds, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let tools = ["tally", "note", "ponder"].map(|name| Hand {
            name: name.to_owned(),
            description: format!("Does {name}."),
            schema: json!({ "type": "object" }),
        });
        let usual = Acting::default();
        let limits = Acting {
            turns: input.turns.unwrap_or(usual.turns),
            calls: input.calls.unwrap_or(usual.calls),
            result_bytes: input.result_bytes.unwrap_or(usual.result_bytes),
        };
        let ask = deliberate_thinker::Ask {
            schema: Value::Null,
            ..ask("think", "What is there?")
        };
        let Acted {
            text,
            evidence,
            changes,
            stopped,
            conversation,
        } = call.act(ask, &tools, limits).await?;
        Ok(Outcome {
            output: json!({ "text": text, "evidence": evidence, "stopped": stopped, "said": null, "messages": conversation.len() }),
            changes,
            session: None,
        })
    }
}

/// Does something outside, and counts how often.
struct Tally(Arc<AtomicUsize>);

#[derive(Debug, Deserialize, JsonSchema)]
struct Size {
    #[serde(default)]
    size: usize,
}

impl Tool for Tally {
    type Input = Size;
    type Output = Value;

    fn about(&self) -> About {
        about("tally", false)
    }

    async fn run(&self, input: Size, _: &Call) -> Result<Outcome<Value>, ToolError> {
        let times = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Outcome {
            output: json!({ "said": format!("{times} times{}", "ü".repeat(input.size)) }),
            changes: Vec::new(),
            session: None,
        })
    }
}

/// Does something outside by itself, then asks.
struct Reach(Arc<AtomicUsize>);

impl Tool for Reach {
    type Input = Size;
    type Output = Value;

    fn about(&self) -> About {
        about("reach", true)
    }

    async fn run(&self, _: Size, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let times = call
            .outside("reach", async { self.0.fetch_add(1, Ordering::SeqCst) + 1 })
            .await;
        let view: Value = call.think(ask("view", "?"), None).await?.value;
        Ok(Outcome {
            output: json!({ "times": times, "view": view }),
            changes: Vec::new(),
            session: None,
        })
    }
}

struct Stage {
    house: House,
    times: Arc<AtomicUsize>,
}

fn registry(parts: Parts, times: &Arc<AtomicUsize>) -> Registry {
    Registry::new(parts)
        .with(Act)
        .with(Tally(times.clone()))
        .with(Reach(times.clone()))
        .with(Note)
        .with(Ponder)
}

fn stage(mind: Option<Arc<dyn Thinker>>) -> Stage {
    let times = Arc::<AtomicUsize>::default();
    let mut house = House::without_model();
    let parts = Parts {
        ids: Arc::new(SystemIds),
        ..parts(house.store.clone(), mind)
    };
    house.registry = Arc::new(registry(parts, &times));
    Stage { house, times }
}

impl Stage {
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

fn last_words(needs: &NeedsReply) -> &str {
    &needs.asks[0].messages.last().unwrap().text
}

#[tokio::test]
async fn a_model_calls_and_answers_and_all_is_kept_in_one() {
    let both = calls(&[("tally", json!({})), ("note", json!({ "content": "seen" }))]);
    let mind = Scripted::new([
        costs(&both.to_string(), 10, None),
        costs(&answer("There is one.").to_string(), 10, None),
    ]);
    let store = Recorder::new();
    let times = Arc::default();
    let registry = registry(parts(store.clone(), Some(mind.clone())), &times);
    let output = done(registry.call("act", json!({}), Caller::default()).await);
    assert_eq!(output["text"], "There is one.");
    assert_eq!(output["stopped"], json!(Stopped::Answered));
    assert_eq!(output["messages"], 4);
    let evidence = &output["evidence"];
    assert_eq!(evidence[0]["tool"], "tally");
    assert_eq!(evidence[0]["result"], "1 times");
    assert_eq!(evidence[1]["arguments"], json!({ "content": "seen" }));
    assert_eq!(evidence[1]["failed"], false);

    let keys: Vec<String> = mind.asked().into_iter().map(|ask| ask.key).collect();
    assert_eq!(keys, ["think/turn1", "think/turn2"]);
    let told = mind.asked()[1].messages[2].text.clone();
    assert!(told.contains("1 times") && told.contains("seen"), "{told}");
    let commits = store.commits();
    assert_eq!(commits.len(), 1, "{commits:?}");
    assert_eq!(commits[0].len(), 3, "a session, a thought, the record");
    assert_eq!(store.records()[0].spent.model_calls, 2);
}

#[tokio::test]
async fn a_call_that_waits_for_its_client_runs_no_tool_twice() {
    let stage = stage(None);
    let needs = waits_for(stage.house.call("act", json!({})).await);
    assert_eq!(needs.asks[0].key, "think/turn1");
    let both = calls(&[("tally", json!({})), ("note", json!({ "content": "seen" }))]);
    let second = waits_for(stage.house.resume(&needs.id, json!([both])).await);
    assert_eq!(second.asks[0].key, "think/turn2");
    assert_eq!(stage.times(), 1);
    assert_eq!(
        stage.house.thoughts().await,
        [],
        "nothing is kept before the end"
    );

    let again = calls(&[("tally", json!({}))]);
    let third = waits_for(stage.house.resume(&needs.id, json!([again])).await);
    assert!(last_words(&third).contains("2 times"), "{third:?}");
    let output = done(stage.house.resume(&needs.id, json!([answer("done")])).await);
    assert_eq!(stage.times(), 2);
    assert_eq!(output["text"], "done");
    assert_eq!(output["evidence"][0]["result"], "1 times");
    // What was noted then is what is kept now, by the id the model was told.
    let thoughts = stage.house.thoughts().await;
    assert_eq!(thoughts.len(), 1);
    assert!(last_words(&second).contains(thoughts[0].id.as_str()));
}

#[tokio::test]
async fn a_tool_that_waits_itself_holds_up_its_call_and_undoes_nothing() {
    let stage = stage(None);
    let needs = waits_for(stage.house.call("act", json!({})).await);
    let both = calls(&[
        ("ponder", json!({ "content": "why?" })),
        ("tally", json!({})),
    ]);
    let inner = waits_for(stage.house.resume(&needs.id, json!([both])).await);
    let keys: Vec<&str> = inner.asks.iter().map(|ask| ask.key.as_str()).collect();
    assert_eq!(keys, ["think/turn1/call1/view"]);
    assert_eq!(stage.times(), 1);
    let view = json!([{ "view": "because", "percent": 50 }]);
    let last = waits_for(stage.house.resume(&needs.id, view).await);
    assert!(last_words(&last).contains("because"));
    let output = done(stage.house.resume(&needs.id, json!([answer("done")])).await);
    assert_eq!(output["evidence"][0]["tool"], "ponder");
    assert_eq!(stage.times(), 1);
    assert_eq!(stage.house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn what_fails_is_told_and_the_model_goes_on() {
    let wrong = calls(&[("note", json!({ "contend": "x" })), ("tally", json!({}))]);
    let mind = Scripted::new([says(&wrong.to_string()), says("Well.")]);
    let stage = stage(Some(mind.clone()));
    let output = done(stage.house.call("act", json!({})).await);
    assert_eq!(output["text"], "Well.");
    assert_eq!(output["evidence"][0]["failed"], true);
    assert_eq!(output["evidence"][1]["failed"], false);
    let told = mind.asked()[1].messages[2].text.clone();
    assert!(
        told.starts_with("note failed:") && told.contains("content"),
        "{told}"
    );
}

#[tokio::test]
async fn turns_and_calls_have_an_end() {
    let more = || says(&calls(&[("tally", json!({})), ("tally", json!({}))]).to_string());
    let mind = Scripted::new([more(), more(), says("Enough.")]);
    let stage = stage(Some(mind.clone()));
    let output = done(stage.house.call("act", json!({ "turns": 3 })).await);
    assert_eq!(output["stopped"], "out_of_turns");
    assert_eq!(output["text"], "Enough.");
    assert_eq!(stage.times(), 4);
    let last = mind.asked().pop().unwrap();
    assert!(last.system.contains("Answer now"), "{}", last.system);

    let mind = Scripted::new([more(), more(), says("Enough.")]);
    let stage = self::stage(Some(mind.clone()));
    let output = done(stage.house.call("act", json!({ "calls": 3 })).await);
    assert_eq!(output["stopped"], "out_of_calls");
    assert_eq!(output["evidence"].as_array().unwrap().len(), 3);
    assert_eq!(stage.times(), 3);
    let told = mind.asked()[2].messages.last().unwrap().text.clone();
    assert!(told.contains("3 calls are the most"), "{told}");
}

#[tokio::test]
async fn long_results_are_cut_and_it_is_said() {
    let long = calls(&[("tally", json!({ "size": 100 }))]);
    let mind = Scripted::new([says(&long.to_string()), says("Well.")]);
    let stage = stage(Some(mind));
    let output = done(stage.house.call("act", json!({ "result_bytes": 20 })).await);
    let result = output["evidence"][0]["result"].as_str().unwrap();
    assert_eq!(result, "1 timesüüüüüü\n[cut here; the whole has 207 bytes]");
}

#[tokio::test]
async fn what_is_done_outside_is_done_once() {
    let stage = stage(None);
    let needs = waits_for(stage.house.call("reach", json!({})).await);
    let output = done(
        stage
            .house
            .resume(&needs.id, json!([{ "view": "x", "percent": 1 }]))
            .await,
    );
    assert_eq!(output["times"], 1);
    assert_eq!(stage.times(), 1);
}
