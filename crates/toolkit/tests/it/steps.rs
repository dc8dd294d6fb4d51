//! Tests of calls with several steps.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_core::{Change, Mode, Session, SystemIds};
use deliberate_llm::ChatModel;
use deliberate_testkit::wait_until;
use deliberate_toolkit::{
    BackgroundCall, BackgroundStatus, CallLimits, CallProgress, CallerContext, ErrorCode,
    Principal, RESUME_TOOL, Registry, RegistryDeps, StillRunning, TimedOutcome, Tool, ToolContext,
    ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    recording_store::RecordingStore,
    registry_fixture::{ALL, RegistryFixture, deps, expect_done, expect_needs_reply},
    scripted_model::{ScriptedModel, reply_with_cost},
    test_tools::{ViewAnswer, model_request},
};

/// Runs several steps, each of which adds a session, and records the steps that it ran.
#[derive(Clone, Default)]
pub(crate) struct SteppingTool(Arc<StepLog>);

struct StepLog {
    steps_run: Mutex<Vec<u32>>,
    permits: Semaphore,
    cancels: CancellationToken,
}

impl Default for StepLog {
    fn default() -> Self {
        Self {
            steps_run: Mutex::default(),
            permits: Semaphore::new(0),
            cancels: CancellationToken::new(),
        }
    }
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SteppingInput {
    step: u32,
    last: u32,
    /// Sends a model request in every step.
    #[serde(default)]
    thinks: bool,
    /// Waits in these steps until it is permitted to continue.
    wait_at: Option<Vec<u32>>,
    fail_at: Option<u32>,
    cancel_at: Option<u32>,
    /// Conflicts in this step, as if another call were faster.
    late_at: Option<u32>,
    pause_ms: Option<u64>,
}

impl SteppingTool {
    pub(crate) fn steps_run(&self) -> Vec<u32> {
        self.0.steps_run.lock().unwrap().clone()
    }

    pub(crate) fn allow_steps(&self, times: usize) {
        self.0.permits.add_permits(times);
    }

    pub(crate) async fn wait_for_steps(&self, steps: &[u32]) {
        wait_until(|| self.steps_run() == steps).await;
    }
}

impl Tool for SteppingTool {
    type Input = SteppingInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "climb",
            title: "Climb",
            description: "Goes on, step by step.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: SteppingInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let step = input.step;
        self.0.steps_run.lock().unwrap().push(step);
        let (done, all) = (f64::from(step - 1), f64::from(input.last));
        call.progress(done, Some(all), &format!("at {step}"));
        let mut notes: Vec<u32> = call.notes().unwrap_or_default();
        notes.push(step);
        call.set_notes(&notes)?;
        let seen = call.store().sessions(ALL).await?.len();
        if input.wait_at.as_ref().is_some_and(|at| at.contains(&step)) {
            self.0.permits.acquire().await.unwrap().forget();
        }
        if let Some(pause) = input.pause_ms {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let mut said = Value::Null;
        if input.thinks {
            let asked = model_request("view", &format!("At {step}?"));
            said = json!(call.ask::<ViewAnswer>(asked, None).await?.value.view());
        }
        if input.fail_at == Some(step) {
            return Err(ToolError::Custom {
                code: ErrorCode::ToolFailed,
                message: "it fell".to_owned(),
                hint: None,
            });
        }
        if input.cancel_at == Some(step) {
            self.0.cancels.cancel();
        }
        let mut changes = vec![Change::AddSession(session(step, call))];
        if input.late_at == Some(step) {
            changes.push(Change::DeleteSession("not there".into()));
        }
        let next = (step < input.last).then(|| SteppingInput {
            step: step + 1,
            ..input
        });
        Ok(ToolOutput {
            output: json!({
                "step": step, "seen": seen, "said": said, "notes": notes, "next": next,
            }),
            changes,
            session: None,
        })
    }

    fn next_step(&self, output: &Value) -> Option<Value> {
        output.get("next").filter(|next| !next.is_null()).cloned()
    }

    fn partial_summary(&self, output: &Value) -> Option<String> {
        Some(format!("It climbed {} so far.", output["step"]))
    }
}

fn session(step: u32, call: &ToolContext) -> Session {
    Session {
        id: call.new_id(),
        mode: Mode::Linear,
        title: Some(format!("step {step}")),
        created_at: call.now(),
        updated_at: call.now(),
        active_branch_id: None,
        metadata: None,
    }
}

pub(crate) fn add_stepping_tool(
    fixture: RegistryFixture,
    model: Option<Arc<dyn ChatModel>>,
) -> (RegistryFixture, SteppingTool) {
    add_with_limits(fixture, model, CallLimits::default())
}

pub(crate) fn add_with_limits(
    mut fixture: RegistryFixture,
    model: Option<Arc<dyn ChatModel>>,
    limits: CallLimits,
) -> (RegistryFixture, SteppingTool) {
    let climb = SteppingTool::default();
    let parts = RegistryDeps {
        clock: fixture.clock.clone(),
        ids: Arc::new(SystemIds),
        limits,
        ..deps(fixture.store.clone(), model)
    };
    fixture.registry = Arc::new(Registry::new(parts).with(climb.clone()));
    (fixture, climb)
}

fn fixture(model: Option<Arc<dyn ChatModel>>) -> (RegistryFixture, SteppingTool) {
    add_stepping_tool(RegistryFixture::without_model(), model)
}

/// Returns the steps that are stored, sorted.
pub(crate) async fn stored_steps(fixture: &RegistryFixture) -> Vec<String> {
    let sessions = fixture.store.sessions(ALL).await.unwrap();
    let mut titles: Vec<String> = sessions
        .into_iter()
        .filter_map(|entry| entry.session.title)
        .collect();
    titles.sort();
    titles
}

pub(crate) async fn call_in_background(
    fixture: &RegistryFixture,
    arguments: Value,
) -> StillRunning {
    let soon = Duration::from_millis(20);
    let call =
        fixture
            .registry
            .call_with_timeout("climb", arguments, CallerContext::default(), soon);
    match call.await {
        Ok(TimedOutcome::StillRunning(running)) => running,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn background_call(fixture: &RegistryFixture, id: &str) -> BackgroundCall {
    let left = fixture
        .registry
        .background_call(id, &Principal::default())
        .await;
    left.unwrap()
}

fn progress_caller() -> (CallerContext, Arc<Mutex<Vec<CallProgress>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    let caller = CallerContext {
        progress: Some(Arc::new(move |told| ears.lock().unwrap().push(told))),
        ..CallerContext::default()
    };
    (caller, heard)
}

fn view(text: &str) -> Value {
    json!([{ "view": text, "percent": 50 }])
}

#[tokio::test]
async fn what_a_leg_changed_is_there_before_the_next_and_the_last_answers() {
    let reply = || reply_with_cost(r#"{"view":"up","percent":85}"#, 10, Some(0.5));
    let (house, climb) = fixture(Some(ScriptedModel::new([reply(), reply(), reply()])));
    let (caller, heard) = progress_caller();
    let arguments = json!({ "step": 1, "last": 3, "thinks": true });
    let call = house.registry.call("climb", arguments.clone(), caller);
    let output = expect_done(call.await);
    assert_eq!((&output["step"], &output["seen"]), (&json!(3), &json!(2)));
    assert_eq!(climb.steps_run(), [1, 2, 3]);
    assert_eq!(stored_steps(&house).await, ["step 1", "step 2", "step 3"]);

    let records = house.records().await;
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].input, arguments);
    assert_eq!(records[0].output, Some(output));
    let spent = &records[0].spent;
    assert_eq!((spent.model_calls, spent.prompt_tokens), (3, 30));
    assert_eq!(spent.cost_usd, Some(1.5));

    let heard = heard.lock().unwrap();
    // A slow machine adds heartbeats: "working", or the latest message.
    let mut said: Vec<&str> = heard.iter().map(|it| it.message.as_str()).collect();
    said.retain(|it| *it != "working");
    said.dedup();
    assert_eq!(said, ["at 1", "at 2", "at 3"], "{heard:?}");
    assert!(heard.windows(2).all(|pair| pair[0].done < pair[1].done));
}

#[tokio::test(start_paused = true)]
async fn many_short_legs_are_not_silent() {
    let registry = Registry::new(deps(RecordingStore::new(), None)).with(SteppingTool::default());
    let (caller, heard) = progress_caller();
    let arguments = json!({ "step": 1, "last": 20, "pause_ms": 900 });
    expect_done(registry.call("climb", arguments, caller).await);
    let heard = heard.lock().unwrap();
    // One each, and the heartbeats after 1, 6, 11 and 16 seconds of the 18.
    assert_eq!(heard.len(), 20 + 4, "{heard:?}");
    assert!(heard.windows(2).all(|pair| pair[0].done < pair[1].done));
}

#[tokio::test]
async fn an_error_leaves_what_the_legs_before_it_changed() {
    let (house, climb) = fixture(None);
    let arguments = json!({ "step": 1, "last": 3, "fail_at": 2 });
    let error = house.call("climb", arguments).await.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("ToolFailed", "it fell")
    );
    let told = "Completed steps are saved. It climbed 1 so far.";
    assert_eq!(error.hint().as_deref(), Some(told));
    assert_eq!(climb.steps_run(), [1, 2]);
    assert_eq!(stored_steps(&house).await, ["step 1"]);
    let records = house.records().await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].error_code.as_deref(), Some("ToolFailed"));
}

#[tokio::test]
async fn a_call_that_is_cancelled_begins_no_further_leg() {
    let (house, climb) = fixture(None);
    let caller = CallerContext {
        cancellation: climb.0.cancels.clone(),
        ..CallerContext::default()
    };
    let arguments = json!({ "step": 1, "last": 3, "cancel_at": 1 });
    let answer = house.registry.call("climb", arguments, caller).await;
    assert_eq!(answer, Err(ToolError::Cancelled));
    assert_eq!(climb.steps_run(), [1]);
    assert_eq!(stored_steps(&house).await, ["step 1"]);
}

#[tokio::test]
async fn a_leg_that_waits_for_replies_is_resumed_where_it_was() {
    let (house, climb) = fixture(None);
    let arguments = json!({ "step": 1, "last": 3, "thinks": true });
    let needs = expect_needs_reply(house.call("climb", arguments.clone()).await);
    for step in 1..3 {
        let question = format!("At {}?", step + 1);
        let again = expect_needs_reply(house.resume(&needs.id, view(&format!("{step} up"))).await);
        assert_eq!(again.id, needs.id);
        assert_eq!(again.asks[0].messages[0].text, question);
        let kept = background_call(&house, &needs.id).await;
        assert_eq!(kept.arguments["step"], step + 1);
        assert!(house.registry.matches_call(&kept, "climb", &arguments));
        assert_eq!(kept.status, BackgroundStatus::Waiting);
    }
    let output = expect_done(house.resume(&needs.id, view("3 up")).await);
    assert_eq!(output["said"], "3 up");
    assert_eq!(climb.steps_run(), [1, 1, 2, 2, 3, 3]);
    assert_eq!(stored_steps(&house).await, ["step 1", "step 2", "step 3"]);
    assert_eq!(
        expect_done(house.resume(&needs.id, json!([])).await),
        output
    );
}

#[tokio::test]
async fn a_leg_in_the_middle_that_waits_survives_a_restart() {
    let (house, _) = fixture(None);
    let arguments = json!({ "step": 1, "last": 2, "thinks": true });
    let needs = expect_needs_reply(house.call("climb", arguments).await);
    expect_needs_reply(house.resume(&needs.id, view("up")).await);
    let (house, climb) = add_stepping_tool(house.restart().await, None);
    let output = expect_done(house.resume(&needs.id, view("there")).await);
    assert_eq!(output["said"], "there");
    assert_eq!(climb.steps_run(), [2]);
    assert_eq!(stored_steps(&house).await, ["step 1", "step 2"]);
}

#[tokio::test]
async fn a_leg_that_two_resume_takes_effect_once() {
    let (house, climb) = fixture(None);
    climb.0.permits.add_permits(1);
    let arguments = json!({ "step": 1, "last": 2, "thinks": true, "wait_at": [1] });
    let id = expect_needs_reply(house.call("climb", arguments).await).id;
    let resume = || async {
        let answer = house.resume(&id, view("up")).await;
        climb.0.permits.add_permits(1);
        answer
    };
    let (one, other, ()) = tokio::join!(resume(), resume(), async {
        climb.wait_for_steps(&[1, 1, 1]).await;
        climb.0.permits.add_permits(1);
    });
    // The slower one arrives when the call waits again, for another reply.
    let (first, second) = if one.is_ok() {
        (one, other)
    } else {
        (other, one)
    };
    assert_eq!(expect_needs_reply(first).asks[0].messages[0].text, "At 2?");
    assert_eq!(second.unwrap_err().code(), "Conflict");
    assert_eq!(stored_steps(&house).await, ["step 1"]);
    expect_done(house.resume(&id, view("there")).await);
    assert_eq!(stored_steps(&house).await, ["step 1", "step 2"]);
}

#[tokio::test]
async fn a_call_handed_over_in_its_first_leg_comes_to_its_end() {
    let (house, climb) = fixture(None);
    let arguments = json!({ "step": 1, "last": 3, "wait_at": [1] });
    let running = call_in_background(&house, arguments).await;
    assert_eq!(running.doing, "at 1");
    climb.0.permits.add_permits(1);
    let output = expect_done(house.call(RESUME_TOOL, json!({ "id": running.id })).await);
    assert_eq!((&output["step"], &output["seen"]), (&json!(3), &json!(2)));
    assert_eq!(climb.steps_run(), [1, 2, 3]);
    assert_eq!(stored_steps(&house).await, ["step 1", "step 2", "step 3"]);
}

#[tokio::test]
async fn a_call_whose_process_died_goes_on_from_the_leg_it_had_reached() {
    let (house, climb) = fixture(None);
    let arguments = json!({ "step": 1, "last": 3, "wait_at": [1, 2] });
    let running = call_in_background(&house, arguments).await;
    climb.0.permits.add_permits(1);
    climb.wait_for_steps(&[1, 2]).await;

    house.clock.advance(60_000_000);
    let (other, others) = add_stepping_tool(house.second_process(None), None);
    others.0.permits.add_permits(1);
    let by_id = json!({ "id": running.id });
    let output = expect_done(other.call(RESUME_TOOL, by_id.clone()).await);
    assert_eq!(output["step"], 3);
    assert_eq!(others.steps_run(), [2, 3]);

    // The first worker was not dead, only slow; its commit comes too late.
    climb.0.permits.add_permits(1);
    house.registry.wait_background_calls().await;
    assert_eq!(expect_done(house.call(RESUME_TOOL, by_id).await), output);
    assert_eq!(stored_steps(&house).await, ["step 1", "step 2", "step 3"]);
}

#[tokio::test]
async fn a_call_is_believed_to_run_as_long_as_its_legs_follow_each_other() {
    let (house, climb) = fixture(None);
    let arguments = json!({ "step": 1, "last": 4, "wait_at": [1, 2, 3, 4] });
    let running = call_in_background(&house, arguments).await;
    for step in 2..=4 {
        house.clock.advance(15_000_000);
        climb.0.permits.add_permits(1);
        climb.wait_for_steps(&(1..=step).collect::<Vec<_>>()).await;
        let (other, _) = add_stepping_tool(house.second_process(None), None);
        let left = background_call(&other, &running.id).await.status;
        assert!(
            matches!(left, BackgroundStatus::Running(_)),
            "{step} {left:?}"
        );
    }
}

#[tokio::test]
async fn a_call_handed_over_that_comes_too_late_tells_so() {
    let model = ScriptedModel::new([reply_with_cost(r#"{"view":"up","percent":85}"#, 10, None)]);
    let (house, climb) = fixture(Some(model));
    let arguments = json!({ "step": 1, "last": 2, "thinks": true, "wait_at": [1], "late_at": 1 });
    let running = call_in_background(&house, arguments).await;
    climb.0.permits.add_permits(1);
    house.registry.wait_background_calls().await;
    let left = background_call(&house, &running.id).await.status;
    assert!(
        matches!(&left, BackgroundStatus::Ended(Err(error)) if error.code() == "Conflict"),
        "{left:?}"
    );
    assert_eq!(
        climb.steps_run(),
        [1],
        "a model was asked, so it is not run again"
    );
}
