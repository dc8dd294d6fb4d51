//! The order, pages and bounds of lists.

use deliberate_core::{Change, Graph, Invocation, Session, Thought};
use deliberate_store::{BranchEntry, EpochFilter, Pagination, SessionEntry};

use super::{
    ALL, All, Current, Fixture, commit,
    session_view::{backtrack_to, checkpoint_at},
};
use crate::samples::{
    at_second, branch, checkpoint, everything, graph, invocation, node, session, thought,
    thought_with_text,
};

pub(super) fn ids(thoughts: &[Thought]) -> Vec<&str> {
    thoughts.iter().map(|thought| thought.id.as_str()).collect()
}

pub(crate) async fn lists_follow_the_order_of_insertion_not_of_time(it: Fixture) {
    // Ids and times are in the reverse order of creation, within a commit and across commits.
    let backwards: Vec<_> = (0..6)
        .rev()
        .map(|number| Thought {
            created_at: at_second(number),
            ..thought(&format!("t{number}"), "s")
        })
        .collect();
    commit(&*it.store, vec![Change::AddSession(session("s"))]).await;
    for pair in backwards.chunks(2) {
        let changes = pair.iter().cloned().map(Change::AddThought).collect();
        commit(&*it.store, changes).await;
    }
    assert_eq!(
        it.store.thoughts(&"s".into(), Current, ALL).await.unwrap(),
        backwards
    );
}

pub(crate) async fn a_page_gives_its_part_and_no_more(it: Fixture) {
    let mut changes = vec![Change::AddSession(session("s"))];
    let names: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
    changes.extend(
        names
            .iter()
            .map(|name| Change::AddThought(thought(name, "s"))),
    );
    commit(&*it.store, changes).await;
    for (offset, limit, wanted) in [
        (0, 3, &names[0..3]),
        (3, 3, &names[3..6]),
        (8, 5, &names[8..10]),
        (10, 5, &[]),
        (u32::MAX, u32::MAX, &[]),
        (0, 0, &[]),
        (0, u32::MAX, &names[..]),
    ] {
        let page = Pagination { offset, limit };
        let thoughts = it.store.thoughts(&"s".into(), Current, page).await.unwrap();
        assert_eq!(ids(&thoughts), wanted, "{page:?}");
    }
}

pub(crate) async fn no_read_gives_more_than_the_most(it: Fixture) {
    let most = Pagination::MAX as usize;
    let mut changes = vec![
        Change::AddSession(session("s")),
        Change::AddBranch(branch("b", "s")),
    ];
    for number in 0..=most {
        changes.push(Change::AddSession(session(&format!("s{number}"))));
        changes.push(Change::AddThought(Thought {
            branch_id: Some("b".into()),
            ..thought(&format!("t{number}"), "s")
        }));
        changes.push(Change::AddCheckpoint(checkpoint(
            &format!("c{number}"),
            "s",
        )));
        changes.push(Change::AddInvocation(invocation(
            &format!("i{number}"),
            Some("s"),
        )));
    }
    commit(&*it.store, changes).await;
    let everything = Pagination::limit(u32::MAX);
    let (store, s) = (&it.store, "s".into());
    assert_eq!(
        store.thoughts(&s, Current, everything).await.unwrap().len(),
        most
    );
    assert_eq!(
        store.latest_thoughts(&s, u32::MAX).await.unwrap().len(),
        most
    );
    for which in [Current, All] {
        let on_branch = store.branch_thoughts(&"b".into(), which, everything).await;
        assert_eq!(on_branch.unwrap().len(), most);
    }
    assert_eq!(store.checkpoints(&s, everything).await.unwrap().len(), most);
    assert_eq!(store.sessions(everything).await.unwrap().len(), most);
    assert_eq!(
        store.invocations(None, everything).await.unwrap().len(),
        most
    );
    assert_eq!(
        store.invocations(Some(&s), everything).await.unwrap().len(),
        most
    );

    let rest = Pagination {
        offset: Pagination::MAX,
        limit: u32::MAX,
    };
    assert_eq!(
        ids(&store.thoughts(&s, Current, rest).await.unwrap()),
        ["t1000"]
    );
    assert_eq!(store.sessions(rest).await.unwrap().len(), 2);
}

pub(crate) async fn the_latest_thoughts_come_newest_first(it: Fixture) {
    let mut changes = vec![
        Change::AddSession(session("s")),
        Change::AddSession(session("other")),
    ];
    for number in 0..5 {
        changes.push(Change::AddThought(thought(&format!("t{number}"), "s")));
        changes.push(Change::AddThought(thought(&format!("o{number}"), "other")));
    }
    commit(&*it.store, changes).await;
    for (limit, wanted) in [
        (0, &[][..]),
        (1, &["t4"]),
        (3, &["t4", "t3", "t2"]),
        (99, &["t4", "t3", "t2", "t1", "t0"]),
    ] {
        let latest = it.store.latest_thoughts(&"s".into(), limit).await.unwrap();
        assert_eq!(ids(&latest), wanted);
    }
}

pub(crate) async fn sessions_come_last_changed_first_with_their_counts(it: Fixture) {
    let first = Session {
        updated_at: at_second(10),
        ..session("first")
    };
    let second = Session {
        updated_at: at_second(20),
        ..session("second")
    };
    let empty = Session {
        updated_at: at_second(15),
        ..session("empty")
    };
    let step = |id: &str, session: &str, second| {
        Change::AddThought(Thought {
            created_at: at_second(second),
            ..thought(id, session)
        })
    };
    let entry = |session: &Session, second, thoughts, nodes| SessionEntry {
        session: Session {
            updated_at: at_second(second),
            ..session.clone()
        },
        thoughts,
        nodes,
    };
    let sessions = [&first, &second, &empty].map(|it| Change::AddSession(it.clone()));
    commit(&*it.store, sessions.to_vec()).await;
    assert_eq!(
        it.store.sessions(ALL).await.unwrap(),
        [
            entry(&second, 20, 0, 0),
            entry(&empty, 15, 0, 0),
            entry(&first, 10, 0, 0)
        ]
    );

    commit(
        &*it.store,
        vec![
            step("a", "second", 21),
            step("b", "first", 30),
            step("c", "first", 31),
            Change::AddGraph(Graph {
                updated_at: at_second(6),
                ..graph("g", "second")
            }),
            Change::AddNode(node("n", "g", "second")),
            Change::AddNode(node("m", "g", "second")),
        ],
    )
    .await;
    let wanted = [
        entry(&first, 31, 2, 0),
        entry(&second, 21, 1, 2),
        entry(&empty, 15, 0, 0),
    ];
    assert_eq!(it.store.sessions(ALL).await.unwrap(), wanted);
    let middle = Pagination {
        offset: 1,
        limit: 1,
    };
    assert_eq!(it.store.sessions(middle).await.unwrap(), wanted[1..2]);
}

/// Session `s` with branches `a` and `b`; `kept` and `more` are on `a`. `gone` is too, but is set
/// aside, as are `b` and its thoughts.
pub(super) async fn with_branches(it: &Fixture) {
    let on = |id: &str, branch: &str, parent: Option<&str>| {
        Change::AddThought(Thought {
            branch_id: Some(branch.into()),
            parent_id: parent.map(Into::into),
            ..thought_with_text(id, "s", id)
        })
    };
    commit(
        &*it.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddBranch(branch("a", "s")),
            checkpoint_at("bare", None),
            on("gone", "a", None),
            Change::AddBranch(branch("b", "s")),
            on("aside", "b", Some("gone")),
            backtrack_to("bare", "left", None),
            on("kept", "a", None),
            Change::AddThought(thought("beside", "s")),
            on("more", "a", Some("kept")),
        ],
    )
    .await;
}

pub(crate) async fn a_branch_is_listed_with_its_opening_and_its_count(it: Fixture) {
    with_branches(&it).await;
    let listed = async |which: EpochFilter| {
        let entries = it.store.branches(&"s".into(), which, ALL).await.unwrap();
        let line = |entry: &BranchEntry| {
            let opening = entry.first_text.as_deref().unwrap_or("nothing");
            format!("{} {} {opening}", entry.branch.id, entry.thoughts)
        };
        entries.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(listed(Current).await, ["a 2 kept"]);
    assert_eq!(listed(All).await, ["a 2 kept", "b 0 aside"]);
    commit(&*it.store, vec![backtrack_to("bare", "again", None)]).await;
    assert_eq!(listed(Current).await, ["a 0 nothing"]);
    commit(&*it.store, vec![backtrack_to("left", "last", None)]).await;
    assert_eq!(listed(Current).await, ["a 1 gone", "b 1 aside"]);
}

pub(crate) async fn records_come_newest_first_for_all_or_for_one_session(it: Fixture) {
    let records = [
        invocation("z", Some("s")),
        invocation("a", None),
        invocation("m", Some("other")),
        invocation("b", Some("s")),
    ];
    let mut changes = vec![
        Change::AddSession(session("s")),
        Change::AddSession(session("other")),
    ];
    changes.extend(records.iter().cloned().map(Change::AddInvocation));
    commit(&*it.store, changes).await;
    let names = |records: Vec<Invocation>| -> Vec<String> {
        records
            .into_iter()
            .map(|record| record.id.to_string())
            .collect()
    };
    let all = it.store.invocations(None, ALL).await.unwrap();
    assert_eq!(names(all), ["b", "m", "a", "z"]);
    let own = it.store.invocations(Some(&"s".into()), ALL).await.unwrap();
    assert_eq!(names(own), ["b", "z"]);
    let middle = Pagination {
        offset: 1,
        limit: 2,
    };
    let part = it.store.invocations(None, middle).await.unwrap();
    assert_eq!(names(part), ["m", "a"]);
}

pub(crate) async fn lists_keep_to_their_session_and_graph(it: Fixture) {
    let (one, two) = (everything("one"), everything("two"));
    commit(&*it.store, one.changes()).await;
    commit(&*it.store, two.changes()).await;
    super::round_trip::assert_everything(&*it.store, &one).await;
    super::round_trip::assert_everything(&*it.store, &two).await;
    assert_eq!(
        it.store
            .nodes(&one.graphs[1].id, Current, ALL)
            .await
            .unwrap(),
        []
    );
    assert_eq!(
        it.store
            .edges(&one.graphs[1].id, Current, ALL)
            .await
            .unwrap(),
        []
    );
}
