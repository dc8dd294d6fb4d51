//! Tests of calls whose commit conflicts with another call's.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use deliberate_core::{ChainEvent, ChainRun, ChainState, Change, SystemIds, Timestamp};
use deliberate_llm::ChatModel;
use deliberate_store::StoreError;
use deliberate_toolkit::{
    CallerContext, Registry, RegistryDeps, Tool, ToolContext, ToolError, ToolHints, ToolLimits,
    ToolMeta, ToolOutput,
};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    recording_store::RecordingStore,
    registry_fixture::{RegistryFixture, deps, expect_done},
    scripted_model::{ScriptedModel, reply},
    steps::SteppingTool,
    test_tools::{ViewAnswer, model_request},
};

/// Appends the next event to a run that it read.
#[derive(Clone, Default)]
struct AppendTool {
    runs: Arc<AtomicU32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct AppendInput {
    who: u32,
    #[serde(default)]
    thinks: bool,
    /// How often another writer is faster.
    #[serde(default)]
    others: u32,
    /// Whether it memoizes what it read.
    #[serde(default)]
    keeps: bool,
}

fn event(seq: u32, who: u32) -> Change {
    Change::AddRunEvent {
        event: ChainEvent {
            run_id: "run".into(),
            seq,
            kind: "said".to_owned(),
            step: None,
            data: json!({ "who": who }),
            created_at: Timestamp::from_micros(0),
        },
        state: ChainState::Open,
        at_step: 0,
    }
}

impl Tool for AppendTool {
    type Input = AppendInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "append",
            title: "Append",
            description: "Adds to a run.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: AppendInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let run = self.runs.fetch_add(1, Ordering::AcqRel);
        let found = call.store().run(&"run".into()).await?.unwrap().events + 1;
        let seq = if input.keeps {
            call.memoize("seq", found)
        } else {
            found
        };
        if input.thinks {
            call.ask::<ViewAnswer>(model_request("view", "and?"), None)
                .await?;
        }
        if run < input.others {
            call.store().commit(vec![event(found, 1_000 + run)]).await?;
        }
        Ok(ToolOutput {
            output: json!({ "seq": seq }),
            changes: vec![event(seq, input.who)],
            session: None,
        })
    }
}

async fn fixture(model: Option<Arc<dyn ChatModel>>) -> (RegistryFixture, AppendTool) {
    let mut house = RegistryFixture::without_model();
    let append = AppendTool::default();
    let parts = RegistryDeps {
        ids: Arc::new(SystemIds),
        ..deps(house.store.clone(), model)
    };
    house.registry = Arc::new(Registry::new(parts).with(append.clone()));
    let run = ChainRun {
        id: "run".into(),
        base: "base".to_owned(),
        number: 1,
        command: String::new(),
        plan: Value::Null,
        owner: None,
        state: ChainState::Open,
        steps: 0,
        at_step: 0,
        events: 0,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
    };
    house
        .store
        .commit(vec![Change::StartRun(run)])
        .await
        .unwrap();
    (house, append)
}

/// Returns the writers of a run's events, which have no gaps.
async fn writers(fixture: &RegistryFixture) -> Vec<Value> {
    let run = fixture.store.run_with_events(&"run".into()).await.unwrap();
    let (_, events) = run.unwrap();
    let places: Vec<u32> = events.iter().map(|event| event.seq).collect();
    let count = u32::try_from(events.len()).unwrap();
    assert_eq!(places, (1..=count).collect::<Vec<_>>());
    events
        .into_iter()
        .map(|event| event.data["who"].clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_change_the_same_at_once_all_come_through() {
    let (house, _) = fixture(None).await;
    let house = Arc::new(house);
    let calls = (0..30_u32).map(|who| {
        let house = house.clone();
        tokio::spawn(async move { expect_done(house.call("append", json!({ "who": who })).await) })
    });
    let outputs: Vec<Value> = join_all(calls)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let there = writers(&house).await;
    assert_eq!(there.len(), 30);
    for (number, output) in outputs.iter().enumerate() {
        let seq = usize::try_from(output["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(there[seq - 1], number, "each is where its answer says");
    }
    assert_eq!(house.records().await.len(), 30);
}

#[tokio::test]
async fn a_call_that_asked_nobody_is_run_again_with_what_is_there_now() {
    for keeps in [false, true] {
        let (house, append) = fixture(None).await;
        let arguments = json!({ "who": 1, "others": 2, "keeps": keeps });
        assert_eq!(expect_done(house.call("append", arguments).await)["seq"], 3);
        assert_eq!(append.runs.load(Ordering::Acquire), 3);
        assert_eq!(writers(&house).await, [1_000, 1_001, 1]);
    }
}

#[tokio::test]
async fn a_call_that_asked_a_model_is_not_run_again() {
    let model = ScriptedModel::new([reply(r#"{"view":"yes","percent":85}"#)]);
    let (house, append) = fixture(Some(model.clone())).await;
    let arguments = json!({ "who": 1, "others": 1, "thinks": true });
    let error = house.call("append", arguments).await.unwrap_err();
    assert_eq!(error.code(), "Conflict");
    assert_eq!(append.runs.load(Ordering::Acquire), 1);
    assert_eq!(model.requests().len(), 1);
    assert_eq!(writers(&house).await, [1_000]);
    let record = house.last_record().await;
    assert_eq!(record.error_code.as_deref(), Some("Conflict"));
    assert_eq!(record.spent.model_calls, 1, "what was spent is told");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_always_late_gives_up() {
    // In the last step, and in the one before it.
    for last in [1, 2] {
        let late = StoreError::Conflict {
            reason: "late".to_owned(),
        };
        let climb = SteppingTool::default();
        let registry = Registry::new(deps(RecordingStore::failing(late), None)).with(climb.clone());
        let arguments = json!({ "step": 1, "last": last });
        let answer = registry
            .call("climb", arguments, CallerContext::default())
            .await;
        assert_eq!(answer.unwrap_err().code(), "Conflict");
        assert_eq!(climb.steps_run(), [1; 51], "once, and fifty times again");
    }
}
