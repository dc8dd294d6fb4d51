//! Updates of a node's metadata.

use deliberate_core::{Change, GraphNode, NodeUpdate};
use serde_json::{Value, json};

use super::{
    Fixture, commit,
    session_view::{backtrack_to, checkpoint_at},
    update_node,
};
use crate::samples::{ODD_TEXT, graph, node, odd_json, session};

/// Adds session `s` with graph `g` and node `n` that has this metadata.
async fn add_node_with_metadata(fixture: &Fixture, metadata: Option<Value>) {
    let noted = GraphNode {
        metadata,
        ..node("n", "g", "s")
    };
    commit(
        &*fixture.store,
        vec![
            Change::AddSession(session("s")),
            Change::AddGraph(graph("g", "s")),
            Change::AddNode(noted),
        ],
    )
    .await;
}

async fn add_notes(fixture: &Fixture, notes: Value) {
    let marks = NodeUpdate {
        notes: Some(notes),
        ..NodeUpdate::default()
    };
    commit(&*fixture.store, vec![update_node("n", marks)]).await;
}

/// Asserts that this is the metadata and that nothing else of the node changed.
async fn assert_metadata(fixture: &Fixture, metadata: Option<Value>) {
    let wanted = GraphNode {
        metadata,
        ..node("n", "g", "s")
    };
    let stored = fixture.store.node(&"n".into()).await.unwrap();
    assert_eq!(stored, Some(wanted));
}

/// Deletes session `s` for the next round.
async fn delete_session(fixture: &Fixture) {
    commit(&*fixture.store, vec![Change::DeleteSession("s".into())]).await;
}

pub(crate) async fn notes_join_the_metadata_and_the_rest_of_it_stays(it: Fixture) {
    for earlier in [None, Some(json!({})), Some(odd_json())] {
        add_node_with_metadata(&it, earlier.clone()).await;
        let mut wanted = earlier.unwrap_or_else(|| json!({}));
        for (name, value) in [
            ("critique", json!(ODD_TEXT)),
            ("weak \"'\\.$[0] точка", json!([null, { "deep": [0.1] }])),
            ("", json!({})),
            ("flag", json!(false)),
        ] {
            add_notes(&it, json!({ name: value.clone() })).await;
            wanted[name] = value;
            assert_metadata(&it, Some(wanted.clone())).await;
        }
        delete_session(&it).await;
    }
}

pub(crate) async fn a_note_takes_the_place_of_one_of_its_name(it: Fixture) {
    add_node_with_metadata(&it, Some(odd_json())).await;
    let mut wanted = odd_json();
    for (name, value) in [
        ("text", json!("other")),
        ("list", json!(["other"])),
        ("none", json!(1)),
        ("largest", json!("no number any more")),
        ("ключ \"'\\", json!(0.1 + 0.2)),
    ] {
        add_notes(&it, json!({ name: value.clone() })).await;
        wanted[name] = value;
        assert_metadata(&it, Some(wanted.clone())).await;
    }
}

/// A second judgment must leave nothing of the first, whatever was there before.
pub(crate) async fn a_note_of_null_takes_the_field_away(it: Fixture) {
    for (earlier, wanted) in [
        (None, json!({ "b": 2 })),
        (
            Some(json!({ "a": 1, "c": null })),
            json!({ "b": 2, "c": null }),
        ),
        (Some(json!([1])), json!({ "b": 2, "earlier": [1] })),
    ] {
        add_node_with_metadata(&it, earlier).await;
        add_notes(&it, json!({ "a": null, "b": 2 })).await;
        assert_metadata(&it, Some(wanted)).await;
        delete_session(&it).await;
    }
}

/// Imported nodes may have any metadata.
pub(crate) async fn metadata_that_is_no_object_becomes_a_field(it: Fixture) {
    for earlier in [
        json!("text"),
        json!(ODD_TEXT),
        json!([1, { "a": 0.1 + 0.2 }, [], null]),
        json!(0.1 + 0.2),
        json!(u64::MAX),
        json!(true),
    ] {
        add_node_with_metadata(&it, Some(earlier.clone())).await;
        add_notes(&it, json!({ "critique": "short" })).await;
        let joined = json!({ "earlier": earlier, "critique": "short" });
        assert_metadata(&it, Some(joined)).await;
        // From now on it is an object.
        add_notes(&it, json!({ "more": 1 })).await;
        let joined = json!({ "earlier": earlier, "critique": "short", "more": 1 });
        assert_metadata(&it, Some(joined)).await;
        delete_session(&it).await;
    }
}

pub(crate) async fn fractions_and_large_numbers_keep_all_digits(it: Fixture) {
    let numbers = json!([
        0.1 + 0.2,
        1.0 / 3.0,
        0.123_456_789_012_345_67,
        // Without exact float parsing this would become …2504.
        -516_039_863.321_250_44,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        -f64::MAX,
        1.0 - f64::EPSILON,
        1.0,
        -0.0,
        u64::MAX,
        i64::MIN,
        9_007_199_254_740_993_i64,
    ]);
    for earlier in [json!({ "there": numbers }), numbers.clone()] {
        add_node_with_metadata(&it, Some(earlier.clone())).await;
        add_notes(
            &it,
            json!({ "noted": numbers, "parts": { "deep": numbers } }),
        )
        .await;
        add_notes(&it, json!({ "again": numbers })).await;
        let there = if earlier.is_object() {
            "there"
        } else {
            "earlier"
        };
        let wanted = json!({
            there: numbers,
            "noted": numbers,
            "parts": { "deep": numbers },
            "again": numbers,
        });
        let stored = it.store.node(&"n".into()).await.unwrap().unwrap();
        // Compared as text, because `1` and `1.0`, or `0.0` and `-0.0`, are equal numbers.
        for (name, value) in wanted.as_object().unwrap() {
            let stored = &stored.metadata.as_ref().unwrap()[name];
            assert_eq!(stored.to_string(), value.to_string(), "{name}");
        }
        assert_metadata(&it, Some(wanted)).await;
        delete_session(&it).await;
    }
}

pub(crate) async fn notes_without_fields_change_no_metadata(it: Fixture) {
    for earlier in [Some(json!({ "a": 1 })), Some(json!([1])), None] {
        for notes in [json!("text"), json!([1]), json!(7), Value::Null] {
            add_node_with_metadata(&it, earlier.clone()).await;
            add_notes(&it, notes).await;
            assert_metadata(&it, earlier.clone()).await;
            delete_session(&it).await;
        }
    }
}

pub(crate) async fn notes_return_with_their_checkpoint(it: Fixture) {
    let store = &*it.store;
    add_node_with_metadata(&it, Some(odd_json())).await;
    commit(store, vec![checkpoint_at("c", None)]).await;
    add_notes(&it, json!({ "critique": 1.0 / 3.0, "text": null })).await;
    let mut noted = odd_json();
    noted["critique"] = json!(1.0 / 3.0);
    noted.as_object_mut().unwrap().shift_remove("text");
    assert_metadata(&it, Some(noted.clone())).await;
    commit(store, vec![backtrack_to("c", "left", None)]).await;
    assert_metadata(&it, Some(odd_json())).await;
    add_notes(&it, json!({ "critique": "another" })).await;
    commit(store, vec![backtrack_to("left", "again", None)]).await;
    assert_metadata(&it, Some(noted)).await;
}
