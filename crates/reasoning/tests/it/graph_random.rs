//! Graphs under random calls: what holds whatever is done.

use deliberate_toolkit::Answer;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    desk::Desk,
    graph_kit::{begun, edges, judged, merged, nodes, refined, thought},
};

const MAX_NODES: usize = 14;
const MAX_DEPTH: i64 = 3;

/// What is done: the numbers choose among the nodes, pruned ones too.
#[derive(Debug, Clone)]
enum Act {
    Generate(usize, u32),
    Score(usize, u32),
    Aggregate(usize, usize, Option<(usize, usize)>),
    Refine(usize, u32, u32),
    Prune(u32),
    Finalize(Option<usize>),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let node = 0..20_usize;
    let percent = 0..=100_u32;
    let act = prop_oneof![
        4 => (node.clone(), 1..=4_u32).prop_map(|(at, k)| Act::Generate(at, k)),
        3 => (node.clone(), percent.clone()).prop_map(|(at, score)| Act::Score(at, score)),
        2 => (node.clone(), node.clone(), proptest::option::of((0..4_usize, 0..4_usize)))
            .prop_map(|(one, other, pair)| Act::Aggregate(one, other, pair)),
        2 => (node.clone(), percent.clone(), percent.clone())
            .prop_map(|(at, before, after)| Act::Refine(at, before, after)),
        1 => percent.prop_map(Act::Prune),
        1 => proptest::option::of(node).prop_map(Act::Finalize),
    ];
    proptest::collection::vec(act, 1..25)
}

/// The call an act makes; the model is told what to say.
async fn call(desk: &Desk, graph: &Value, number: usize, act: &Act) -> (&'static str, Value) {
    let all = nodes(desk, graph).await;
    let id = |at: usize| json!(all[at % all.len()].id);
    match act {
        Act::Generate(at, k) => {
            let texts = (0..*k).map(|part| format!("thought {}", (number + part as usize) % 9));
            desk.will_say(texts.map(|text| thought(&text)));
            let arguments = json!({ "graph_id": graph, "node_id": id(*at), "k": k });
            ("reasoning_got_generate", arguments)
        }
        Act::Score(at, percent) => {
            desk.will_say([judged(*percent)]);
            (
                "reasoning_got_score",
                json!({ "graph_id": graph, "node_id": id(*at) }),
            )
        }
        Act::Aggregate(one, other, pair) => {
            let mut reply = merged(&format!("insight {number}"));
            if let Some((first, second)) = pair {
                let mut answer: Value = serde_json::from_str(&reply.text).unwrap();
                answer["contradictions"] =
                    json!([{ "first": first, "second": second, "reason": "x" }]);
                reply.text = answer.to_string();
            }
            desk.will_say([reply]);
            let ids = [id(*one), id(*other)];
            (
                "reasoning_got_aggregate",
                json!({ "graph_id": graph, "node_ids": ids }),
            )
        }
        Act::Refine(at, before, after) => {
            let known = all[at % all.len()].score.is_some();
            desk.will_say([refined(&format!("better {number}"))]);
            if !known {
                desk.will_say([judged(*before)]);
            }
            desk.will_say([judged(*after)]);
            (
                "reasoning_got_refine",
                json!({ "graph_id": graph, "node_id": id(*at) }),
            )
        }
        Act::Prune(percent) => {
            let arguments = json!({ "graph_id": graph, "threshold": f64::from(*percent) / 100.0 });
            ("reasoning_got_prune", arguments)
        }
        Act::Finalize(None) => ("reasoning_got_finalize", json!({ "graph_id": graph })),
        Act::Finalize(Some(at)) => {
            let arguments = json!({ "graph_id": graph, "terminal_node_ids": [id(*at)] });
            ("reasoning_got_finalize", arguments)
        }
    }
}

/// Every id an answer names, but the graph's and the session's.
fn ids(answer: &Value, found: &mut Vec<String>) {
    match answer {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(id) if name.ends_with("node_id") => found.push(id.clone()),
                    Value::Array(list) if name.ends_with("node_ids") || name == "source_nodes" => {
                        found.extend(list.iter().map(|id| id.as_str().unwrap().to_owned()));
                    }
                    other => ids(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| ids(item, found)),
        _ => {}
    }
}

async fn holds(acts: Vec<Act>) {
    let desk = Desk::new();
    let config = json!({ "max_nodes": MAX_NODES, "max_depth": MAX_DEPTH, "max_branches": 3 });
    let graph = begun(&desk, config).await["graph_id"].clone();
    for (number, act) in acts.iter().enumerate() {
        let before = (nodes(&desk, &graph).await, edges(&desk, &graph).await);
        let (tool, arguments) = call(&desk, &graph, number, act).await;
        let outcome = desk.use_tool(tool, arguments).await;
        desk.forget_what_to_say();
        let all = nodes(&desk, &graph).await;
        let links = edges(&desk, &graph).await;
        match outcome {
            Ok(Answer::Done(answer)) => {
                let mut named = Vec::new();
                ids(&answer, &mut named);
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
        assert!(all.iter().all(|node| !(node.pruned && node.is_active)));
        let state = desk
            .done("reasoning_got_state", json!({ "graph_id": graph }))
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
    fn whatever_is_done_the_graph_stays_sound(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(holds(acts));
    }
}
