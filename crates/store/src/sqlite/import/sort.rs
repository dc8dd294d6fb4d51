//! Orders the changes of an import.
//!
//! The old tables are read one after the other, but a checkpoint can be returned to only if
//! everything earlier is committed before it and everything later after it.

use std::collections::HashMap;

use deliberate_core::{Change, Timestamp};

/// The position of a change. The variants are declared in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    /// Sessions, because everything belongs to one.
    First,
    /// Ordered by time. At equal times checkpoints come last, so that returning to one sets aside
    /// too little rather than too much.
    ByTime(Timestamp, SortRank),
    /// The active branches of sessions, which are set when everything else is imported.
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SortRank {
    Row,
    Checkpoint,
}

/// The kind of entity that a change can refer to. Ids are unique within a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ReferencedKind {
    Branch,
    Thought,
    Snapshot,
    Graph,
    Node,
}

/// The entity that a change adds.
struct AddedEntity<'a> {
    time: Timestamp,
    rank: SortRank,
    /// The name by which other changes refer to it, if any do.
    name: Option<(ReferencedKind, &'a str)>,
    /// The entities that it refers to.
    refers_to: Vec<(ReferencedKind, &'a str)>,
}

/// Sorts the changes by time and keeps their order at equal times. No change moves before one that
/// it refers to, whatever its time; the given order must already have that property.
pub(super) fn sort_by_time(changes: Vec<Change>) -> Vec<Change> {
    let mut known = HashMap::new();
    let places: Vec<SortKey> = changes
        .iter()
        .map(|change| sort_key(change, &mut known))
        .collect();
    let mut placed: Vec<_> = places.into_iter().zip(changes).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, change)| change).collect()
}

fn sort_key<'a>(
    change: &'a Change,
    known: &mut HashMap<(ReferencedKind, &'a str), Timestamp>,
) -> SortKey {
    if matches!(change, Change::AddSession(_)) {
        return SortKey::First;
    }
    let Some(added) = added_entity(change) else {
        return SortKey::Last;
    };
    let references = added.refers_to.iter().filter_map(|it| known.get(it));
    let at = references.copied().fold(added.time, Timestamp::max);
    if let Some(name) = added.name {
        known.insert(name, at);
    }
    SortKey::ByTime(at, added.rank)
}

fn reference<Id: AsRef<str>>(
    kind: ReferencedKind,
    id: Option<&Id>,
) -> Option<(ReferencedKind, &str)> {
    id.map(|id| (kind, id.as_ref()))
}

fn added_entity(change: &Change) -> Option<AddedEntity<'_>> {
    use ReferencedKind::{Branch, Graph, Node, Snapshot, Thought};
    let row = |at, name, refers_to| AddedEntity {
        time: at,
        rank: SortRank::Row,
        name,
        refers_to,
    };
    Some(match change {
        Change::AddBranch(it) => row(
            it.created_at,
            Some((Branch, it.id.as_str())),
            reference(Branch, it.parent_id.as_ref())
                .into_iter()
                .collect(),
        ),
        Change::AddThought(it) => row(
            it.created_at,
            Some((Thought, it.id.as_str())),
            reference(Thought, it.parent_id.as_ref())
                .into_iter()
                .chain(reference(Branch, it.branch_id.as_ref()))
                .collect(),
        ),
        Change::AddCrossRef(it) => row(
            it.created_at,
            None,
            vec![
                (Branch, it.from_branch.as_str()),
                (Branch, it.to_branch.as_str()),
            ],
        ),
        Change::AddCheckpoint(it) => AddedEntity {
            rank: SortRank::Checkpoint,
            ..row(
                it.created_at,
                None,
                reference(Branch, it.branch_id.as_ref())
                    .into_iter()
                    .collect(),
            )
        },
        Change::AddSnapshot(it) => row(
            it.created_at,
            Some((Snapshot, it.id.as_str())),
            reference(Snapshot, it.parent_id.as_ref())
                .into_iter()
                .collect(),
        ),
        Change::AddGraph(it) => row(it.created_at, Some((Graph, it.id.as_str())), Vec::new()),
        Change::AddNode(it) => row(
            it.created_at,
            Some((Node, it.id.as_str())),
            vec![(Graph, it.graph_id.as_str())],
        ),
        Change::AddEdge(it) => row(
            it.created_at,
            None,
            vec![
                (Graph, it.graph_id.as_str()),
                (Node, it.from_node.as_str()),
                (Node, it.to_node.as_str()),
            ],
        ),
        Change::AddInvocation(it) => row(it.created_at, None, Vec::new()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use deliberate_core::{
        Branch, Checkpoint, CrossRef, Graph, GraphEdge, GraphNode, Invocation, Session,
        StateSnapshot, Thought,
    };
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    /// Creates an entity of that second from the given fields and defaults for the others.
    fn sample<T: DeserializeOwned>(id: &str, second: i64, given: Value) -> T {
        let moment = Timestamp::from_micros(second * 1_000_000);
        let mut all = json!({
            "id": id, "session_id": "s", "mode": "linear", "content": "", "confidence": 0.5,
            "state": "active", "priority": 1, "name": "", "snapshot": null, "kind": "asked",
            "ref_type": "supports", "strength": 1, "snapshot_type": "full", "data": null,
            "config": {}, "graph_id": "g", "node_type": "root", "depth": 0, "is_active": true,
            "is_terminal": false, "edge_type": "refines", "weight": 1, "created_at": moment,
            "updated_at": moment,
        });
        if let (Some(all), Value::Object(given)) = (all.as_object_mut(), given) {
            all.extend(given);
        }
        serde_json::from_value(all).unwrap()
    }

    fn thought(id: &str, second: i64, given: Value) -> Change {
        Change::AddThought(sample::<Thought>(id, second, given))
    }

    fn branch(id: &str, second: i64, given: Value) -> Change {
        Change::AddBranch(sample::<Branch>(id, second, given))
    }

    fn checkpoint(id: &str, second: i64, given: Value) -> Change {
        Change::AddCheckpoint(sample::<Checkpoint>(id, second, given))
    }

    fn node(id: &str, second: i64, graph: &str) -> Change {
        Change::AddNode(sample::<GraphNode>(
            id,
            second,
            json!({ "graph_id": graph }),
        ))
    }

    fn id(change: &Change) -> &str {
        match change {
            Change::AddSession(it) => it.id.as_str(),
            Change::AddBranch(it) => it.id.as_str(),
            Change::AddThought(it) => it.id.as_str(),
            Change::AddCrossRef(it) => it.id.as_str(),
            Change::AddCheckpoint(it) => it.id.as_str(),
            Change::AddSnapshot(it) => it.id.as_str(),
            Change::AddGraph(it) => it.id.as_str(),
            Change::AddNode(it) => it.id.as_str(),
            Change::AddEdge(it) => it.id.as_str(),
            Change::SetActiveBranch { .. } => "follow",
            other => panic!("{other:?}"),
        }
    }

    fn sorted_ids(changes: Vec<Change>) -> String {
        let ordered = sort_by_time(changes);
        ordered.iter().map(id).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_come_by_time_between_the_sessions_and_what_those_follow() {
        let session = |id: &str| Change::AddSession(sample::<Session>(id, 100, json!({})));
        let follow = Change::SetActiveBranch {
            session_id: "s".into(),
            branch_id: Some("b".into()),
            at: Timestamp::from_micros(0),
        };
        let changes = vec![
            session("s"),
            session("z"),
            branch("b", 2, json!({})),
            thought("t5", 5, json!({})),
            thought("t1", 1, json!({})),
            checkpoint("c3", 3, json!({})),
            node("n4", 4, "g"),
            follow,
        ];
        assert_eq!(sorted_ids(changes), "s z t1 b c3 n4 t5 follow");
    }

    #[test]
    fn at_the_same_time_a_checkpoint_comes_last_and_rows_as_they_came() {
        let changes = vec![
            thought("t2", 1, json!({})),
            thought("t1", 1, json!({})),
            checkpoint("c", 1, json!({})),
            node("n", 1, "g"),
            thought("later", 2, json!({})),
        ];
        assert_eq!(sorted_ids(changes), "t2 t1 n c later");
    }

    #[test]
    fn nothing_comes_before_what_it_refers_to() {
        let changes = vec![
            branch("b", 9, json!({})),
            branch("b-child", 1, json!({ "parent_id": "b" })),
            thought("on-child", 2, json!({ "branch_id": "b-child" })),
            thought("next", 3, json!({ "parent_id": "on-child" })),
            Change::AddCrossRef(sample::<CrossRef>(
                "r",
                1,
                json!({ "from_branch": "b", "to_branch": "b-child" }),
            )),
            checkpoint("c", 1, json!({ "branch_id": "b" })),
            checkpoint("early", 8, json!({})),
            Change::AddSnapshot(sample::<StateSnapshot>("p", 9, json!({}))),
            Change::AddSnapshot(sample::<StateSnapshot>(
                "p2",
                1,
                json!({ "parent_id": "p" }),
            )),
            Change::AddGraph(sample::<Graph>("g", 9, json!({}))),
            node("n1", 1, "g"),
            node("n2", 10, "g"),
            Change::AddEdge(sample::<GraphEdge>(
                "e",
                1,
                json!({ "from_node": "n1", "to_node": "n2" }),
            )),
        ];
        assert_eq!(
            sorted_ids(changes),
            "early b b-child on-child next r p p2 g n1 c n2 e"
        );
    }

    #[test]
    fn kinds_may_use_the_same_ids() {
        let changes = vec![
            branch("1", 9, json!({})),
            thought("1", 2, json!({})),
            thought("2", 3, json!({ "parent_id": "1" })),
        ];
        assert_eq!(sorted_ids(changes), "1 2 1");
    }

    #[test]
    fn records_of_calls_come_by_time_too() {
        let record = |id: &str, second| {
            let given = json!({
                "tool_name": "", "input": null, "success": true,
                "spent": serde_json::to_value(deliberate_core::ModelUsage::default()).unwrap(),
            });
            Change::AddInvocation(sample::<Invocation>(id, second, given))
        };
        let (early, late) = (record("early", 1), record("late", 2));
        let ordered = sort_by_time(vec![late.clone(), early.clone()]);
        assert_eq!(ordered, [early, late]);
    }
}
