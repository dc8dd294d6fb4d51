//! Graphs that several work on at the same time: what was answered is stored, whoever was first.

use std::sync::Arc;

use deliberate_core::{
    EdgeKind::{Aggregates, Generates, Refines},
    Score,
};
use deliberate_thinker::{Ask, Reply, ThinkError, Thinker};
use deliberate_toolkit::{Answer, Caller, NeedsReply, ToolError};
use futures::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use crate::{
    desk::{Desk, says},
    graph_kit::{begun, edge, edges, node, nodes, plant, planted},
};

/// An answer to any question about a graph.
fn answer(thought: &str) -> Reply {
    says(
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

/// How far calls that take turns have come.
#[derive(Default, Clone, Copy)]
struct Course {
    asked: usize,
    ended: usize,
}

/// A model that takes its time: it answers nobody before all have asked, and then one call after
/// the other, by the number of its turn, which stands in the problem.
struct Turns {
    course: watch::Sender<Course>,
    asks: usize,
    says: fn(usize, &Ask) -> String,
}

impl Turns {
    async fn wait_for(&self, turn: usize) {
        let mut course = self.course.subscribe();
        let is_on = |course: &Course| course.asked >= self.asks && course.ended == turn;
        course.wait_for(is_on).await.unwrap();
    }
}

impl Thinker for Turns {
    fn name(&self) -> &'static str {
        "turns"
    }

    fn think<'a>(&'a self, ask: &'a Ask, _: Instant) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            self.course.send_modify(|course| course.asked += 1);
            let text = &ask.messages[0].text;
            let (_, rest) = text.split_once("turn ").unwrap();
            let turn = rest.split_once('.').unwrap().0.parse().unwrap();
            self.wait_for(turn).await;
            Ok(answer(&(self.says)(turn, ask)))
        })
    }
}

type Call = (&'static str, Value);
type Outcome = Result<Answer, ToolError>;

/// Makes all calls at once; they all ask before the first is answered, and end in their order.
async fn in_turns(
    desk: &Desk,
    calls: Vec<Call>,
    asks: usize,
    says: fn(usize, &Ask) -> String,
) -> Vec<Outcome> {
    let course = watch::Sender::default();
    let turns = Arc::new(Turns { course, asks, says });
    let calls = calls.into_iter().enumerate();
    let all = calls.map(|(turn, (tool, mut arguments))| {
        let turns = turns.clone();
        async move {
            if tool == "reasoning_got_finalize" {
                turns.wait_for(turn).await;
            } else {
                arguments["problem"] = json!(format!("turn {turn}."));
            }
            let caller = Caller {
                mind: Some(turns.clone()),
                ..Caller::default()
            };
            let outcome = desk.registry.call(tool, arguments, caller).await;
            turns.course.send_modify(|course| course.ended += 1);
            outcome
        }
    });
    join_all(all).await
}

fn done(outcome: &Outcome) -> &Value {
    match outcome {
        Ok(Answer::Done(output)) => output,
        other => panic!("{other:?}"),
    }
}

async fn garden(desk: &Desk) {
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

/// Everything that can be done with node `b`, in some orders.
fn orders() -> Vec<Vec<Call>> {
    let mut acts: Vec<Call> = vec![
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

/// What is stored is what was answered. Whether `b` was a conclusion when it should grow is known
/// if the calls ended in the given order.
async fn holds(desk: &Desk, order: &[Call], outcomes: &[Outcome], is_ordered: bool) {
    let all = nodes(desk, &json!("g")).await;
    let links = edges(desk, &json!("g")).await;
    let names: Vec<_> = order.iter().map(|(tool, _)| *tool).collect();
    let leads = |kind, to: &Value| {
        links.iter().any(|edge| {
            edge.edge_type == kind
                && edge.from_node.as_str() == "b"
                && edge.to_node.as_str() == to.as_str().unwrap()
        })
    };
    let b = node(desk, &json!("b")).await;
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
                let new = &done(outcome)["continuations"][0]["node_id"];
                assert!(leads(Generates, new), "{names:?}");
                made += 1;
            }
            "reasoning_got_score" => {
                assert_eq!(done(outcome)["overall_score"], 0.8);
                assert_eq!(b.score, Score::new(0.8), "{names:?}");
            }
            "reasoning_got_refine" => {
                let output = done(outcome);
                if output["kept"] == "original" {
                    // It was scored before, and the score is as good.
                    continue;
                }
                assert!(leads(Refines, &output["refined_node_id"]), "{names:?}");
                let new = node(desk, &output["refined_node_id"]).await;
                better = Some((new, is_terminal));
                is_terminal = false;
                made += 1;
            }
            "reasoning_got_aggregate" => {
                let new = &done(outcome)["aggregated_node_id"];
                assert!(leads(Aggregates, new), "{names:?}");
                made += 1;
            }
            _ => {
                assert_eq!(done(outcome)["conclusions"][0]["node_id"], "b");
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
    for order in orders() {
        let desk = Desk::without_model();
        garden(&desk).await;
        let say = |turn, ask: &Ask| format!("thought {turn} {}", ask.key);
        let outcomes = in_turns(&desk, order.clone(), 4, say).await;
        holds(&desk, &order, &outcomes, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn different_work_on_a_node_at_once_is_all_stored() {
    for order in orders() {
        let desk = Desk::new();
        garden(&desk).await;
        desk.will_say((0..5).map(|number| answer(&format!("thought {number}"))));
        let calls = order.iter().cloned();
        let calls = calls.map(|(tool, arguments)| desk.use_tool(tool, arguments));
        let outcomes = join_all(calls).await;
        holds(&desk, &order, &outcomes, false).await;
    }
}

/// Replies until there is nothing left to reply to.
async fn resumed(desk: &Desk, mut needs: NeedsReply) -> Outcome {
    loop {
        let texts = needs.asks.iter().map(|ask| format!("thought {}", ask.key));
        let replies: Vec<_> = texts.map(|text| answer(&text).text).collect();
        let resume = json!({ "id": needs.id, "replies": replies });
        match desk.use_tool("reasoning_resume", resume).await {
            Ok(Answer::NeedsReply(more)) => needs = more,
            outcome => return outcome,
        }
    }
}

#[tokio::test]
async fn different_work_on_a_node_that_clients_think_about_is_all_stored() {
    for order in orders() {
        let desk = Desk::without_model();
        garden(&desk).await;
        let mut waiting = Vec::new();
        for (tool, arguments) in &order {
            if *tool == "reasoning_got_finalize" {
                waiting.push(None);
                continue;
            }
            match desk.use_tool(tool, arguments.clone()).await {
                Ok(Answer::NeedsReply(needs)) => waiting.push(Some(needs)),
                other => panic!("{other:?}"),
            }
        }
        let mut outcomes = Vec::new();
        for ((tool, arguments), needs) in order.iter().zip(waiting) {
            outcomes.push(match needs {
                Some(needs) => resumed(&desk, needs).await,
                None => desk.use_tool(tool, arguments.clone()).await,
            });
        }
        holds(&desk, &order, &outcomes, true).await;
    }
}

fn grow(graph: &Value, k: u32) -> Call {
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let arguments = json!({ "graph_id": id, "node_id": root, "k": k });
    ("reasoning_got_generate", arguments)
}

#[tokio::test]
async fn the_same_texts_from_several_calls_are_stored_once() {
    let desk = Desk::without_model();
    let graph = begun(&desk, json!({})).await;
    let calls = vec![grow(&graph, 3); 4];
    let outcomes = in_turns(&desk, calls, 12, |_, ask| ask.key.clone()).await;
    for (turn, outcome) in outcomes.iter().enumerate() {
        let output = done(outcome);
        let (new, same) = if turn == 0 { (3, 0) } else { (0, 3) };
        assert_eq!(output["count"], new);
        assert_eq!(output["duplicates_dropped"], same);
    }
    assert_eq!(nodes(&desk, &graph["graph_id"]).await.len(), 4);
}

#[tokio::test]
async fn calls_at_the_same_time_fill_the_graph_to_its_limit() {
    let desk = Desk::without_model();
    let graph = begun(&desk, json!({ "max_nodes": 10 })).await;
    let calls = vec![grow(&graph, 5); 6];
    let say = |turn, ask: &Ask| format!("thought {turn} {}", ask.key);
    let outcomes = in_turns(&desk, calls, 30, say).await;
    assert_eq!(done(&outcomes[0])["count"], 5);
    assert_eq!(done(&outcomes[0]).get("note"), None);
    let second = done(&outcomes[1]);
    assert_eq!(second["count"], 4);
    let note = second["note"].as_str().unwrap();
    assert!(note.contains("limit of 10 nodes"), "{note}");
    for outcome in &outcomes[2..] {
        assert_eq!(outcome.as_ref().unwrap_err().code(), "LimitReached");
    }
    assert_eq!(nodes(&desk, &graph["graph_id"]).await.len(), 10);
}
