//! Random histories of chain runs, compared with a model that is a list of events.

use std::{cell::Cell, collections::BTreeMap};

use deliberate_core::{ChainEvent, ChainRun, ChainState, Change};
use deliberate_store::{ChainRunFilter, Store, StoreError};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tokio::runtime::Handle;

use super::{
    ALL, Fixture,
    chain_runs::{continue_run, end, event, run},
};
use crate::samples::at_second;

#[derive(Debug, Clone)]
enum RunStep {
    Begin(i64),
    /// The event `ahead` of the newest; only one ahead is valid.
    Event {
        number: i64,
        ahead: u32,
        state: ChainState,
    },
    /// The number of ended runs that stay, and the time since when an open one is idle.
    Forget(u32, i64),
    Delete(i64),
}

fn step() -> impl Strategy<Value = RunStep> {
    let state = prop_oneof![
        8 => Just(ChainState::Open),
        1 => Just(ChainState::Done),
        1 => Just(ChainState::Aborted),
    ];
    prop_oneof![
        3 => (1..6_i64).prop_map(RunStep::Begin),
        8 => (1..6_i64, prop_oneof![6 => Just(1), 1 => Just(0), 1 => Just(2)], state)
            .prop_map(|(number, ahead, state)| RunStep::Event { number, ahead, state }),
        1 => (0..3_u32, 0..4_i64).prop_map(|(keep, idle)| RunStep::Forget(keep, idle)),
        1 => (1..6_i64).prop_map(RunStep::Delete),
    ]
}

/// The runs of one base by number.
type RunModel = BTreeMap<i64, (ChainRun, Vec<ChainEvent>)>;

/// Returns the change and whether it is valid; if so, the model applies it.
fn apply(model: &mut RunModel, base: &str, step: &RunStep) -> (Change, bool) {
    match *step {
        RunStep::Begin(number) => {
            let fits = !model.contains_key(&number);
            if fits {
                model.insert(number, (run(base, number), Vec::new()));
            }
            (Change::StartRun(run(base, number)), fits)
        }
        RunStep::Event {
            number,
            ahead,
            state,
        } => {
            let events = model.get(&number).map_or(0, |(run, _)| run.events);
            let added = event(&run(base, number), events + ahead);
            let mut fits = false;
            if let Some((run, events)) = model.get_mut(&number)
                && run.state == ChainState::Open
                && ahead == 1
            {
                fits = true;
                run.state = state;
                run.events += 1;
                run.at_step = if state == ChainState::Open {
                    added.seq
                } else {
                    3
                };
                run.updated_at = added.created_at;
                events.push(added.clone());
            }
            let change = match state {
                ChainState::Open => continue_run(added),
                ended => end(added, ended),
            };
            (change, fits)
        }
        RunStep::Forget(keep, idle) => {
            let ended = model
                .iter()
                .filter(|(_, (run, _))| run.state != ChainState::Open);
            let gone: Vec<_> = ended
                .map(|(number, _)| *number)
                .rev()
                .skip(usize::try_from(keep).unwrap())
                .collect();
            let idle_since = at_second(idle);
            model.retain(|number, (run, _)| {
                let idle = run.state == ChainState::Open && run.updated_at < idle_since;
                !idle && !gone.contains(number)
            });
            let change = Change::PruneRuns {
                base: base.to_owned(),
                keep,
                idle_since,
            };
            (change, true)
        }
        RunStep::Delete(number) => {
            let fits = model.remove(&number).is_some();
            (Change::DeleteRun(run(base, number).id), fits)
        }
    }
}

async fn check(store: &dyn Store, base: &str, model: &RunModel) {
    for number in 1..6 {
        let kept = store.run_with_events(&run(base, number).id).await.unwrap();
        assert_eq!(kept.as_ref(), model.get(&number));
    }
    let filter = ChainRunFilter {
        base: Some(base.to_owned()),
        ..ChainRunFilter::default()
    };
    assert_eq!(store.runs(&filter, ALL).await.unwrap().len(), model.len());
    let newest = model.last_key_value();
    assert_eq!(
        store.newest_run(base, None).await.unwrap(),
        newest.map(|(_, (run, _))| run.id.clone())
    );
    assert_eq!(
        store.last_run_number(base).await.unwrap(),
        newest.map_or(0, |(number, _)| *number)
    );
}

/// Every other step uses another handle, as another process would.
async fn run_history(stores: [&dyn Store; 2], base: &str, steps: &[RunStep]) {
    let mut model = RunModel::new();
    for (step, store) in steps.iter().zip(stores.into_iter().cycle()) {
        let (change, fits) = apply(&mut model, base, step);
        let outcome = store.commit(vec![change]).await;
        if fits {
            outcome.unwrap();
        } else {
            let refused = matches!(outcome, Err(StoreError::Conflict { .. }));
            assert!(refused, "{outcome:?} for {step:?}");
        }
    }
    for store in stores {
        check(store, base, &model).await;
    }
}

/// All histories share the store, so none may affect another's runs.
pub(crate) async fn any_history_of_runs_is_as_if_they_were_lists(it: Fixture) {
    let config = Config {
        cases: 48,
        failure_persistence: None,
        ..Config::default()
    };
    let other = (it.reopen)();
    let number = Cell::new(0);
    let outcome = tokio::task::block_in_place(|| {
        TestRunner::new(config).run(&vec(step(), 1..60), |steps| {
            number.set(number.get() + 1);
            let base = format!("base{}", number.get());
            Handle::current().block_on(run_history([&*it.store, &*other], &base, &steps));
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
