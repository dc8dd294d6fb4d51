//! Chain runs and their events.

use std::sync::Arc;

use deliberate_core::{ChainEvent, ChainRun, ChainState, Change};
use deliberate_store::{ChainRunFilter, Store, StoreError};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{ALL, Fixture, commit};
use crate::samples::{ODD_TEXT, at_second, odd_json, session};

/// An open run without events.
pub(crate) fn run(base: &str, number: i64) -> ChainRun {
    ChainRun {
        id: format!("chain-{base}#{number}").into(),
        base: base.to_owned(),
        number,
        command: format!(">>{base}"),
        plan: json!([{ "step": 1 }]),
        owner: None,
        state: ChainState::Open,
        steps: 3,
        at_step: 0,
        events: 0,
        created_at: at_second(0),
        updated_at: at_second(0),
    }
}

pub(crate) fn event(run: &ChainRun, seq: u32) -> ChainEvent {
    ChainEvent {
        run_id: run.id.clone(),
        seq,
        kind: "answered".to_owned(),
        step: Some(seq),
        data: json!({ "answer": seq }),
        created_at: at_second(i64::from(seq)),
    }
}

/// Adds the event and leaves the run open.
pub(crate) fn continue_run(event: ChainEvent) -> Change {
    let at_step = event.step.unwrap_or(0);
    Change::AddRunEvent {
        event,
        state: ChainState::Open,
        at_step,
    }
}

pub(crate) fn end(event: ChainEvent, state: ChainState) -> Change {
    Change::AddRunEvent {
        event,
        state,
        at_step: 3,
    }
}

fn conflict(reason: &str) -> Result<(), StoreError> {
    Err(StoreError::Conflict {
        reason: reason.to_owned(),
    })
}

fn advanced_conflict() -> Result<(), StoreError> {
    conflict("the run advanced meanwhile")
}

fn started_conflict() -> Result<(), StoreError> {
    conflict("a run of that number was started meanwhile")
}

async fn load_run(store: &dyn Store, run: &ChainRun) -> Option<(ChainRun, Vec<ChainEvent>)> {
    store.run_with_events(&run.id).await.unwrap()
}

pub(crate) async fn a_run_and_its_events_come_back_whole(it: Fixture) {
    let plain = run("plain", 1);
    let odd = ChainRun {
        command: ODD_TEXT.to_owned(),
        plan: odd_json(),
        owner: Some(ODD_TEXT.to_owned()),
        number: i64::MAX,
        ..run(ODD_TEXT, 1)
    };
    let deep = (0..120).fold(json!(0.1), |inner, _| json!([inner]));
    let happened: Vec<_> = [odd_json(), Value::Null, json!("a\nb"), deep]
        .into_iter()
        .zip(1..)
        .map(|(data, seq)| ChainEvent {
            kind: format!("{ODD_TEXT}{seq}"),
            step: (seq % 2 == 0).then_some(u32::MAX),
            data,
            ..event(&odd, seq)
        })
        .collect();
    let mut changes = vec![
        Change::StartRun(plain.clone()),
        Change::StartRun(odd.clone()),
    ];
    changes.extend(happened.iter().cloned().map(continue_run));
    commit(&*it.store, changes).await;
    let odd = ChainRun {
        at_step: u32::MAX,
        events: 4,
        updated_at: at_second(4),
        ..odd
    };
    assert_eq!(it.store.run(&odd.id).await.unwrap(), Some(odd.clone()));
    assert_eq!(
        load_run(&*it.store, &odd).await,
        Some((odd.clone(), happened.clone()))
    );
    let without = it.store.run_without_plan(&odd.id).await.unwrap();
    let plan = Value::Null;
    assert_eq!(
        without,
        Some((
            ChainRun {
                plan,
                ..odd.clone()
            },
            happened
        ))
    );
    assert_eq!(it.store.run(&plain.id).await.unwrap(), Some(plain.clone()));
    assert_eq!(
        load_run(&*it.store, &plain).await,
        Some((plain.clone(), Vec::new()))
    );
}

pub(crate) async fn what_never_ran_is_none_or_empty(it: Fixture) {
    let missing = run("missing", 1);
    assert_eq!(it.store.run(&missing.id).await.unwrap(), None);
    assert_eq!(load_run(&*it.store, &missing).await, None);
    let without = it.store.run_without_plan(&missing.id).await.unwrap();
    assert_eq!(without, None);
    assert_eq!(it.store.newest_run("missing", None).await.unwrap(), None);
    assert_eq!(it.store.last_run_number("missing").await.unwrap(), 0);
    let all = it
        .store
        .runs(&ChainRunFilter::default(), ALL)
        .await
        .unwrap();
    assert_eq!(all, []);
    let outcome = it
        .store
        .commit(vec![continue_run(event(&missing, 1))])
        .await;
    assert_eq!(outcome, advanced_conflict());
    let outcome = it.store.commit(vec![Change::DeleteRun(missing.id)]).await;
    assert!(matches!(outcome, Err(StoreError::Conflict { .. })));
}

pub(crate) async fn a_number_is_begun_once(it: Fixture) {
    let first = run("a", 1);
    commit(&*it.store, vec![Change::StartRun(first.clone())]).await;
    let same_id = ChainRun {
        base: "other".to_owned(),
        number: 7,
        ..first.clone()
    };
    let same_number = ChainRun {
        id: "another".into(),
        ..first.clone()
    };
    for late in [first.clone(), same_id, same_number] {
        let changes = vec![Change::AddSession(session("s")), Change::StartRun(late)];
        assert_eq!(it.store.commit(changes).await, started_conflict());
    }
    assert_eq!(it.store.sessions(ALL).await.unwrap(), []);
    let others = [run("b", 1), run("a", 2)];
    commit(
        &*it.store,
        others.iter().cloned().map(Change::StartRun).collect(),
    )
    .await;
    assert_eq!(it.store.last_run_number("a").await.unwrap(), 2);
    let newest = it.store.newest_run("a", None).await.unwrap();
    assert_eq!(newest, Some("chain-a#2".into()));
    assert_eq!(it.store.run(&first.id).await.unwrap(), Some(first));
}

/// A writer that finds its number taken uses the next: no run is lost, no number used twice.
pub(crate) async fn a_number_is_begun_by_one_of_many(it: Fixture) {
    let handles = [Arc::clone(&it.store), (it.reopen)()];
    let tasks = (0..20_usize).map(|number| {
        let store = Arc::clone(&handles[number % 2]);
        tokio::spawn(async move {
            loop {
                let next = store.last_run_number("a").await.unwrap() + 1;
                let changes = vec![Change::StartRun(run("a", next))];
                match store.commit(changes).await {
                    Ok(()) => return next,
                    refused => assert_eq!(refused, started_conflict()),
                }
            }
        })
    });
    let outcomes = join_all(tasks).await;
    let mut numbers: Vec<_> = outcomes.into_iter().map(|it| it.unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
}

pub(crate) async fn events_follow_each_other_and_no_other_way(it: Fixture) {
    let run = run("a", 1);
    commit(
        &*it.store,
        vec![
            // A new run has no events, whatever its `events` says.
            Change::StartRun(ChainRun {
                events: 5,
                ..run.clone()
            }),
            continue_run(event(&run, 1)),
            continue_run(event(&run, 2)),
        ],
    )
    .await;
    let before = load_run(&*it.store, &run).await;
    for seq in [0, 1, 2, 4, u32::MAX] {
        let outcome = it.store.commit(vec![continue_run(event(&run, seq))]).await;
        assert_eq!(outcome, advanced_conflict(), "{seq}");
    }
    assert_eq!(load_run(&*it.store, &run).await, before);
    commit(&*it.store, vec![continue_run(event(&run, 3))]).await;
    let (_, events) = load_run(&*it.store, &run).await.unwrap();
    assert_eq!(events, [1, 2, 3].map(|seq| event(&run, seq)));
}

pub(crate) async fn an_event_that_comes_too_late_leaves_nothing(it: Fixture) {
    let run = run("a", 1);
    commit(
        &*it.store,
        vec![Change::StartRun(run.clone()), continue_run(event(&run, 1))],
    )
    .await;
    let before = load_run(&*it.store, &run).await;
    let changes = vec![
        Change::AddSession(session("s")),
        continue_run(event(&run, 2)),
        continue_run(event(&run, 2)),
    ];
    assert_eq!(it.store.commit(changes).await, advanced_conflict());
    assert_eq!(load_run(&*it.store, &run).await, before);
    assert_eq!(it.store.sessions(ALL).await.unwrap(), []);
}

pub(crate) async fn an_ended_run_takes_no_more_events(it: Fixture) {
    for (number, state) in [(1, ChainState::Done), (2, ChainState::Aborted)] {
        let run = run("a", number);
        commit(
            &*it.store,
            vec![Change::StartRun(run.clone()), end(event(&run, 1), state)],
        )
        .await;
        for change in [
            continue_run(event(&run, 2)),
            end(event(&run, 2), ChainState::Done),
        ] {
            assert_eq!(it.store.commit(vec![change]).await, advanced_conflict());
        }
        let (ended, events) = load_run(&*it.store, &run).await.unwrap();
        assert_eq!((ended.state, ended.at_step, ended.events), (state, 3, 1));
        assert_eq!(events, [event(&run, 1)]);
    }
}

pub(crate) async fn a_runs_time_never_goes_back(it: Fixture) {
    let run = run("a", 1);
    let early = ChainEvent {
        created_at: at_second(-50),
        ..event(&run, 1)
    };
    commit(
        &*it.store,
        vec![Change::StartRun(run.clone()), continue_run(early.clone())],
    )
    .await;
    let (kept, events) = load_run(&*it.store, &run).await.unwrap();
    assert_eq!((kept.updated_at, events), (at_second(0), vec![early]));
}

/// Two processes answer every step at once, each with a session of its own beside the event.
pub(crate) async fn of_two_who_go_on_at_once_one_does(it: Fixture) {
    let run = run("a", 1);
    commit(&*it.store, vec![Change::StartRun(run.clone())]).await;
    let handles = [Arc::clone(&it.store), (it.reopen)()];
    let mut won = Vec::new();
    for seq in 1..=25 {
        let attempts = handles.iter().enumerate().map(|(who, store)| {
            let mine = ChainEvent {
                data: json!(who),
                ..event(&run, seq)
            };
            let beside = Change::AddSession(session(&format!("{seq}-{who}")));
            let store = Arc::clone(store);
            tokio::spawn(async move { store.commit(vec![beside, continue_run(mine)]).await })
        });
        let mut winners = Vec::new();
        for (who, outcome) in join_all(attempts).await.into_iter().enumerate() {
            match outcome.unwrap() {
                Ok(()) => winners.push(who),
                refused => assert_eq!(refused, advanced_conflict()),
            }
        }
        assert_eq!(winners.len(), 1, "event {seq}");
        won.extend(winners);
    }
    for store in &handles {
        let (kept, events) = load_run(&**store, &run).await.unwrap();
        assert_eq!((kept.events, kept.at_step), (25, 25));
        let data: Vec<_> = events.into_iter().map(|event| event.data).collect();
        assert_eq!(data, won.iter().map(|who| json!(who)).collect::<Vec<_>>());
    }
    assert_eq!(it.store.sessions(ALL).await.unwrap().len(), 25);
}

/// While another process continues a run, each read has as many events as the run's row says.
pub(crate) async fn a_read_shows_one_moment(it: Fixture) {
    let run = run("a", 1);
    commit(&*it.store, vec![Change::StartRun(run.clone())]).await;
    let (writer, ours) = ((it.reopen)(), run.clone());
    let writing = tokio::spawn(async move {
        for seq in 1..=80 {
            commit(&*writer, vec![continue_run(event(&ours, seq))]).await;
        }
    });
    let mut seen = 0;
    while seen < 80 {
        let (kept, events) = load_run(&*it.store, &run).await.unwrap();
        assert_eq!(usize::try_from(kept.events), Ok(events.len()));
        assert!(kept.events >= seen, "what was seen stays");
        seen = kept.events;
    }
    writing.await.unwrap();
}

pub(crate) async fn hundreds_of_events_come_in_order(it: Fixture) {
    let runs = [run("a", 1), run("a", 10), run("b", 1)];
    let mut changes: Vec<_> = runs.iter().cloned().map(Change::StartRun).collect();
    for seq in 1..=300 {
        changes.extend(runs.iter().map(|run| continue_run(event(run, seq))));
    }
    commit(&*it.store, changes).await;
    for run in &runs {
        let (kept, events) = load_run(&*it.store, run).await.unwrap();
        assert_eq!((kept.events, kept.at_step), (300, 300));
        let wanted: Vec<_> = (1..=300).map(|seq| event(run, seq)).collect();
        assert_eq!(events, wanted);
    }
}

pub(crate) async fn what_happened_survives_closing(it: Fixture) {
    let run = run("a", 1);
    commit(&*it.store, vec![Change::StartRun(run.clone())]).await;
    for seq in 1..=3 {
        commit(&*it.store, vec![continue_run(event(&run, seq))]).await;
    }
    let before = load_run(&*it.store, &run).await;
    it.store.close().await;
    let closed = it.store.run_with_events(&run.id).await;
    assert_eq!(closed, Err(StoreError::Closed));
    let again = (it.reopen)();
    assert_eq!(load_run(&*again, &run).await, before);
    commit(&*again, vec![end(event(&run, 4), ChainState::Done)]).await;
    assert_eq!(load_run(&*again, &run).await.unwrap().1.len(), 4);
}

pub(crate) async fn a_deleted_run_takes_its_events_along(it: Fixture) {
    let run = run("a", 1);
    let begin = vec![Change::StartRun(run.clone()), continue_run(event(&run, 1))];
    commit(&*it.store, begin.clone()).await;
    commit(&*it.store, vec![Change::DeleteRun(run.id.clone())]).await;
    assert_eq!(load_run(&*it.store, &run).await, None);
    // An event that was not deleted would conflict with this one.
    commit(&*it.store, begin).await;
    assert_eq!(load_run(&*it.store, &run).await.unwrap().1.len(), 1);
}
