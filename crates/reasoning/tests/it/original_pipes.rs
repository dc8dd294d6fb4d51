//! Tests of all tools that ask a model, with a model that answers like the pipes of the original
//! server: in their shapes, whatever is asked.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest};
use deliberate_toolkit::{CallOutcome, CallerContext};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::test_registry::{ReasoningTestRegistry, text_reply};

/// Answers each purpose in the original's shape.
#[derive(Default)]
struct OriginalPipes {
    count: AtomicUsize,
}

impl OriginalPipes {
    fn answer(&self, purpose: &str) -> Value {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        match purpose {
            "linear" => json!({ "thought": "Next step.", "confidence": 0.8, "metadata": {} }),
            "tree" => json!({
                "branches": [
                    { "thought": "Rent.", "confidence": 0.6, "rationale": "Cheap." },
                    { "thought": "Buy.", "confidence": 0.9, "rationale": "Lasting." },
                ],
                "recommended_branch": 1,
                "metadata": {},
            }),
            "divergent" => json!({
                "perspectives": [
                    { "thought": "As a child.", "novelty": 0.9, "viability": 0.4 },
                    { "thought": "As a bank.", "novelty": 0.2, "viability": 0.8 },
                    { "thought": "As a tree.", "novelty": 1.0, "viability": 0.1 },
                ],
                "synthesis": "All of them.",
                "metadata": {},
            }),
            "reflection" => json!({
                "analysis": "Sound but short.",
                "strengths": ["clear"],
                "weaknesses": ["short"],
                "recommendations": ["say more"],
                "confidence": 0.7,
                "metadata": {},
            }),
            "auto" => json!({
                "recommended_mode": "tree",
                "confidence": 0.8,
                "rationale": "Several ways.",
                "complexity": 0.5,
            }),
            "backtracking" => json!({
                "thought": "Another way.",
                "confidence": 0.75,
                "context_restored": true,
                "branch_from": "the start",
                "new_direction": "around it",
                "metadata": {},
            }),
            "got_generate" => {
                let item = |letter: &str| {
                    json!({
                        "thought": format!("Idea {number}{letter}."),
                        "confidence": 0.8, "novelty": 0.7, "rationale": "Promising.",
                    })
                };
                json!({ "continuations": [item("a"), item("b")], "metadata": {} })
            }
            "got_score" => json!({
                "overall_score": 0.65,
                "breakdown": { "relevance": 0.8, "validity": 0.7, "depth": 0.6, "novelty": 0.5 },
                "is_terminal_candidate": false,
                "rationale": "It holds.",
                "metadata": {},
            }),
            "got_aggregate" => json!({
                "aggregated_thought": "Both at once.",
                "confidence": 0.9,
                "sources_used": ["x", "y"],
                "synthesis_approach": "Overlap.",
                "conflicts_resolved": ["The first is right."],
                "metadata": {},
            }),
            "got_refine" => json!({
                "refined_thought": "Sharper.",
                "confidence": 0.8,
                "improvements_made": ["figures"],
                "aspects_unchanged": ["the idea"],
                "quality_delta": 0.1,
                "metadata": {},
            }),
            other => panic!("the original has no pipe for {other}"),
        }
    }
}

impl ChatModel for OriginalPipes {
    fn name(&self) -> &'static str {
        "langbase"
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        _: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let text = self.answer(ask.purpose.as_str()).to_string();
        Box::pin(async move { Ok(text_reply(&text)) })
    }
}

struct OriginalTestRegistry {
    registry: ReasoningTestRegistry,
    pipes: Arc<OriginalPipes>,
}

impl OriginalTestRegistry {
    fn new() -> Self {
        Self {
            registry: ReasoningTestRegistry::without_model(),
            pipes: Arc::default(),
        }
    }

    async fn call_ok(&self, tool: &str, arguments: Value) -> Value {
        let caller = CallerContext {
            client_model: Some(self.pipes.clone()),
            ..CallerContext::default()
        };
        let called = self.registry.registry.call(tool, arguments, caller).await;
        match called {
            Ok(CallOutcome::Done(output)) => output,
            other => panic!("{tool}: {other:?}"),
        }
    }

    /// The number of requests to pipes since the last time.
    fn requests(&self) -> usize {
        self.pipes.count.swap(0, Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_step_and_a_new_direction_have_their_confidence() {
    let desk = OriginalTestRegistry::new();
    let step = desk
        .call_ok("reasoning_linear", json!({ "content": "Rent or buy?" }))
        .await;
    assert_eq!(step["content"], "Next step.");
    assert_eq!(step["confidence"], 0.8);
    let session = &step["session_id"];
    let arguments = json!({ "session_id": session, "name": "start" });
    let checkpoint = desk.call_ok("reasoning_checkpoint_create", arguments).await;
    let arguments = json!({
        "checkpoint_id": checkpoint["checkpoint_id"], "new_direction": "Go around it",
    });
    let back = desk.call_ok("reasoning_backtrack", arguments).await;
    assert_eq!(back["content"], "Another way.");
    assert_eq!(back["confidence"], 0.75);
    assert_eq!(desk.requests(), 2);
}

#[tokio::test]
async fn the_recommended_branch_is_the_one_at_the_index() {
    let desk = OriginalTestRegistry::new();
    let tree = desk
        .call_ok("reasoning_tree", json!({ "content": "Rent or buy?" }))
        .await;
    let branches = tree["branches"].as_array().unwrap();
    assert_eq!(branches.len(), 2, "{tree}");
    assert_eq!(branches[1]["confidence"], 0.9, "{tree}");
    let recommended = &tree["recommended_branch"];
    assert!(!recommended.is_null(), "{tree}");
    assert_eq!(*recommended, branches[1]["id"], "{tree}");
    assert_eq!(desk.requests(), 1);
}

#[tokio::test]
async fn perspectives_have_their_ratings() {
    let desk = OriginalTestRegistry::new();
    let views = desk
        .call_ok("reasoning_divergent", json!({ "content": "A house" }))
        .await;
    let perspectives = views["perspectives"].as_array().unwrap();
    assert_eq!(perspectives.len(), 3, "{views}");
    assert_eq!(perspectives[0]["content"], "As a child.");
    assert_eq!(perspectives[0]["novelty_score"], 0.9, "{views}");
    assert_eq!(perspectives[1]["viability"], 0.8, "{views}");
    assert_eq!(views["synthesis"], "All of them.");
    assert_eq!(desk.requests(), 1);
}

#[tokio::test]
async fn reflections_and_evaluations_take_the_same_pipe() {
    let desk = OriginalTestRegistry::new();
    let step = desk
        .call_ok("reasoning_linear", json!({ "content": "Rent or buy?" }))
        .await;
    let arguments = json!({ "thought_id": step["thought_id"], "max_iterations": 1 });
    let reflection = desk.call_ok("reasoning_reflection", arguments).await;
    assert_eq!(reflection["strengths"], json!(["clear"]));
    assert_eq!(reflection["weaknesses"], json!(["short"]));
    assert_eq!(reflection["recommendations"], json!(["say more"]));
    let arguments = json!({ "session_id": step["session_id"] });
    let evaluation = desk
        .call_ok("reasoning_reflection_evaluate", arguments)
        .await;
    assert_eq!(evaluation["assessment"], "Sound but short.");
    assert_eq!(evaluation["confidence"], 0.7);
}

#[tokio::test]
async fn the_router_recommends_its_mode() {
    let desk = OriginalTestRegistry::new();
    let content = "Our warehouse loses parcels every Tuesday";
    let choice = desk
        .call_ok("reasoning_auto", json!({ "content": content }))
        .await;
    assert_eq!(choice["decided_by"], "router");
    assert_eq!(choice["recommended_mode"], "tree");
    assert_eq!(choice["confidence"], 0.8);
    assert_eq!(choice["complexity"], 0.5);
}

#[tokio::test]
async fn every_graph_operation_takes_its_pipe() {
    let desk = OriginalTestRegistry::new();
    let graph = desk
        .call_ok("reasoning_got_init", json!({ "content": "Rent or buy?" }))
        .await;
    let (id, root) = (&graph["graph_id"], &graph["root_node_id"]);
    let arguments = json!({ "graph_id": id, "node_id": root, "k": 2 });
    let grown = desk.call_ok("reasoning_got_generate", arguments).await;
    let nodes = grown["continuations"].as_array().unwrap();
    assert!(nodes.len() >= 2, "{grown}");
    for node in nodes {
        assert!(
            node["content"].as_str().unwrap().starts_with("Idea "),
            "{grown}"
        );
        assert_eq!(node["confidence"], 0.8, "{grown}");
        assert_eq!(node["rationale"], "Promising.", "{grown}");
    }
    let (first, second) = (&nodes[0]["node_id"], &nodes[1]["node_id"]);

    let arguments = json!({ "graph_id": id, "node_id": first });
    let score = desk.call_ok("reasoning_got_score", arguments).await;
    let parts = json!({ "relevance": 0.8, "validity": 0.7, "depth": 0.6, "novelty": 0.5 });
    assert_eq!(score["breakdown"], parts, "{score}");
    assert_eq!(score["rationale"], "It holds.");

    let arguments = json!({ "graph_id": id, "node_ids": [first, second] });
    let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
    assert_eq!(merged["content"], "Both at once.");
    assert_eq!(merged["confidence"], 0.9);
    assert_eq!(merged["conflicts_resolved"], json!(["The first is right."]));

    let arguments = json!({ "graph_id": id, "node_id": second });
    let refined = desk.call_ok("reasoning_got_refine", arguments).await;
    assert!(refined["content"].is_string(), "{refined}");
}
