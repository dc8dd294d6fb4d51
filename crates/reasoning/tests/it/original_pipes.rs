//! Tests of all tools that ask a model, with a model that answers like the pipes of the original
//! server: in their shapes, whatever is asked.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest};
use deliberate_testkit::fixtures::{ScriptedModel, expect_done};
use deliberate_toolkit::CallerContext;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::test_registry::{ReasoningTestRegistry, reply_with_fields, text_reply};

/// Answers each purpose in the original's shape.
#[derive(Default)]
struct OriginalPipes {
    count: AtomicUsize,
    improved_thought: Option<&'static str>,
    other_purposes: OtherPurposes,
}

/// What happens with a purpose that the original has no pipe for.
#[derive(Default)]
enum OtherPurposes {
    /// There must be no such request.
    #[default]
    Unexpected,
    /// The provider creates the pipe, which answers in the requested format.
    Created(fn(&ModelRequest) -> ModelReply),
    /// The key may not create pipes.
    Refused,
}

/// The purposes that the original has a pipe for.
const ORIGINAL_PURPOSES: [&str; 10] = [
    "linear",
    "tree",
    "divergent",
    "reflection",
    "auto",
    "backtracking",
    "got_generate",
    "got_score",
    "got_aggregate",
    "got_refine",
];

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
                "quality_score": 0.6,
                "improved_thought": self.improved_thought,
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
        let purpose = ask.purpose.as_str();
        let is_original = ORIGINAL_PURPOSES.contains(&purpose);
        let reply = match &self.other_purposes {
            OtherPurposes::Created(reply) if !is_original => {
                self.count.fetch_add(1, Ordering::Relaxed);
                Ok(reply(ask))
            }
            OtherPurposes::Refused if !is_original => {
                self.count.fetch_add(1, Ordering::Relaxed);
                Err(ModelError::Api {
                    provider: "langbase".to_owned(),
                    status: 403,
                    message: "no".to_owned(),
                })
            }
            _ => Ok(text_reply(&self.answer(purpose).to_string())),
        };
        Box::pin(async move { reply })
    }

    fn has_stored_prompts(&self) -> bool {
        true
    }
}

struct OriginalTestRegistry {
    registry: ReasoningTestRegistry,
    pipes: Arc<OriginalPipes>,
}

impl OriginalTestRegistry {
    fn new() -> Self {
        Self::with_pipes(OriginalPipes::default())
    }

    fn with_pipes(pipes: OriginalPipes) -> Self {
        Self {
            registry: ReasoningTestRegistry::without_model(),
            pipes: Arc::new(pipes),
        }
    }

    async fn call_ok(&self, tool: &str, arguments: Value) -> Value {
        let caller = CallerContext {
            client_model: Some(self.pipes.clone()),
            ..CallerContext::default()
        };
        expect_done(self.registry.registry.call(tool, arguments, caller).await)
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
    assert_eq!(tree["content"], "Lasting.");
    // The first reply has all branches and the recommendation.
    assert_eq!(desk.requests(), 1);
}

#[tokio::test]
async fn no_more_branches_are_opened_than_asked_for() {
    let desk = OriginalTestRegistry::new();
    let arguments = json!({ "content": "A house", "num_perspectives": 2 });
    let views = desk.call_ok("reasoning_divergent", arguments).await;
    assert_eq!(views["perspectives"].as_array().unwrap().len(), 2);
    let graph = json!({ "content": "Rent or buy?" });
    let graph = desk.call_ok("reasoning_got_init", graph).await;
    let arguments = json!({
        "graph_id": graph["graph_id"], "node_id": graph["root_node_id"], "k": 1,
    });
    let grown = desk.call_ok("reasoning_got_generate", arguments).await;
    assert_eq!(grown["count"], 1);
    assert_eq!(desk.requests(), 2);
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
    // The first reply has all perspectives and the synthesis.
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
    assert_eq!(reflection["quality_before"], 0.6);
    let arguments = json!({ "session_id": step["session_id"] });
    let evaluation = desk
        .call_ok("reasoning_reflection_evaluate", arguments)
        .await;
    assert_eq!(evaluation["assessment"], "Sound but short.");
    assert_eq!(evaluation["confidence"], 0.7);
}

/// Prefers the version that holds the revised text, in any order.
fn prefer_the_revision(ask: &ModelRequest) -> ModelReply {
    assert_eq!(ask.purpose.as_str(), "reflection_compare");
    let (_, versions) = ask.messages[0].text.split_once("Version A:").unwrap();
    let (first, _) = versions.split_once("Version B:").unwrap();
    let better = if first.contains("Longer.") { "A" } else { "B" };
    let fields = json!({ "better": better });
    reply_with_fields("It says more.", &fields)
}

#[tokio::test]
async fn an_improved_thought_is_compared_by_a_pipe_that_is_created() {
    for (other_purposes, improved, note) in [
        (
            OtherPurposes::Created(prefer_the_revision),
            json!("Longer."),
            Value::Null,
        ),
        // The check is kept, and the original too.
        (
            OtherPurposes::Refused,
            Value::Null,
            json!("A revision was written, but the comparison failed, so the original was kept."),
        ),
    ] {
        let desk = OriginalTestRegistry::with_pipes(OriginalPipes {
            improved_thought: Some("Longer."),
            other_purposes,
            ..OriginalPipes::default()
        });
        let arguments = json!({ "content": "Short." });
        let reflection = desk.call_ok("reasoning_reflection", arguments).await;
        assert_eq!(reflection["content"], "Sound but short.");
        assert_eq!(reflection["improved_reasoning"], improved);
        assert_eq!(reflection["note"], note);
        assert_eq!(desk.requests(), 3);
    }
}

/// Answers as a pipe without a prompt of its own: what is asked for, and nothing more.
fn pipes_without_prompts() -> Arc<ScriptedModel> {
    let model = ScriptedModel::from_fn(|ask, number| {
        let fields = json!({
            "name": ask.key, "viewpoint": ask.key, "answer": number, "recommended": 2,
            "weakest_point": "w", "confidence_percent": 50, "novelty_percent": 50,
        });
        Ok(reply_with_fields(&format!("Text {number}."), &fields))
    });
    model.store_prompts();
    model
}

#[tokio::test]
async fn a_pipe_without_a_prompt_of_its_own_is_asked_for_each_part() {
    let desk = ReasoningTestRegistry::without_model();
    for (tool, keys, list) in [
        (
            "reasoning_tree",
            &["tree_1", "tree_2", "tree_3", "tree_decide", "tree_compare"][..],
            "branches",
        ),
        (
            "reasoning_divergent",
            &[
                "divergent_1",
                "divergent_2",
                "divergent_3",
                "divergent_synthesis",
            ],
            "perspectives",
        ),
    ] {
        let pipes = pipes_without_prompts();
        let caller = CallerContext {
            client_model: Some(pipes.clone()),
            ..CallerContext::default()
        };
        let arguments = match tool {
            "reasoning_tree" => json!({ "content": "Rent or buy?", "max_branches": 3 }),
            _ => json!({ "content": "Rent or buy?" }),
        };
        let outcome = desk.registry.call(tool, arguments, caller).await;
        let output = expect_done(outcome);
        let items = output[list].as_array().unwrap();
        let texts: Vec<&Value> = items.iter().map(|item| &item["content"]).collect();
        assert_eq!(texts, ["Text 1.", "Text 2.", "Text 3."], "{tool}");
        let last = format!("Text {}.", keys.len());
        assert_eq!(output["content"], last, "{tool}");
        let asked = pipes.requests().into_iter().map(|ask| ask.key);
        assert_eq!(asked.collect::<Vec<_>>(), keys);
    }
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
    assert_eq!(nodes.len(), 2, "{grown}");
    // The first reply has all continuations.
    assert_eq!(desk.requests(), 1);
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

    // The pipe judges one node, whatever it is asked.
    desk.requests();
    let arguments = json!({ "graph_id": id, "node_ids": [first, second] });
    let scores = desk.call_ok("reasoning_got_score", arguments.clone()).await;
    let scores = scores["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 2);
    assert!(scores.iter().all(|score| score["breakdown"] == parts));
    assert_eq!(desk.requests(), 3);

    let merged = desk.call_ok("reasoning_got_aggregate", arguments).await;
    assert_eq!(merged["content"], "Both at once.");
    assert_eq!(merged["confidence"], 0.9);
    assert_eq!(merged["conflicts_resolved"], json!(["The first is right."]));

    let arguments = json!({ "graph_id": id, "node_id": second });
    let refined = desk.call_ok("reasoning_got_refine", arguments).await;
    assert!(refined["content"].is_string(), "{refined}");
}
