//! Tests of the budget of a tool, which is enforced where a model is asked.

use std::{sync::Arc, time::Duration};

use deliberate_llm::ModelReply;
use deliberate_toolkit::{
    Budget, CallerContext, RESUME_TOOL, Registry, Tool, ToolContext, ToolError, ToolHints,
    ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{RegistryFixture, deps, expect_done, expect_needs_reply},
    scripted_model::{ScriptedModel, reply, reply_with_cost},
    test_tools::{ViewAnswer, model_request},
};

const GOOD: &str = r#"{"view": "yes", "percent": 85}"#;

/// Sends requests within a budget, in one step or in several.
struct FrugalTool;

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct FrugalInput {
    /// Requests in each step.
    asks: usize,
    at_once: bool,
    /// Further steps.
    steps: u32,
    /// Seconds that pass before each request.
    pause: u64,
    calls: Option<u32>,
    tokens: Option<u64>,
    seconds: Option<f64>,
    money: Option<f64>,
}

impl Tool for FrugalTool {
    type Input = FrugalInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "frugal",
            title: "Frugal",
            description: "Asks as often as it may.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: FrugalInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let (call, meter) = call.with_budget(Budget {
            calls: input.calls,
            tokens: input.tokens,
            seconds: input.seconds,
            money: input.money,
        });
        let requests = (0..input.asks).map(|at| model_request(&format!("ask{at}"), "What?"));
        if input.at_once {
            let answers = call.ask_all::<ViewAnswer>(requests.collect()).await?;
            answers.into_iter().collect::<Result<Vec<_>, _>>()?;
        } else {
            for request in requests {
                if input.pause > 0 {
                    tokio::time::advance(Duration::from_secs(input.pause)).await;
                }
                call.ask::<ViewAnswer>(request, None).await?;
            }
        }
        let used = meter.used();
        let next = input
            .steps
            .checked_sub(1)
            .map(|steps| FrugalInput { steps, ..input });
        Ok(ToolOutput {
            output: json!({
                "calls": used.calls, "tokens": used.tokens, "money": used.money, "next": next,
            }),
            changes: Vec::new(),
            session: None,
        })
    }

    fn next_step(&self, output: &Value) -> Option<Value> {
        output.get("next").filter(|next| !next.is_null()).cloned()
    }
}

fn registry(model: Option<&Arc<ScriptedModel>>) -> Registry {
    let model = model.map(|model| Arc::clone(model) as Arc<_>);
    Registry::new(deps(RecordingStore::new(), model)).with(FrugalTool)
}

/// Calls the tool with a model that gives these replies; returns the result and the number of
/// requests that the model got.
async fn call(
    replies: impl IntoIterator<Item = ModelReply>,
    arguments: Value,
) -> (Result<Value, ToolError>, usize) {
    let model = ScriptedModel::new(replies);
    let registry = registry(Some(&model));
    let outcome = registry.call("frugal", arguments, CallerContext::default());
    let outcome = outcome.await.map(|outcome| expect_done(Ok(outcome)));
    (outcome, model.requests().len())
}

fn expect_exhausted(outcome: Result<Value, ToolError>, message: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("LimitReached", message)
    );
    assert!(error.hint().unwrap().contains("Ask for less"), "{error:?}");
}

fn replies(count: usize) -> Vec<ModelReply> {
    vec![reply(GOOD); count]
}

#[tokio::test]
async fn no_more_requests_are_sent_than_the_budget_has_calls() {
    let reached = "the limit of 3 model calls is reached";
    for at_once in [false, true] {
        let arguments = json!({ "asks": 5, "calls": 3, "at_once": at_once });
        let (outcome, requests) = call(replies(5), arguments).await;
        expect_exhausted(outcome, reached);
        assert_eq!(requests, 3);
    }
    let (outcome, requests) = call(replies(3), json!({ "asks": 3, "calls": 3 })).await;
    assert_eq!((&outcome.unwrap()["calls"], requests), (&json!(3), 3));
}

#[tokio::test]
async fn asking_again_needs_a_call_of_the_budget() {
    let answers = || [reply("let me think"), reply(GOOD)];
    let (outcome, requests) = call(answers(), json!({ "asks": 1, "calls": 1 })).await;
    expect_exhausted(outcome, "the limit of 1 model calls is reached");
    assert_eq!(requests, 1);
    let (outcome, requests) = call(answers(), json!({ "asks": 1, "calls": 2 })).await;
    assert_eq!((&outcome.unwrap()["calls"], requests), (&json!(2), 2));
}

#[tokio::test]
async fn a_request_that_may_take_too_many_tokens_is_not_sent() {
    // Each request may write 100 tokens.
    let (outcome, requests) = call(replies(1), json!({ "asks": 1, "tokens": 100 })).await;
    expect_exhausted(outcome, "the limit of 100 tokens is reached");
    assert_eq!(requests, 0);
    // The provider counts 30 for each, so there is room for more than were reserved.
    let counted = || vec![reply_with_cost(GOOD, 10, None); 5];
    let (outcome, requests) = call(counted(), json!({ "asks": 3, "tokens": 200 })).await;
    assert_eq!((&outcome.unwrap()["tokens"], requests), (&json!(90), 3));
}

#[tokio::test]
async fn money_is_not_spent_after_its_bound() {
    let dear = || vec![reply_with_cost(GOOD, 1, Some(0.5)); 3];
    let (outcome, requests) = call(dear(), json!({ "asks": 3, "money": 1.0 })).await;
    expect_exhausted(outcome, "the limit of $1 is reached");
    assert_eq!(requests, 2);
}

#[tokio::test(start_paused = true)]
async fn time_passes_between_requests_too() {
    let arguments = json!({ "asks": 3, "seconds": 10.0, "pause": 4 });
    let (outcome, requests) = call(replies(3), arguments).await;
    expect_exhausted(outcome, "the time limit of 10 s is reached");
    assert_eq!(requests, 2);
}

#[tokio::test]
async fn the_steps_of_a_call_have_one_budget() {
    let arguments = json!({ "asks": 2, "steps": 2, "calls": 5 });
    let (outcome, requests) = call(replies(6), arguments).await;
    expect_exhausted(outcome, "the limit of 5 model calls is reached");
    assert_eq!(requests, 5);
}

#[tokio::test]
async fn replies_of_the_client_count_in_every_round_and_process() {
    let mut house = RegistryFixture::without_model();
    house.registry = Arc::new(Registry::new(deps(house.store.clone(), None)).with(FrugalTool));
    let arguments = json!({ "asks": 1, "steps": 2, "calls": 2 });
    let needs = expect_needs_reply(house.call("frugal", arguments).await);
    let by_id = json!({ "id": needs.id, "replies": [{ "view": "yes", "percent": 1 }] });
    expect_needs_reply(house.call(RESUME_TOOL, by_id.clone()).await);
    let mut house = house.restart().await;
    house.registry = Arc::new(Registry::new(deps(house.store.clone(), None)).with(FrugalTool));
    let outcome = house.call(RESUME_TOOL, by_id).await;
    let outcome = outcome.map(|outcome| expect_done(Ok(outcome)));
    expect_exhausted(outcome, "the limit of 2 model calls is reached");
}
