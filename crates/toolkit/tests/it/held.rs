//! Calls that run on after their caller stopped waiting, and are picked up again.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_thinker::{Ask, Reply, ThinkError, Thinker};
use deliberate_toolkit::{
    Answer, Bounds, Caller, Left, Principal, RESUME, StillRunning, ToolError, Within,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    house::{House, done},
    scripted::says,
};

/// A model that answers when it is let.
struct Slow {
    may_answer: Semaphore,
    asked: Mutex<usize>,
    reply: Result<Reply, ThinkError>,
}

impl Slow {
    fn new() -> Arc<Self> {
        Self::reacting(Ok(says(r#"{"view":"yes","percent":85}"#)))
    }

    fn reacting(reply: Result<Reply, ThinkError>) -> Arc<Self> {
        Arc::new(Self {
            may_answer: Semaphore::new(0),
            asked: Mutex::new(0),
            reply,
        })
    }

    fn asked(&self) -> usize {
        *self.asked.lock().unwrap()
    }
}

impl Thinker for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn think<'a>(&'a self, _: &'a Ask, _: Instant) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            *self.asked.lock().unwrap() += 1;
            self.may_answer.acquire().await.unwrap().forget();
            self.reply.clone()
        })
    }
}

const SOON: Duration = Duration::from_millis(20);

fn why() -> Value {
    json!({ "content": "why?" })
}

async fn within(house: &House, tool: &str, arguments: Value) -> Result<Within, ToolError> {
    let caller = Caller::default();
    house
        .registry
        .call_within(tool, arguments, caller, SOON)
        .await
}

async fn runs_on(house: &House, tool: &str, arguments: Value) -> StillRunning {
    match within(house, tool, arguments).await {
        Ok(Within::StillRunning(running)) => running,
        other => panic!("{other:?}"),
    }
}

fn by_id(running: &StillRunning) -> Value {
    json!({ "id": running.id })
}

async fn left(house: &House, id: &str) -> Left {
    let left = house.registry.left_call(id, &Principal::default()).await;
    left.unwrap().left
}

#[tokio::test]
async fn a_call_that_takes_long_runs_on_and_its_answer_is_had_by_its_id() {
    let model = Slow::new();
    let house = House::thinking(model.clone());
    let running = runs_on(&house, "ponder", why()).await;
    assert!(running.next.contains(RESUME), "{}", running.next);
    assert_eq!(
        left(&house, &running.id).await,
        Left::Running(String::new())
    );
    assert_eq!(
        runs_on(&house, RESUME, by_id(&running)).await.id,
        running.id
    );

    model.may_answer.add_permits(1);
    let output = done(house.call(RESUME, by_id(&running)).await);
    assert_eq!(output["content"], "yes");
    assert_eq!(
        left(&house, &running.id).await,
        Left::Ended(Ok(output.clone()))
    );
    assert_eq!(done(house.call(RESUME, by_id(&running)).await), output);
    assert_eq!(house.thoughts().await.len(), 1);
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn a_call_that_is_quick_leaves_nothing_to_pick_up() {
    let model = Slow::new();
    model.may_answer.add_permits(1);
    let house = House::thinking(model);
    let patient = Duration::from_mins(1);
    let caller = Caller::default();
    let answer = house
        .registry
        .call_within("ponder", why(), caller, patient)
        .await;
    assert!(
        matches!(answer, Ok(Within::Answered(Answer::Done(_)))),
        "{answer:?}"
    );
}

#[tokio::test]
async fn several_may_wait_for_one_call_and_all_get_its_answer() {
    let model = Slow::new();
    let house = House::thinking(model.clone());
    let running = runs_on(&house, "ponder", why()).await;
    let waiting = (0..8).map(|_| house.call(RESUME, by_id(&running)));
    let (answers, ()) = tokio::join!(futures::future::join_all(waiting), async {
        tokio::time::sleep(SOON).await;
        model.may_answer.add_permits(1);
    });
    let outputs: Vec<Value> = answers.into_iter().map(done).collect();
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_failure_nobody_waited_for_is_told_to_who_asks() {
    let refused = ThinkError::Api {
        provider: "slow".to_owned(),
        status: 403,
        message: "no".to_owned(),
    };
    let model = Slow::reacting(Err(refused.clone()));
    let house = House::thinking(model.clone());
    let running = runs_on(&house, "ponder", why()).await;
    model.may_answer.add_permits(9);
    let first = house.call(RESUME, by_id(&running)).await.unwrap_err();
    let again = house.call(RESUME, by_id(&running)).await.unwrap_err();
    let plain = ToolError::from(refused);
    assert_eq!(first, again);
    assert_eq!(
        (first.code(), first.to_string(), first.hint()),
        (plain.code(), plain.to_string(), plain.hint())
    );
    assert_eq!(house.thoughts().await, []);
}

#[tokio::test]
async fn a_call_whose_process_died_is_run_again_by_who_asks_for_it() {
    let model = Slow::new();
    let house = House::thinking(model);
    let running = runs_on(&house, "ponder", why()).await;
    let quick = Slow::new();
    quick.may_answer.add_permits(1);
    let other = house.beside(Some(quick));
    // It is believed to run until nobody has said so for a while.
    assert_eq!(
        left(&other, &running.id).await,
        Left::Running(String::new())
    );
    house.clock.advance(60_000_000);
    assert_eq!(left(&other, &running.id).await, Left::Abandoned);
    let output = done(other.call(RESUME, by_id(&running)).await);
    assert_eq!(output["content"], "yes");
    assert_eq!(other.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_call_that_was_taken_over_takes_effect_once() {
    let model = Slow::new();
    let house = House::thinking(model.clone());
    let running = runs_on(&house, "ponder", why()).await;
    house.clock.advance(60_000_000);
    let quick = Slow::new();
    quick.may_answer.add_permits(1);
    let other = house.beside(Some(quick));
    let output = done(other.call(RESUME, by_id(&running)).await);
    // The first was not dead, only slow.
    model.may_answer.add_permits(1);
    house.registry.settled().await;
    assert_eq!(done(house.call(RESUME, by_id(&running)).await), output);
    assert_eq!(house.thoughts().await.len(), 1);
}

#[tokio::test]
async fn a_call_runs_on_for_its_owner_alone() {
    let model = Slow::new();
    let house = House::thinking(model);
    let named = |name: &str| Principal {
        name: Some(name.into()),
        ..Principal::default()
    };
    let caller = Caller {
        principal: named("ann"),
        ..Caller::default()
    };
    let answer = house
        .registry
        .call_within("ponder", why(), caller, SOON)
        .await;
    let Ok(Within::StillRunning(running)) = answer else {
        panic!("{answer:?}");
    };
    let missing = house.call(RESUME, by_id(&running)).await.unwrap_err();
    let unknown = house.call(RESUME, json!({ "id": "x" })).await.unwrap_err();
    assert_eq!(missing.code(), unknown.code());
    for stranger in [Principal::default(), named("bob")] {
        let look = house.registry.left_call(&running.id, &stranger).await;
        assert_eq!(look.unwrap_err().code(), unknown.code());
        let stop = house.registry.stop_left_call(&running.id, &stranger).await;
        assert_eq!(stop.unwrap_err().code(), unknown.code());
    }
    let look = house.registry.left_call(&running.id, &named("ann")).await;
    assert!(matches!(look.unwrap().left, Left::Running(_)));
}

#[tokio::test]
async fn a_call_that_runs_on_can_be_stopped() {
    let model = Slow::new();
    let house = House::thinking(model);
    let running = runs_on(&house, "ponder", why()).await;
    let nobody = Principal::default();
    house
        .registry
        .stop_left_call(&running.id, &nobody)
        .await
        .unwrap();
    house.registry.settled().await;
    let ended = house.call(RESUME, by_id(&running)).await.unwrap_err();
    assert_eq!(ended.code(), "Cancelled");
    assert_eq!(house.thoughts().await, []);
}

#[tokio::test]
async fn a_caller_who_cancels_while_waiting_stops_the_call() {
    let house = House::thinking(Slow::new());
    let cancelled = CancellationToken::new();
    let caller = Caller {
        cancelled: cancelled.clone(),
        ..Caller::default()
    };
    let patient = Duration::from_mins(1);
    let call = house.registry.call_within("ponder", why(), caller, patient);
    let (answer, ()) = tokio::join!(call, async {
        tokio::time::sleep(SOON).await;
        cancelled.cancel();
    });
    assert_eq!(answer, Err(ToolError::Cancelled));
    assert_eq!(house.thoughts().await, []);
}

#[tokio::test]
async fn replies_for_a_call_that_runs_are_refused() {
    let house = House::thinking(Slow::new());
    let running = runs_on(&house, "ponder", why()).await;
    let arguments = json!({ "id": running.id, "replies": ["x"] });
    let error = house.call(RESUME, arguments).await.unwrap_err();
    assert_eq!(error.code(), "Validation");
    assert!(error.to_string().contains("left out"), "{error}");
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_even_when_nobody_waits() {
    let bounds = Bounds {
        call_time: Duration::from_secs(3),
        ..Bounds::default()
    };
    let house = House::with(Some(Slow::new()), bounds);
    let running = runs_on(&house, "ponder", why()).await;
    house.registry.settled().await;
    let error = house.call(RESUME, by_id(&running)).await.unwrap_err();
    assert_eq!(error.code(), "Timeout");
}

#[tokio::test]
async fn a_suspended_call_is_asked_for_again_by_its_id_alone() {
    let house = House::without_model();
    let first = crate::house::waits_for(house.call("ponder", why()).await);
    let again = crate::house::waits_for(house.call(RESUME, json!({ "id": first.id })).await);
    assert_eq!(first, again);
}
