//! Graph calls that the client's model answers: the same requests in one round and the same stored
//! state in the end.

use deliberate_core::{GraphEdge, GraphNode, Timestamp};
use deliberate_testkit::fixtures::expect_needs_reply;
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        add_sample_graph, aggregate_reply, continuation_reply, refine_reply, score_reply,
        stored_graph,
    },
    test_registry::ReasoningTestRegistry,
};

/// Removes times and ids, which depend on the number of operations.
fn without_ids_and_times((mut nodes, mut edges): (Vec<GraphNode>, Vec<GraphEdge>)) -> Value {
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

#[tokio::test]
async fn the_client_thinks_and_the_graph_is_the_same() {
    for (tool, arguments, rounds) in [
        (
            "reasoning_got_generate",
            json!({ "graph_id": "g", "node_id": "a", "k": 3 }),
            vec![vec![
                continuation_reply("one"),
                continuation_reply("two"),
                continuation_reply("One"),
            ]],
        ),
        (
            "reasoning_got_score",
            json!({ "graph_id": "g", "node_id": "a" }),
            vec![vec![score_reply(40)]],
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": "g", "node_ids": ["a", "b"] }),
            vec![vec![aggregate_reply("all")]],
        ),
        (
            "reasoning_got_refine",
            json!({ "graph_id": "g", "node_id": "a" }),
            vec![
                vec![refine_reply("better"), score_reply(40)],
                vec![score_reply(60)],
            ],
        ),
        (
            "reasoning_got_refine",
            json!({ "graph_id": "g", "node_id": "b" }),
            vec![vec![refine_reply("worse")], vec![score_reply(40)]],
        ),
    ] {
        let asked = ReasoningTestRegistry::new();
        add_sample_graph(&asked).await;
        asked.script_replies(rounds.iter().flatten().cloned());
        let expected = asked.call_ok(tool, arguments.clone()).await;

        let driven = ReasoningTestRegistry::without_model();
        add_sample_graph(&driven).await;
        let before = stored_graph(&driven, &json!("g")).await;
        let mut needs = expect_needs_reply(driven.call_tool(tool, arguments).await);
        for (number, round) in rounds.iter().enumerate() {
            assert_eq!(stored_graph(&driven, &json!("g")).await, before);
            assert_eq!(needs.asks.len(), round.len(), "{tool}");
            let replies: Vec<_> = round.iter().map(|reply| &reply.text).collect();
            let resume = json!({ "id": needs.id, "replies": replies });
            if number + 1 < rounds.len() {
                needs = expect_needs_reply(driven.call_tool("reasoning_resume", resume).await);
            } else {
                let output = driven.call_ok("reasoning_resume", resume.clone()).await;
                let again = driven.call_ok("reasoning_resume", resume).await;
                assert_eq!(again, output);
                for field in ["count", "content", "overall_score", "kept", "quality_delta"] {
                    assert_eq!(output.get(field), expected.get(field), "{tool} {field}");
                }
            }
        }
        assert_eq!(
            without_ids_and_times(stored_graph(&driven, &json!("g")).await),
            without_ids_and_times(stored_graph(&asked, &json!("g")).await),
            "{tool}"
        );
    }
}

#[tokio::test]
async fn what_happens_while_the_client_thinks_is_minded() {
    let desk = ReasoningTestRegistry::without_model();
    add_sample_graph(&desk).await;
    let arguments = json!({ "graph_id": "g", "node_id": "b", "k": 2 });
    let needs = expect_needs_reply(desk.call_tool("reasoning_got_generate", arguments).await);
    let score = expect_needs_reply(
        desk.call_tool(
            "reasoning_got_score",
            json!({ "graph_id": "g", "node_id": "b" }),
        )
        .await,
    );
    let resume = json!({ "id": score.id, "replies": [score_reply(10).text] });
    desk.call_ok("reasoning_resume", resume).await;
    desk.call_ok("reasoning_got_prune", json!({ "graph_id": "g" }))
        .await;
    let before = stored_graph(&desk, &json!("g")).await;
    let replies = [
        continuation_reply("one").text,
        continuation_reply("two").text,
    ];
    let resume = json!({ "id": needs.id, "replies": replies });
    let error = desk.call_err("reasoning_resume", resume).await;
    assert_eq!(error.code(), "NodePruned");
    assert_eq!(stored_graph(&desk, &json!("g")).await, before);
}

#[tokio::test]
async fn a_score_given_meanwhile_is_not_lost() {
    let desk = ReasoningTestRegistry::without_model();
    add_sample_graph(&desk).await;
    let arguments = json!({ "graph_id": "g", "node_id": "a", "k": 1 });
    let grows = expect_needs_reply(desk.call_tool("reasoning_got_generate", arguments).await);
    let arguments = json!({ "graph_id": "g", "node_ids": ["a", "b"] });
    let merges = expect_needs_reply(desk.call_tool("reasoning_got_aggregate", arguments).await);
    let arguments = json!({ "graph_id": "g", "node_id": "a" });
    let scores = expect_needs_reply(desk.call_tool("reasoning_got_score", arguments).await);
    for (needs, reply) in [
        (scores, score_reply(70)),
        (grows, continuation_reply("one")),
        (merges, aggregate_reply("all")),
    ] {
        let resume = json!({ "id": needs.id, "replies": [reply.text] });
        desk.call_ok("reasoning_resume", resume).await;
    }
    let (nodes, edges) = stored_graph(&desk, &json!("g")).await;
    assert_eq!(nodes[1].score, deliberate_core::Score::new(0.7));
    assert!(!nodes[1].is_active);
    assert_eq!((nodes.len(), edges.len()), (5, 5));
}
