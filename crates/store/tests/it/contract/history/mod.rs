//! Random histories of a session, compared with a model in which a checkpoint is a full copy.

mod model;
mod steps;

use std::cell::Cell;

use deliberate_core::Change;
use deliberate_store::{Store, StoreError};
use model::{ExpectedChange, SessionModel};
use proptest::{
    collection::vec,
    test_runner::{Config, TestRunner},
};
use steps::{HistoryStep, step};
use tokio::runtime::Handle;

use super::Fixture;
use crate::samples::session;

/// Runs a history in a session of its own. A change that is invalid must be rejected and change
/// nothing.
async fn run_history(store: &dyn Store, name: &str, steps: &[HistoryStep]) {
    let begin = session(name);
    let mut model = SessionModel::for_session(&begin);
    store.commit(vec![Change::AddSession(begin)]).await.unwrap();
    for step in steps {
        let before = model.now.clone();
        let Some(ExpectedChange {
            change,
            is_valid: fits,
        }) = model.apply(step)
        else {
            continue;
        };
        let returns = if let Change::Backtrack { to, .. } = &change {
            let way = store.preview_backtrack(to).await.unwrap();
            assert_eq!(way, Some(SessionModel::preview(&before, &model.now)));
            SessionModel::check_graph_at(to, &model.now, store).await;
            true
        } else {
            false
        };
        let outcome = store.commit(vec![change]).await;
        if fits {
            outcome.unwrap();
        } else {
            let refused = matches!(outcome, Err(StoreError::Conflict { .. }));
            assert!(refused, "{outcome:?} for {step:?}");
        }
        if returns || !fits {
            model.check(store).await;
        }
    }
    model.check(store).await;
}

/// All histories share the store, so none may affect another's session.
pub(crate) async fn any_history_is_as_if_checkpoints_were_copies(it: Fixture) {
    let config = Config {
        cases: 96,
        failure_persistence: None,
        ..Config::default()
    };
    let number = Cell::new(0);
    let outcome = tokio::task::block_in_place(|| {
        TestRunner::new(config).run(&vec(step(), 1..60), |steps| {
            number.set(number.get() + 1);
            let name = format!("s{}", number.get());
            Handle::current().block_on(run_history(&*it.store, &name, &steps));
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
