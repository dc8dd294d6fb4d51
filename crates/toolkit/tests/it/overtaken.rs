//! Calls whose changes came too late, because others changed the same meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use deliberate_core::{Change, Run, RunEvent, RunState, SystemIds, Timestamp};
use deliberate_store::StoreError;
use deliberate_thinker::Thinker;
use deliberate_toolkit::{
    About, Annotations, Call, Caller, Limits, Outcome, Parts, Registry, Tool, ToolError,
};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    house::{House, done, parts},
    legs::Climb,
    recorder::Recorder,
    scripted::{Scripted, says},
    tools::{View, ask},
};

/// Adds to a run what follows what it read.
#[derive(Clone, Default)]
struct Append {
    runs: Arc<AtomicU32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Entry {
    who: u32,
    #[serde(default)]
    thinks: bool,
    /// How often someone else is faster.
    #[serde(default)]
    others: u32,
    /// Keeps what it read for its next run.
    #[serde(default)]
    keeps: bool,
}

fn event(seq: u32, who: u32) -> Change {
    Change::AddRunEvent {
        event: RunEvent {
            run_id: "run".into(),
            seq,
            kind: "said".to_owned(),
            step: None,
            data: json!({ "who": who }),
            created_at: Timestamp::from_micros(0),
        },
        state: RunState::Open,
        at_step: 0,
    }
}

impl Tool for Append {
    type Input = Entry;
    type Output = Value;

    fn about(&self) -> About {
        About {
            name: "append",
            title: "Append",
            description: "Adds to a run.",
            annotations: Annotations::THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Entry, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let run = self.runs.fetch_add(1, Ordering::AcqRel);
        let found = call.store().run(&"run".into()).await?.unwrap().events + 1;
        let seq = if input.keeps {
            call.keep("seq", found)
        } else {
            found
        };
        if input.thinks {
            call.think::<View>(ask("view", "and?"), None).await?;
        }
        if run < input.others {
            call.store().commit(vec![event(found, 1_000 + run)]).await?;
        }
        Ok(Outcome {
            output: json!({ "seq": seq }),
            changes: vec![event(seq, input.who)],
            session: None,
        })
    }
}

async fn house(mind: Option<Arc<dyn Thinker>>) -> (House, Append) {
    let mut house = House::without_model();
    let append = Append::default();
    let parts = Parts {
        ids: Arc::new(SystemIds),
        ..parts(house.store.clone(), mind)
    };
    house.registry = Arc::new(Registry::new(parts).with(append.clone()));
    let run = Run {
        id: "run".into(),
        base: "base".to_owned(),
        number: 1,
        command: String::new(),
        plan: Value::Null,
        owner: None,
        state: RunState::Open,
        steps: 0,
        at_step: 0,
        events: 0,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
    };
    house
        .store
        .commit(vec![Change::BeginRun(run)])
        .await
        .unwrap();
    (house, append)
}

/// Who is in the run, by place; the places have no gaps.
async fn who(house: &House) -> Vec<Value> {
    let run = house.store.run_with_events(&"run".into()).await.unwrap();
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
    let (house, _) = house(None).await;
    let house = Arc::new(house);
    let calls = (0..30_u32).map(|who| {
        let house = house.clone();
        tokio::spawn(async move { done(house.call("append", json!({ "who": who })).await) })
    });
    let outputs: Vec<Value> = join_all(calls)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let there = who(&house).await;
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
        let (house, append) = house(None).await;
        let arguments = json!({ "who": 1, "others": 2, "keeps": keeps });
        assert_eq!(done(house.call("append", arguments).await)["seq"], 3);
        assert_eq!(append.runs.load(Ordering::Acquire), 3);
        assert_eq!(who(&house).await, [1_000, 1_001, 1]);
    }
}

#[tokio::test]
async fn a_call_that_asked_a_model_is_not_run_again() {
    let model = Scripted::new([says(r#"{"view":"yes","percent":85}"#)]);
    let (house, append) = house(Some(model.clone())).await;
    let arguments = json!({ "who": 1, "others": 1, "thinks": true });
    let error = house.call("append", arguments).await.unwrap_err();
    assert_eq!(error.code(), "Conflict");
    assert_eq!(append.runs.load(Ordering::Acquire), 1);
    assert_eq!(model.asked().len(), 1);
    assert_eq!(who(&house).await, [1_000]);
    let record = house.last_record().await;
    assert_eq!(record.error_code.as_deref(), Some("Conflict"));
    assert_eq!(record.spent.model_calls, 1, "what was spent is told");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_always_late_gives_up() {
    // In its last leg, and in one before it.
    for last in [1, 2] {
        let late = StoreError::Conflict {
            reason: "late".to_owned(),
        };
        let climb = Climb::default();
        let registry = Registry::new(parts(Recorder::failing(late), None)).with(climb.clone());
        let arguments = json!({ "step": 1, "last": last });
        let answer = registry.call("climb", arguments, Caller::default()).await;
        assert_eq!(answer.unwrap_err().code(), "Conflict");
        assert_eq!(climb.ran(), [1; 51], "once, and fifty times again");
    }
}
