//! Lists of chain runs, and the deletion of old ones.

use deliberate_core::{ChainRun, ChainState, Change};
use deliberate_store::{ChainRunFilter, Pagination, Store};
use serde_json::Value;

use super::{
    ALL, Fixture,
    chain_runs::{continue_run, end, event, run},
    commit,
};
use crate::samples::at_second;

async fn ids(store: &dyn Store, filter: ChainRunFilter, page: Pagination) -> Vec<String> {
    let runs = store.runs(&filter, page).await.unwrap();
    runs.into_iter().map(|run| run.id.to_string()).collect()
}

pub(crate) async fn forgetting_keeps_the_newest_and_all_that_are_open(it: Fixture) {
    for number in 1..=6 {
        let mut changes = Vec::new();
        for run in [run("a", number), run("b", number)] {
            changes.push(Change::StartRun(run.clone()));
            // The first and the fourth stay open.
            if number % 3 != 1 {
                changes.push(end(event(&run, 1), ChainState::Done));
            }
        }
        commit(&*it.store, changes).await;
    }
    let forget = |keep| Change::PruneRuns {
        base: "a".to_owned(),
        keep,
        idle_since: at_second(0),
    };
    let left = async || {
        let of_a = ChainRunFilter {
            base: Some("a".to_owned()),
            ..ChainRunFilter::default()
        };
        let mut ids = ids(&*it.store, of_a, ALL).await;
        ids.sort_unstable();
        ids.concat().replace("chain-a#", "")
    };
    for (keep, wanted) in [(9, "123456"), (2, "1456"), (2, "1456"), (0, "14")] {
        commit(&*it.store, vec![forget(keep)]).await;
        assert_eq!(left().await, wanted, "kept {keep}");
    }
    assert_eq!(
        ids(&*it.store, ChainRunFilter::default(), ALL).await.len(),
        8
    );
    assert_eq!(it.store.last_run_number("a").await.unwrap(), 4);
}

pub(crate) async fn open_runs_that_nobody_goes_on_with_are_forgotten(it: Fixture) {
    let runs = [run("a", 1), run("a", 2), run("a", 3), run("b", 1)];
    let mut changes: Vec<_> = runs.iter().cloned().map(Change::StartRun).collect();
    changes.push(continue_run(event(&runs[1], 1)));
    changes.push(end(event(&runs[2], 1), ChainState::Done));
    commit(&*it.store, changes).await;
    for (idle_since, wanted) in [(0, 4), (1, 3), (1, 3), (2, 2)] {
        let forget = Change::PruneRuns {
            base: "a".to_owned(),
            keep: 9,
            idle_since: at_second(idle_since),
        };
        commit(&*it.store, vec![forget]).await;
        let left = ids(&*it.store, ChainRunFilter::default(), ALL).await;
        assert_eq!(left.len(), wanted, "idle since {idle_since}: {left:?}");
    }
    let mut left = ids(&*it.store, ChainRunFilter::default(), ALL).await;
    left.sort_unstable();
    assert_eq!(left, ["chain-a#3", "chain-b#1"]);
}

pub(crate) async fn the_newest_run_is_looked_up_among_those_of_an_owner(it: Fixture) {
    let owners = [Some("me"), None, Some("me"), Some("you"), None];
    let runs = owners.into_iter().zip(1..).map(|(owner, number)| ChainRun {
        owner: owner.map(str::to_owned),
        ..run("a", number)
    });
    commit(&*it.store, runs.map(Change::StartRun).collect()).await;
    for (owner, wanted) in [
        (None, Some("chain-a#5")),
        (Some("me"), Some("chain-a#3")),
        (Some("you"), Some("chain-a#4")),
        (Some("nobody"), None),
    ] {
        let newest = it.store.newest_run("a", owner).await.unwrap();
        assert_eq!(newest, wanted.map(Into::into), "{owner:?}");
    }
}

pub(crate) async fn runs_come_last_changed_first_without_their_plans(it: Fixture) {
    let runs: Vec<_> = (1..=4).map(|number| run("a", number)).collect();
    let mut changes: Vec<_> = runs.iter().cloned().map(Change::StartRun).collect();
    changes.push(continue_run(event(&runs[1], 1)));
    commit(&*it.store, changes).await;
    let everything = ChainRunFilter::default();
    let all = ids(&*it.store, everything.clone(), ALL).await;
    assert_eq!(all, ["chain-a#2", "chain-a#4", "chain-a#3", "chain-a#1"]);
    let page = Pagination {
        offset: 1,
        limit: 2,
    };
    assert_eq!(ids(&*it.store, everything.clone(), page).await, all[1..3]);
    let listed = it.store.runs(&everything, ALL).await.unwrap();
    let wanted = ChainRun {
        plan: Value::Null,
        ..runs[3].clone()
    };
    assert_eq!(listed[1], wanted);
    assert!(listed.iter().all(|run| run.plan.is_null()));
}

pub(crate) async fn runs_are_listed_by_base_state_and_owner(it: Fixture) {
    let owned = |base, number, owner: Option<&str>, state| ChainRun {
        owner: owner.map(str::to_owned),
        state,
        ..run(base, number)
    };
    let runs = [
        owned("a", 1, None, ChainState::Open),
        owned("a", 2, Some("me"), ChainState::Done),
        owned("a", 3, Some("you"), ChainState::Open),
        owned("b", 4, Some("me"), ChainState::Open),
        owned("b", 5, None, ChainState::Aborted),
    ];
    commit(&*it.store, runs.map(Change::StartRun).to_vec()).await;
    let me = Some(Some("me".to_owned()));
    for (base, state, owner, wanted) in [
        (None, None, None, "54321"),
        (Some("a"), None, None, "321"),
        (None, Some(ChainState::Open), None, "431"),
        (None, None, me.clone(), "42"),
        (None, None, Some(None), "51"),
        (Some("b"), Some(ChainState::Open), me, "4"),
        (Some("b"), Some(ChainState::Done), None, ""),
        (Some("B"), None, None, ""),
    ] {
        let filter = ChainRunFilter {
            base: base.map(str::to_owned),
            state,
            owner,
        };
        let found = ids(&*it.store, filter.clone(), ALL).await;
        let numbers: String = found.iter().filter_map(|id| id.chars().last()).collect();
        assert_eq!(numbers, wanted, "{filter:?}");
    }
}
