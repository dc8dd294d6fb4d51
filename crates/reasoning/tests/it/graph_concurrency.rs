//! Concurrent calls on one graph: every answer is stored, in any order.

use std::sync::Arc;

use deliberate_core::{
    EdgeKind::{Aggregates, Generates, Refines},
    Score,
};
use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest};
use deliberate_toolkit::{CallOutcome, CallerContext, NeedsReply, ToolError};
use futures::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use super::{
    graph_fixtures::{add_sample_graph, current_edges, current_nodes, init_graph, load_node},
    test_registry::{ReasoningTestRegistry, text_reply},
};

/// An answer to any request about a graph.
fn any_reply(thought: &str) -> ModelReply {
    text_reply(
        &json!({
            "thought": thought, "kind": "thought", "confidence_percent": 70, "rationale": "so",
            "relevance_percent": 80, "validity_percent": 80, "depth_percent": 80,
            "novelty_percent": 80, "weakest_point": "none", "critique": "vague",
            "improvements": ["figures"], "approach": "weighed", "conflicts_resolved": [],
            "contradictions": [],
        })
        .to_string(),
    )
}

/// The progress of calls that take turns.
#[derive(Default, Clone, Copy)]
struct TurnState {
    request_count: usize,
    finished_count: usize,
}

/// A slow model: it answers no call before all have asked, and then one call after the other, by
/// the number of its turn, which is in the problem.
struct TurnTakingModel {
    state: watch::Sender<TurnState>,
    expected_requests: usize,
    reply: fn(usize, &ModelRequest) -> String,
}

impl TurnTakingModel {
    async fn wait_for(&self, turn: usize) {
        let mut course = self.state.subscribe();
        let is_on = |course: &TurnState| {
            course.request_count >= self.expected_requests && course.finished_count == turn
        };
        course.wait_for(is_on).await.unwrap();
    }
}

impl ChatModel for TurnTakingModel {
    fn name(&self) -> &'static str {
        "turns"
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        _: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            self.state.send_modify(|course| course.request_count += 1);
            let text = &ask.messages[0].text;
            let (_, rest) = text.split_once("turn ").unwrap();
            let turn = rest.split_once('.').unwrap().0.parse().unwrap();
            self.wait_for(turn).await;
            Ok(any_reply(&(self.reply)(turn, ask)))
        })
    }
}

type ToolCallSpec = (&'static str, Value);
type ToolCallOutcome = Result<CallOutcome, ToolError>;

/// Makes all calls concurrently; all of them ask before the first is answered, and they end in
/// order.
async fn call_in_turns(
    registry: &ReasoningTestRegistry,
    calls: Vec<ToolCallSpec>,
    asks: usize,
    says: fn(usize, &ModelRequest) -> String,
) -> Vec<ToolCallOutcome> {
    let course = watch::Sender::default();
    let turns = Arc::new(TurnTakingModel {
        state: course,
        expected_requests: asks,
        reply: says,
    });
    let calls = calls.into_iter().enumerate();
    let all = calls.map(|(turn, (tool, mut arguments))| {
        let turns = turns.clone();
        async move {
            if tool == "reasoning_got_finalize" {
                turns.wait_for(turn).await;
            } else {
                arguments["problem"] = json!(format!("turn {turn}."));
            }
            let caller = CallerContext {
                client_model: Some(turns.clone()),
                ..CallerContext::default()
            };
            let outcome = registry.registry.call(tool, arguments, caller).await;
            turns.state.send_modify(|course| course.finished_count += 1);
            outcome
        }
    });
    join_all(all).await
}

fn done_output(outcome: &ToolCallOutcome) -> &Value {
    match outcome {
        Ok(CallOutcome::Done(output)) => output,
        other => panic!("{other:?}"),
    }
}

/// All operations on node `b`, in several orders.
fn call_orders() -> Vec<Vec<ToolCallSpec>> {
    let mut acts: Vec<ToolCallSpec> = vec![
        (
            "reasoning_got_score",
            json!({ "graph_id": "g", "node_id": "b" }),
        ),
        (
            "reasoning_got_generate",
            json!({ "graph_id": "g", "node_id": "b", "k": 1 }),
        ),
        (
            "reasoning_got_refine",
            json!({ "graph_id": "g", "node_id": "b" }),
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": "g", "node_ids": ["a", "b"] }),
        ),
        (
            "reasoning_got_finalize",
            json!({ "graph_id": "g", "terminal_node_ids": ["b"] }),
        ),
    ];
    let mut orders = Vec::new();
    for _ in 0..2 {
        for _ in 0..acts.len() {
            acts.rotate_left(1);
            orders.push(acts.clone());
        }
        acts.reverse();
        acts.swap(1, 3);
        acts.swap(0, 1);
    }
    orders
}

/// Checks that the stored state matches the answers. Whether `b` was a conclusion before it was
/// continued is known if the calls ended in the given order.
async fn check_stored(
    registry: &ReasoningTestRegistry,
    order: &[ToolCallSpec],
    outcomes: &[ToolCallOutcome],
    is_ordered: bool,
) {
    let all = current_nodes(registry, &json!("g")).await;
    let links = current_edges(registry, &json!("g")).await;
    let names: Vec<_> = order.iter().map(|(tool, _)| *tool).collect();
    let leads = |kind, to: &Value| {
        links.iter().any(|edge| {
            edge.edge_type == kind
                && edge.from_node.as_str() == "b"
                && edge.to_node.as_str() == to.as_str().unwrap()
        })
    };
    let b = load_node(registry, &json!("b")).await;
    let (mut is_terminal, mut made, mut better) = (false, 3, None);
    for (tool, outcome) in names.iter().zip(outcomes) {
        match *tool {
            "reasoning_got_generate" => {
                if let Err(error) = outcome {
                    assert!(
                        ["Conflict", "LimitReached"].contains(&error.code()),
                        "{error}"
                    );
                    assert!(is_terminal || !is_ordered, "{names:?} {error}");
                    continue;
                }
                assert!(!is_terminal || !is_ordered, "{names:?}");
                let new = &done_output(outcome)["continuations"][0]["node_id"];
                assert!(leads(Generates, new), "{names:?}");
                made += 1;
            }
            "reasoning_got_score" => {
                assert_eq!(done_output(outcome)["overall_score"], 0.8);
                assert_eq!(b.score, Score::new(0.8), "{names:?}");
            }
            "reasoning_got_refine" => {
                let output = done_output(outcome);
                if output["kept"] == "original" {
                    // The node already had an equal score.
                    continue;
                }
                assert!(leads(Refines, &output["refined_node_id"]), "{names:?}");
                let new = load_node(registry, &output["refined_node_id"]).await;
                better = Some((new, is_terminal));
                is_terminal = false;
                made += 1;
            }
            "reasoning_got_aggregate" => {
                let new = &done_output(outcome)["aggregated_node_id"];
                assert!(leads(Aggregates, new), "{names:?}");
                made += 1;
            }
            _ => {
                assert_eq!(done_output(outcome)["conclusions"][0]["node_id"], "b");
                is_terminal = true;
            }
        }
    }
    assert_eq!(all.len(), made, "{names:?}");
    assert!(!b.is_active, "{names:?}");
    let has_mark = |node: &deliberate_core::GraphNode| node.is_terminal;
    if is_ordered {
        assert_eq!(has_mark(&b), is_terminal, "{names:?}");
        if let Some((better, takes_over)) = better {
            assert_eq!(better.is_terminal, takes_over, "{names:?}");
            assert_eq!(better.is_active, !takes_over, "{names:?}");
        }
    } else {
        let better = better.map(|(better, _)| better);
        assert!(has_mark(&b) || better.is_some_and(|it| has_mark(&it)));
    }
}

#[tokio::test]
async fn different_work_on_a_node_while_models_think_is_all_stored() {
    for order in call_orders() {
        let desk = ReasoningTestRegistry::without_model();
        add_sample_graph(&desk).await;
        let say = |turn, ask: &ModelRequest| format!("thought {turn} {}", ask.key);
        let outcomes = call_in_turns(&desk, order.clone(), 4, say).await;
        check_stored(&desk, &order, &outcomes, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn different_work_on_a_node_at_once_is_all_stored() {
    for order in call_orders() {
        let desk = ReasoningTestRegistry::new();
        add_sample_graph(&desk).await;
        desk.script_replies((0..5).map(|number| any_reply(&format!("thought {number}"))));
        let calls = order.iter().cloned();
        let calls = calls.map(|(tool, arguments)| desk.call_tool(tool, arguments));
        let outcomes = join_all(calls).await;
        check_stored(&desk, &order, &outcomes, false).await;
    }
}

/// Replies to a suspended call until it ends.
async fn resume_until_done(
    registry: &ReasoningTestRegistry,
    mut needs: NeedsReply,
) -> ToolCallOutcome {
    loop {
        let texts = needs.asks.iter().map(|ask| format!("thought {}", ask.key));
        let replies: Vec<_> = texts.map(|text| any_reply(&text).text).collect();
        let resume = json!({ "id": needs.id, "replies": replies });
        match registry.call_tool("reasoning_resume", resume).await {
            Ok(CallOutcome::NeedsReply(more)) => needs = more,
            outcome => return outcome,
        }
    }
}

#[tokio::test]
async fn different_work_on_a_node_that_clients_think_about_is_all_stored() {
    for order in call_orders() {
        let desk = ReasoningTestRegistry::without_model();
        add_sample_graph(&desk).await;
        let mut waiting = Vec::new();
        for (tool, arguments) in &order {
            if *tool == "reasoning_got_finalize" {
                waiting.push(None);
                continue;
            }
            match desk.call_tool(tool, arguments.clone()).await {
                Ok(CallOutcome::NeedsReply(needs)) => waiting.push(Some(needs)),
                other => panic!("{other:?}"),
            }
        }
        let mut outcomes = Vec::new();
        for ((tool, arguments), needs) in order.iter().zip(waiting) {
            outcomes.push(match needs {
                Some(needs) => resume_until_done(&desk, needs).await,
                None => desk.call_tool(tool, arguments.clone()).await,
            });
        }
        check_stored(&desk, &order, &outcomes, true).await;
    }
}

fn generate_call(graph: &Value, k: u32) -> ToolCallSpec {
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let arguments = json!({ "graph_id": id, "node_id": root, "k": k });
    ("reasoning_got_generate", arguments)
}

#[tokio::test]
async fn the_same_texts_from_several_calls_are_stored_once() {
    let desk = ReasoningTestRegistry::without_model();
    let graph = init_graph(&desk, json!({})).await;
    let calls = vec![generate_call(&graph, 3); 4];
    let outcomes = call_in_turns(&desk, calls, 12, |_, ask| ask.key.clone()).await;
    for (turn, outcome) in outcomes.iter().enumerate() {
        let output = done_output(outcome);
        let (new, same) = if turn == 0 { (3, 0) } else { (0, 3) };
        assert_eq!(output["count"], new);
        assert_eq!(output["duplicates_dropped"], same);
    }
    assert_eq!(current_nodes(&desk, &graph["graph_id"]).await.len(), 4);
}

#[tokio::test]
async fn calls_at_the_same_time_fill_the_graph_to_its_limit() {
    let desk = ReasoningTestRegistry::without_model();
    let graph = init_graph(&desk, json!({ "max_nodes": 10 })).await;
    let calls = vec![generate_call(&graph, 5); 6];
    let say = |turn, ask: &ModelRequest| format!("thought {turn} {}", ask.key);
    let outcomes = call_in_turns(&desk, calls, 30, say).await;
    assert_eq!(done_output(&outcomes[0])["count"], 5);
    assert_eq!(done_output(&outcomes[0]).get("note"), None);
    let second = done_output(&outcomes[1]);
    assert_eq!(second["count"], 4);
    let note = second["note"].as_str().unwrap();
    assert!(note.contains("limit of 10 nodes"), "{note}");
    for outcome in &outcomes[2..] {
        assert_eq!(outcome.as_ref().unwrap_err().code(), "LimitReached");
    }
    assert_eq!(current_nodes(&desk, &graph["graph_id"]).await.len(), 10);
}
