//! The tools that ask a model: how each is called, a valid answer, and what must exist before.

use deliberate_testkit::StdioClient;
use serde_json::{Value, json};

use crate::support::{ProviderFormat, output};

/// A tool that asks a model.
pub(super) struct ModelToolCase {
    pub(super) tool: &'static str,
    pub(super) precondition: CasePrecondition,
    pub(super) arguments: fn(&CaseIds) -> Value,
    /// Returns a valid answer of the model.
    pub(super) good_answer: fn() -> Value,
    /// Words of the prompt that it answers, if there are other prompts beside it.
    pub(super) prompt_markers: &'static [&'static str],
    /// Whether text without JSON is an answer.
    pub(super) accepts_plain_text: bool,
    /// Number of independent model requests of the first round.
    pub(super) parallel_asks: usize,
    /// Whether a pipe of the original server answers all of these requests in one reply.
    pub(super) one_reply_may_answer_all: bool,
    /// Whether the call stores anything.
    pub(super) stores_changes: bool,
}

impl ModelToolCase {
    /// Returns how many requests meet an error of the provider. Where prompts are stored at the
    /// provider, one reply may answer all requests, so the first is sent alone.
    pub(super) fn requests_that_meet_an_error(&self, wire: ProviderFormat) -> usize {
        match wire {
            ProviderFormat::Langbase if self.one_reply_may_answer_all => 1,
            _ => self.parallel_asks,
        }
    }
}

/// How many approaches a tree asks for, each in a request of its own.
const APPROACHES: usize = 4;

/// What must exist before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CasePrecondition {
    Nothing,
    /// A session with a thought and a checkpoint after it.
    Session,
    /// A graph with a root and two continuations.
    Graph,
}

/// Ids of what exists.
#[derive(Debug, Clone, Default)]
pub(super) struct CaseIds {
    session: String,
    thought: String,
    checkpoint: String,
    graph: String,
    root: String,
    nodes: Vec<String>,
}

impl CasePrecondition {
    /// Creates it, with a working provider.
    pub(super) async fn set_up(self, client: &mut StdioClient) -> CaseIds {
        let mut ready = CaseIds::default();
        match self {
            Self::Nothing => {}
            Self::Session => {
                let step = call(client, "reasoning_linear", json!({ "content": "Begin." })).await;
                ready.session = text(&step["session_id"]);
                ready.thought = text(&step["thought_id"]);
                let place = json!({ "session_id": ready.session, "name": "here" });
                let place = call(client, "reasoning_checkpoint_create", place).await;
                ready.checkpoint = text(&place["checkpoint_id"]);
            }
            Self::Graph => {
                let begun = call(
                    client,
                    "reasoning_got_init",
                    json!({ "content": "A root." }),
                );
                let begun = begun.await;
                ready.graph = text(&begun["graph_id"]);
                ready.root = text(&begun["root_node_id"]);
                let grow = json!({ "graph_id": ready.graph, "node_id": ready.root, "k": 2 });
                let grown = call(client, "reasoning_got_generate", grow).await;
                let nodes = grown["continuations"].as_array().unwrap();
                ready.nodes = nodes.iter().map(|node| text(&node["node_id"])).collect();
                assert_eq!(ready.nodes.len(), 2, "{grown}");
            }
        }
        ready
    }
}

async fn call(client: &mut StdioClient, tool: &str, arguments: Value) -> Value {
    output(&client.call(tool, arguments).await.unwrap()).clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Every tool that asks a model. A test fails if one is missing.
pub(super) const MODEL_TOOL_CASES: &[ModelToolCase] = &[
    ModelToolCase {
        tool: "reasoning_linear",
        precondition: CasePrecondition::Nothing,
        arguments: |_| json!({ "content": "What now?" }),
        good_answer: step_answer,
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_tree",
        precondition: CasePrecondition::Nothing,
        arguments: |_| json!({ "content": "Which way?" }),
        good_answer: fork_answer,
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: APPROACHES,
        one_reply_may_answer_all: true,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "prompt_engine",
        precondition: CasePrecondition::Nothing,
        arguments: |_| json!({ "command": "%clean >>explain_code x", "run": true }),
        good_answer: || json!({ "answer": "It says x." }),
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        // Runs are stored, but no thoughts.
        stores_changes: false,
    },
    ModelToolCase {
        tool: "reasoning_backtrack",
        precondition: CasePrecondition::Session,
        arguments: |it| json!({ "checkpoint_id": it.checkpoint, "new_direction": "Elsewhere." }),
        good_answer: step_answer,
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_divergent",
        precondition: CasePrecondition::Nothing,
        arguments: |_| json!({ "content": "What else?", "num_perspectives": 2 }),
        good_answer: || {
            let view = |name: &str| {
                json!({
                    "viewpoint": name, "content": format!("As {name} sees it."),
                    "assumption_challenged": "that it must be so",
                    "novelty_percent": 60, "viability_percent": 50,
                })
            };
            json!({
                "perspectives": [view("a bee"), view("a stone")],
                "synthesis": "Both wait.",
                "confidence_percent": 70,
                "weakest_point": "stones",
            })
        },
        prompt_markers: &[],
        accepts_plain_text: false,
        parallel_asks: 2,
        one_reply_may_answer_all: true,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_reflection",
        precondition: CasePrecondition::Session,
        arguments: |it| json!({ "thought_id": it.thought, "max_iterations": 2 }),
        good_answer: || {
            json!({
                "analysis": "It is thin.",
                "strengths": ["it is short"],
                "weaknesses": ["it is thin"],
                "recommendations": ["say more"],
                "quality_percent": 40,
                "improved_reasoning": "It is as thin as before, but longer.",
                "improved_quality_percent": 40,
                "confidence_percent": 70,
                "weakest_point": "taste",
            })
        },
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_reflection_evaluate",
        precondition: CasePrecondition::Session,
        arguments: |it| json!({ "session_id": it.session }),
        good_answer: || {
            json!({
                "assessment": "It hangs together.",
                "coherence_percent": 80,
                "quality_percent": 60,
                "strengths": ["it begins"],
                "weaknesses": [],
                "recommendations": ["go on"],
                "confidence_percent": 70,
            })
        },
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: false,
    },
    ModelToolCase {
        tool: "reasoning_auto",
        precondition: CasePrecondition::Nothing,
        arguments: |_| json!({ "content": "The old roof leaks where the chimney once stood." }),
        good_answer: || {
            json!({
                "rationale": "One line settles it.",
                "mode": "linear",
                "confidence_percent": 70,
                "complexity_percent": 30,
                "alternatives": ["tree"],
            })
        },
        prompt_markers: &[],
        accepts_plain_text: false,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: false,
    },
    ModelToolCase {
        tool: "reasoning_auto",
        precondition: CasePrecondition::Session,
        arguments: |it| {
            let content = "The roof leaks.";
            json!({ "content": content, "session_id": it.session, "hints": ["linear"], "run": true })
        },
        good_answer: step_answer,
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_auto",
        precondition: CasePrecondition::Nothing,
        arguments: |_| json!({ "content": "Which roof?", "hints": ["reasoning_tree"], "run": true }),
        good_answer: fork_answer,
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: APPROACHES,
        one_reply_may_answer_all: true,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_auto",
        precondition: CasePrecondition::Nothing,
        arguments: |_| json!({ "content": "Roofs.", "hints": ["got"], "run": true }),
        good_answer: continuation_answer,
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 3,
        one_reply_may_answer_all: true,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_got_generate",
        precondition: CasePrecondition::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_id": it.nodes[0], "k": 2 }),
        good_answer: continuation_answer,
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 2,
        one_reply_may_answer_all: true,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_got_score",
        precondition: CasePrecondition::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_id": it.nodes[0] }),
        good_answer: || {
            json!({
                "relevance_percent": 60,
                "validity_percent": 70,
                "depth_percent": 50,
                "novelty_percent": 40,
                "rationale": "so so",
                "weakest_point": "no figures",
            })
        },
        prompt_markers: &[],
        accepts_plain_text: false,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_got_aggregate",
        precondition: CasePrecondition::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_ids": it.nodes }),
        good_answer: || {
            json!({
                "thought": "Both, in turn.",
                "approach": "one after the other",
                "conflicts_resolved": ["which first"],
                "contradictions": [{ "first": 1, "second": 2, "reason": "not at once" }],
                "confidence_percent": 70,
            })
        },
        prompt_markers: &[],
        accepts_plain_text: true,
        parallel_asks: 1,
        one_reply_may_answer_all: false,
        stores_changes: true,
    },
    ModelToolCase {
        tool: "reasoning_got_refine",
        precondition: CasePrecondition::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_id": it.nodes[0] }),
        good_answer: || {
            json!({
                "critique": "It is vague.",
                "thought": "It is exact now.",
                "improvements": ["exactness"],
            })
        },
        prompt_markers: &["Improve this node:"],
        accepts_plain_text: false,
        // One for the better text, one for the score of the present one.
        parallel_asks: 2,
        one_reply_may_answer_all: false,
        stores_changes: true,
    },
];

fn step_answer() -> Value {
    json!({ "thought": "So it goes on.", "confidence_percent": 70, "weakest_point": "the end" })
}

fn fork_answer() -> Value {
    let approach = |name: &str| {
        json!({
            "name": name, "thought": format!("Go {name}."), "rationale": "It is short.",
            "confidence_percent": 61,
        })
    };
    json!({
        "thought": "There are two.",
        "approaches": [approach("left"), approach("right")],
        "recommended": 2,
        "relations": [{ "from": 1, "to": 2, "kind": "contradicts", "reason": "a fork" }],
        "confidence_percent": 70,
        "weakest_point": "the map",
    })
}

fn continuation_answer() -> Value {
    json!({
        "thought": "It follows.",
        "kind": "hypothesis",
        "confidence_percent": 70,
        "rationale": "it leads on",
    })
}
