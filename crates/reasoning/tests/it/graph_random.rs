//! Invariants of graphs under random calls.

use deliberate_llm::ModelReply;
use deliberate_toolkit::CallOutcome;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    graph_fixtures::{
        aggregate_reply_with_answer, continuation_reply_with_answer, current_edges, current_nodes,
        free_text_reply, init_graph, refine_reply, score_fields, score_reply,
    },
    test_registry::ReasoningTestRegistry,
};

const MAX_NODES: usize = 14;
const MAX_DEPTH: i64 = 3;

/// A random action; the numbers choose among all nodes, including pruned ones.
#[derive(Debug, Clone)]
enum GraphAction {
    /// The last number chooses the results, so that some nodes contradict each other.
    Generate(usize, u32, usize),
    GenerateAndScore(usize, u32),
    Score(usize, u32),
    ScoreSeveral(usize, usize, u32),
    Aggregate(usize, usize, usize),
    AggregateBest(u32, usize),
    Refine(usize, u32, u32),
    Prune(u32),
    Finalize(Option<usize>),
}

fn any_actions() -> impl Strategy<Value = Vec<GraphAction>> {
    let node = 0..20_usize;
    let percent = 0..=100_u32;
    let result = 0..4_usize;
    let act = prop_oneof![
        4 => (node.clone(), 1..=4_u32, result.clone())
            .prop_map(|(at, k, result)| GraphAction::Generate(at, k, result)),
        1 => (node.clone(), percent.clone())
            .prop_map(|(at, score)| GraphAction::GenerateAndScore(at, score)),
        3 => (node.clone(), percent.clone()).prop_map(|(at, score)| GraphAction::Score(at, score)),
        1 => (node.clone(), node.clone(), percent.clone())
            .prop_map(|(one, other, score)| GraphAction::ScoreSeveral(one, other, score)),
        2 => (node.clone(), node.clone(), result.clone())
            .prop_map(|(one, other, result)| GraphAction::Aggregate(one, other, result)),
        1 => (2..=4_u32, result)
            .prop_map(|(most, result)| GraphAction::AggregateBest(most, result)),
        2 => (node.clone(), percent.clone(), percent.clone())
            .prop_map(|(at, before, after)| GraphAction::Refine(at, before, after)),
        1 => percent.prop_map(GraphAction::Prune),
        1 => proptest::option::of(node).prop_map(GraphAction::Finalize),
    ];
    proptest::collection::vec(act, 1..25)
}

/// One of two results, or none.
fn sample_answer(number: usize) -> Option<&'static str> {
    ["41", "42"].get(number % 4).copied()
}

/// A judgment of two nodes.
fn score_list_reply(percent: u32) -> ModelReply {
    let fields = score_fields([percent; 4].map(|percent| json!(percent)));
    let mut scores = [fields.clone(), fields];
    for (number, score) in (1..).zip(&mut scores) {
        score["node"] = json!(number);
    }
    free_text_reply("compared", &json!({ "scores": scores }))
}

/// Builds the call of an action and scripts the model's replies.
async fn prepare_call(
    registry: &ReasoningTestRegistry,
    graph: &Value,
    number: usize,
    act: &GraphAction,
) -> (&'static str, Value) {
    let all = current_nodes(registry, graph).await;
    let id = |at: usize| json!(all[at % all.len()].id);
    match act {
        GraphAction::Generate(at, k, result) => {
            registry.script_replies((0..*k as usize).map(|part| {
                let text = format!("thought {}", (number + part) % 9);
                continuation_reply_with_answer(&text, sample_answer(part + result))
            }));
            let arguments = json!({ "graph_id": graph, "node_id": id(*at), "k": k });
            ("reasoning_got_generate", arguments)
        }
        GraphAction::GenerateAndScore(at, percent) => {
            registry.script_replies((0..2).map(|part| {
                continuation_reply_with_answer(&format!("scored {number} {part}"), None)
            }));
            registry.script_replies([score_list_reply(*percent)]);
            let arguments = json!({ "graph_id": graph, "node_id": id(*at), "k": 2, "score": true });
            ("reasoning_got_generate", arguments)
        }
        GraphAction::Score(at, percent) => {
            registry.script_replies([score_reply(*percent)]);
            (
                "reasoning_got_score",
                json!({ "graph_id": graph, "node_id": id(*at) }),
            )
        }
        GraphAction::ScoreSeveral(one, other, percent) => {
            let ids = [id(*one), id(*other)];
            let is_one = ids[0] == ids[1];
            registry.script_replies([if is_one {
                score_reply(*percent)
            } else {
                score_list_reply(*percent)
            }]);
            (
                "reasoning_got_score",
                json!({ "graph_id": graph, "node_ids": ids }),
            )
        }
        GraphAction::Aggregate(one, other, result) => {
            let text = format!("insight {number}");
            registry.script_replies([aggregate_reply_with_answer(&text, sample_answer(*result))]);
            let ids = [id(*one), id(*other)];
            (
                "reasoning_got_aggregate",
                json!({ "graph_id": graph, "node_ids": ids }),
            )
        }
        GraphAction::AggregateBest(most, result) => {
            let text = format!("insight {number}");
            registry.script_replies([aggregate_reply_with_answer(&text, sample_answer(*result))]);
            let arguments = json!({ "graph_id": graph, "best": most });
            ("reasoning_got_aggregate", arguments)
        }
        GraphAction::Refine(at, before, after) => {
            let known = all[at % all.len()].score.is_some();
            registry.script_replies([refine_reply(&format!("better {number}"))]);
            if !known {
                registry.script_replies([score_reply(*before)]);
            }
            registry.script_replies([score_reply(*after)]);
            (
                "reasoning_got_refine",
                json!({ "graph_id": graph, "node_id": id(*at) }),
            )
        }
        GraphAction::Prune(percent) => {
            let arguments = json!({ "graph_id": graph, "threshold": f64::from(*percent) / 100.0 });
            ("reasoning_got_prune", arguments)
        }
        GraphAction::Finalize(None) => ("reasoning_got_finalize", json!({ "graph_id": graph })),
        GraphAction::Finalize(Some(at)) => {
            let arguments = json!({ "graph_id": graph, "terminal_node_ids": [id(*at)] });
            ("reasoning_got_finalize", arguments)
        }
    }
}

/// Collects every id in an answer except those of the graph and the session.
fn collect_ids(answer: &Value, found: &mut Vec<String>) {
    match answer {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(id) if name.ends_with("node_id") => found.push(id.clone()),
                    Value::Array(list) if name.ends_with("node_ids") || name == "source_nodes" => {
                        found.extend(list.iter().map(|id| id.as_str().unwrap().to_owned()));
                    }
                    other => collect_ids(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, found)),
        _ => {}
    }
}

async fn check_invariants(acts: Vec<GraphAction>) {
    let desk = ReasoningTestRegistry::new();
    let config = json!({ "max_nodes": MAX_NODES, "max_depth": MAX_DEPTH, "max_branches": 3 });
    let graph = init_graph(&desk, config).await["graph_id"].clone();
    for (number, act) in acts.iter().enumerate() {
        let before = (
            current_nodes(&desk, &graph).await,
            current_edges(&desk, &graph).await,
        );
        let (tool, arguments) = prepare_call(&desk, &graph, number, act).await;
        let outcome = desk.call_tool(tool, arguments).await;
        desk.clear_script();
        let all = current_nodes(&desk, &graph).await;
        let links = current_edges(&desk, &graph).await;
        match outcome {
            Ok(CallOutcome::Done(answer)) => {
                let mut named = Vec::new();
                collect_ids(&answer, &mut named);
                for id in named {
                    assert!(
                        all.iter().any(|node| node.id.as_str() == id),
                        "{act:?} {answer}"
                    );
                }
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                let codes = ["LimitReached", "NodePruned", "Validation"];
                assert!(codes.contains(&error.code()), "{act:?} {error}");
                assert_eq!((&all, &links), (&before.0, &before.1), "{act:?} {error}");
            }
        }
        assert!(all.iter().filter(|node| !node.pruned).count() <= MAX_NODES);
        assert!(all.iter().all(|node| node.depth <= MAX_DEPTH));
        assert!(!all[0].pruned, "the root stays");
        if all[0].is_terminal && !before.0[0].is_terminal {
            let names_root =
                matches!(act, GraphAction::Finalize(Some(at)) if at % before.0.len() == 0);
            assert!(names_root, "the root is a conclusion only if it is named");
        }
        assert!(all.iter().all(|node| !(node.pruned && node.is_active)));
        let state = desk
            .call_ok("reasoning_got_state", json!({ "graph_id": graph }))
            .await;
        assert_eq!(state["has_cycle"], false, "{act:?}");
        for link in &links {
            for end in [&link.from_node, &link.to_node] {
                assert!(all.iter().any(|node| node.id == *end));
            }
        }
        let came_from = |id| links.iter().any(|link| link.to_node == id);
        assert!(all.iter().skip(1).all(|node| came_from(node.id.clone())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_the_graph_stays_sound(acts in any_actions()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check_invariants(acts));
    }
}
