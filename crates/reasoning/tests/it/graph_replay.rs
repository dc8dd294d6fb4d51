//! Graphs whose client thinks: the same asks in one round, the same stored state in the end.

use deliberate_core::{GraphEdge, GraphNode, Timestamp};
use deliberate_toolkit::{Answer, NeedsReply};
use serde_json::{Value, json};

use crate::{
    desk::Desk,
    graph_kit::{edge, judged, merged, plant, planted, refined, stored, thought},
};

async fn waits(desk: &Desk, tool: &str, arguments: Value) -> NeedsReply {
    match desk.use_tool(tool, arguments).await {
        Ok(Answer::NeedsReply(needs)) => needs,
        other => panic!("{other:?}"),
    }
}

/// Without times and ids, which count what happens.
fn plain((mut nodes, mut edges): (Vec<GraphNode>, Vec<GraphEdge>)) -> Value {
    let ids: Vec<_> = nodes.iter().map(|node| node.id.clone()).collect();
    let place = |id: &deliberate_core::NodeId| ids.iter().position(|it| it == id).unwrap();
    let ends: Vec<_> = edges
        .iter()
        .map(|edge| (place(&edge.from_node), place(&edge.to_node)))
        .collect();
    for node in &mut nodes {
        node.id = "".into();
        node.created_at = Timestamp::from_micros(0);
    }
    for edge in &mut edges {
        (edge.id, edge.from_node, edge.to_node) = ("".into(), "".into(), "".into());
        edge.created_at = Timestamp::from_micros(0);
    }
    json!([nodes, edges, ends])
}

async fn garden(desk: &Desk) {
    use deliberate_core::EdgeKind::Generates;
    plant(
        desk,
        vec![
            planted("r", 0, None),
            planted("a", 1, None),
            planted("b", 1, Some(0.5)),
        ],
        vec![edge("r", Generates, "a"), edge("r", Generates, "b")],
    )
    .await;
}

#[tokio::test]
async fn the_client_thinks_and_the_graph_is_the_same() {
    for (tool, arguments, rounds) in [
        (
            "reasoning_got_generate",
            json!({ "graph_id": "g", "node_id": "a", "k": 3 }),
            vec![vec![thought("one"), thought("two"), thought("One")]],
        ),
        (
            "reasoning_got_score",
            json!({ "graph_id": "g", "node_id": "a" }),
            vec![vec![judged(40)]],
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": "g", "node_ids": ["a", "b"] }),
            vec![vec![merged("all")]],
        ),
        (
            "reasoning_got_refine",
            json!({ "graph_id": "g", "node_id": "a" }),
            vec![vec![refined("better"), judged(40)], vec![judged(60)]],
        ),
        (
            "reasoning_got_refine",
            json!({ "graph_id": "g", "node_id": "b" }),
            vec![vec![refined("worse")], vec![judged(40)]],
        ),
    ] {
        let asked = Desk::new();
        garden(&asked).await;
        asked.will_say(rounds.iter().flatten().cloned());
        let expected = asked.done(tool, arguments.clone()).await;

        let driven = Desk::without_model();
        garden(&driven).await;
        let before = stored(&driven, &json!("g")).await;
        let mut needs = waits(&driven, tool, arguments).await;
        for (number, round) in rounds.iter().enumerate() {
            assert_eq!(stored(&driven, &json!("g")).await, before);
            assert_eq!(needs.asks.len(), round.len(), "{tool}");
            let replies: Vec<_> = round.iter().map(|reply| &reply.text).collect();
            let resume = json!({ "id": needs.id, "replies": replies });
            if number + 1 < rounds.len() {
                needs = waits(&driven, "reasoning_resume", resume).await;
            } else {
                let output = driven.done("reasoning_resume", resume.clone()).await;
                let again = driven.done("reasoning_resume", resume).await;
                assert_eq!(again, output);
                for field in ["count", "content", "overall_score", "kept", "quality_delta"] {
                    assert_eq!(output.get(field), expected.get(field), "{tool} {field}");
                }
            }
        }
        assert_eq!(
            plain(stored(&driven, &json!("g")).await),
            plain(stored(&asked, &json!("g")).await),
            "{tool}"
        );
    }
}

#[tokio::test]
async fn what_happens_while_the_client_thinks_is_minded() {
    let desk = Desk::without_model();
    garden(&desk).await;
    let arguments = json!({ "graph_id": "g", "node_id": "b", "k": 2 });
    let needs = waits(&desk, "reasoning_got_generate", arguments).await;
    let score = waits(
        &desk,
        "reasoning_got_score",
        json!({ "graph_id": "g", "node_id": "b" }),
    )
    .await;
    let resume = json!({ "id": score.id, "replies": [judged(10).text] });
    desk.done("reasoning_resume", resume).await;
    desk.done("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    let before = stored(&desk, &json!("g")).await;
    let replies = [thought("one").text, thought("two").text];
    let resume = json!({ "id": needs.id, "replies": replies });
    let error = desk.refused("reasoning_resume", resume).await;
    assert_eq!(error.code(), "NodePruned");
    assert_eq!(stored(&desk, &json!("g")).await, before);
}

#[tokio::test]
async fn a_score_given_meanwhile_is_not_lost() {
    let desk = Desk::without_model();
    garden(&desk).await;
    let arguments = json!({ "graph_id": "g", "node_id": "a", "k": 1 });
    let grows = waits(&desk, "reasoning_got_generate", arguments).await;
    let arguments = json!({ "graph_id": "g", "node_ids": ["a", "b"] });
    let merges = waits(&desk, "reasoning_got_aggregate", arguments).await;
    let arguments = json!({ "graph_id": "g", "node_id": "a" });
    let scores = waits(&desk, "reasoning_got_score", arguments).await;
    for (needs, reply) in [
        (scores, judged(70)),
        (grows, thought("one")),
        (merges, merged("all")),
    ] {
        let resume = json!({ "id": needs.id, "replies": [reply.text] });
        desk.done("reasoning_resume", resume).await;
    }
    let (nodes, edges) = stored(&desk, &json!("g")).await;
    assert_eq!(nodes[1].score, deliberate_core::Score::new(0.7));
    assert!(!nodes[1].is_active);
    assert_eq!((nodes.len(), edges.len()), (5, 5));
}
