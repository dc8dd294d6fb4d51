//! Reads of thoughts by their branch and by their ancestors.

use deliberate_core::{Change, Thought, ThoughtId};
use deliberate_store::{Pagination, Store};

use super::{
    ALL, All, Current, Fixture, commit,
    lists::{ids, with_branches},
    session_view::{backtrack_to, checkpoint_at},
};
use crate::samples::{session, thought};

/// A thought of session `s` that builds on another.
fn child_thought(parent: &str, id: &str) -> Change {
    Change::AddThought(Thought {
        parent_id: Some(parent.into()),
        ..thought(id, "s")
    })
}

pub(crate) async fn the_latest_on_a_branch_come_newest_first(it: Fixture) {
    with_branches(&it).await;
    let latest = async |branch: &str, limit| {
        let branch = branch.into();
        let thoughts = it
            .store
            .latest_branch_thoughts(&branch, limit)
            .await
            .unwrap();
        ids(&thoughts).join(" ")
    };
    assert_eq!(latest("a", 9).await, "more kept");
    assert_eq!(latest("a", 1).await, "more");
    assert_eq!(latest("a", 0).await, "");
    assert_eq!(latest("b", 9).await, "", "all of it was set aside");
}

pub(crate) async fn the_thoughts_on_a_branch_come_oldest_first_in_pages(it: Fixture) {
    with_branches(&it).await;
    let on = async |branch: &str, which, page| {
        let branch = branch.into();
        let thoughts = it
            .store
            .branch_thoughts(&branch, which, page)
            .await
            .unwrap();
        ids(&thoughts).join(" ")
    };
    assert_eq!(on("a", Current, ALL).await, "kept more");
    assert_eq!(on("a", All, ALL).await, "gone kept more");
    assert_eq!(on("b", Current, ALL).await, "", "all of it was set aside");
    assert_eq!(on("b", All, ALL).await, "aside");
    for (offset, limit, current, all) in [
        (0, 1, "kept", "gone"),
        (1, 1, "more", "kept"),
        (1, 9, "more", "kept more"),
        (2, 9, "", "more"),
        (3, 9, "", ""),
        (0, 0, "", ""),
        (u32::MAX, u32::MAX, "", ""),
    ] {
        let page = Pagination { offset, limit };
        assert_eq!(on("a", Current, page).await, current, "{page:?}");
        assert_eq!(on("a", All, page).await, all, "{page:?}");
    }
    commit(&*it.store, vec![backtrack_to("left", "again", None)]).await;
    assert_eq!(on("a", Current, ALL).await, "gone");
    assert_eq!(on("a", All, ALL).await, "gone kept more");
    assert_eq!(on("b", Current, ALL).await, "aside");
}

pub(crate) async fn a_session_opens_with_the_first_current_thought_that_was_given_something(
    fixture: Fixture,
) {
    let store = &*fixture.store;
    let given = |id: &str, session: &str| {
        Change::AddThought(Thought {
            input: Some(format!("what of {id}?")),
            ..thought(id, session)
        })
    };
    let opening = async || {
        let opening = store.first_prompt(&"s".into()).await.unwrap();
        opening.map(|it| (it.id.to_string(), it.input.unwrap()))
    };
    let is = |id: &str| Some((id.to_owned(), format!("what of {id}?")));
    commit(
        store,
        vec![
            Change::AddSession(session("other")),
            given("theirs", "other"),
            Change::AddSession(session("s")),
            Change::AddThought(thought("bare", "s")),
            checkpoint_at("c", None),
        ],
    )
    .await;
    assert_eq!(opening().await, None, "nothing was given");
    commit(store, vec![given("first", "s"), given("second", "s")]).await;
    assert_eq!(opening().await, is("first"));
    commit(store, vec![backtrack_to("c", "left", None)]).await;
    assert_eq!(opening().await, None, "it was set aside");
    commit(store, vec![given("third", "s")]).await;
    assert_eq!(opening().await, is("third"));
    commit(store, vec![backtrack_to("left", "again", None)]).await;
    assert_eq!(opening().await, is("first"));
}

pub(crate) async fn a_line_goes_from_a_thought_to_what_it_built_on(it: Fixture) {
    let mut changes = vec![Change::AddSession(session("s"))];
    for number in 0..1_200 {
        let parent_id = (number > 0).then(|| format!("t{}", number - 1).into());
        changes.push(Change::AddThought(Thought {
            parent_id,
            ..thought(&format!("t{number}"), "s")
        }));
        // Not an ancestor.
        changes.push(Change::AddThought(thought(&format!("x{number}"), "s")));
    }
    commit(&*it.store, changes).await;
    let line = async |from: &str, limit| {
        let thoughts = it.store.ancestors(&from.into(), limit).await.unwrap();
        let names = ids(&thoughts).into_iter().map(str::to_owned);
        names.collect::<Vec<_>>()
    };
    assert_eq!(line("t3", 9).await, ["t3", "t2", "t1", "t0"]);
    assert_eq!(line("t3", 2).await, ["t3", "t2"]);
    assert_eq!(line("t3", 0).await, [""; 0]);
    assert_eq!(line("x7", 9).await, ["x7"]);
    let longest = line("t1199", u32::MAX).await;
    assert_eq!(longest.len(), Pagination::MAX as usize);
    assert_eq!(longest.last().unwrap(), "t200");
}

/// A thought keeps its parent even if that is set aside.
pub(crate) async fn a_line_may_lead_through_what_was_set_aside(it: Fixture) {
    with_branches(&it).await;
    let line = it.store.ancestors(&"aside".into(), 9).await.unwrap();
    assert_eq!(ids(&line), ["aside", "gone"]);
    assert!(line.iter().all(|it| it.set_aside));
}

/// Returns the roots of these thoughts.
async fn line_starts(store: &dyn Store, thoughts: &[&str]) -> String {
    let mut starts = Vec::new();
    for id in thoughts {
        let start = store.root_thought(&ThoughtId::from(*id)).await.unwrap();
        let whole = store.thought(&start.as_ref().unwrap().id).await.unwrap();
        assert_eq!(start, whole);
        starts.push(start.unwrap().id.to_string());
    }
    starts.join(" ")
}

pub(crate) async fn every_fork_of_a_line_starts_where_the_line_does(it: Fixture) {
    let store = &*it.store;
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddThought(thought("a", "s")),
            child_thought("a", "a1"),
            Change::AddThought(thought("b", "s")),
            child_thought("a1", "a2"),
            child_thought("b", "b1"),
        ],
    )
    .await;
    commit(
        store,
        vec![child_thought("a1", "fork"), child_thought("fork", "fork1")],
    )
    .await;
    commit(
        store,
        vec![child_thought("a2", "a3"), child_thought("b1", "b2")],
    )
    .await;
    let all = ["a", "a1", "a2", "a3", "fork", "fork1", "b", "b1", "b2"];
    assert_eq!(line_starts(store, &all).await, "a a a a a a b b b");
    // The length does not matter.
    let mut line = vec![child_thought("fork1", "x0")];
    for number in 1..1_500 {
        line.push(child_thought(
            &format!("x{}", number - 1),
            &format!("x{number}"),
        ));
    }
    commit(store, line).await;
    assert_eq!(line_starts(store, &["x0", "x1499"]).await, "a a");
}

pub(crate) async fn a_line_starts_where_it_did_whatever_was_set_aside(it: Fixture) {
    let store = &*it.store;
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddThought(thought("a", "s")),
            checkpoint_at("c", None),
            child_thought("a", "a1"),
            Change::AddThought(thought("gone", "s")),
            child_thought("gone", "gone1"),
            backtrack_to("c", "left", None),
            child_thought("a", "new"),
            child_thought("new", "new1"),
        ],
    )
    .await;
    let all = ["a", "a1", "gone", "gone1", "new", "new1"];
    assert_eq!(line_starts(store, &all).await, "a a gone gone a a");
    let start = store.root_thought(&"gone1".into()).await.unwrap().unwrap();
    assert!(start.set_aside);
    commit(
        store,
        vec![
            backtrack_to("left", "again", None),
            child_thought("gone1", "gone2"),
        ],
    )
    .await;
    assert_eq!(line_starts(store, &all).await, "a a gone gone a a");
    assert_eq!(line_starts(store, &["gone2"]).await, "gone");
}

/// A line of thoughts may lead from one session into another and back.
pub(crate) async fn a_line_out_of_a_deleted_session_starts_where_it_left_it(it: Fixture) {
    let store = &*it.store;
    let step = |session: &str, id: &str, parent: Option<&str>| {
        Change::AddThought(Thought {
            parent_id: parent.map(Into::into),
            ..thought(id, session)
        })
    };
    commit(
        store,
        vec![
            Change::AddSession(session("s")),
            Change::AddSession(session("between")),
            Change::AddSession(session("other")),
            step("s", "root", None),
            step("s", "root1", Some("root")),
            step("between", "b", Some("root1")),
            step("between", "b1", Some("b")),
            step("other", "o", Some("b1")),
            step("other", "o1", Some("o")),
            step("other", "fork", Some("root")),
            step("between", "b2", Some("o1")),
            step("other", "o2", Some("b2")),
        ],
    )
    .await;
    let all = ["b", "o", "o1", "fork", "b2", "o2"];
    assert_eq!(
        line_starts(store, &all).await,
        "root root root root root root"
    );
    // First the middle is deleted, then the start.
    commit(store, vec![Change::DeleteSession("between".into())]).await;
    let left = ["root1", "o", "o1", "fork", "o2"];
    assert_eq!(line_starts(store, &left).await, "root o o root o2");
    commit(store, vec![Change::DeleteSession("s".into())]).await;
    let left = ["o", "o1", "fork", "o2"];
    assert_eq!(line_starts(store, &left).await, "o o fork o2");
    assert_eq!(store.root_thought(&"root1".into()).await.unwrap(), None);
}
