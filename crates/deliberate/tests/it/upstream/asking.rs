//! The tools that ask a model: how each is called, what a good answer to it is, and what must be
//! there before.

use deliberate_testkit::Client;
use serde_json::{Value, json};

use crate::support::output;

/// A tool that asks.
pub(super) struct Asking {
    pub(super) tool: &'static str,
    pub(super) needs: Needs,
    pub(super) arguments: fn(&Ready) -> Value,
    /// What a model may answer.
    pub(super) good: fn() -> Value,
    /// Words of the ask that it answers, if there are other asks beside it.
    pub(super) asked_by: &'static [&'static str],
    /// Whether words without JSON are an answer.
    pub(super) takes_words: bool,
    /// The most asks under way at once.
    pub(super) at_once: usize,
    /// Whether something is kept of it.
    pub(super) keeps: bool,
}

/// What a call needs to be there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Needs {
    Nothing,
    /// A session with a thought and a checkpoint after it.
    Session,
    /// A graph with a root and two continuations.
    Graph,
}

/// What is there.
#[derive(Debug, Clone, Default)]
pub(super) struct Ready {
    session: String,
    thought: String,
    checkpoint: String,
    graph: String,
    root: String,
    nodes: Vec<String>,
}

impl Needs {
    /// Brings it about, with a provider that is well.
    pub(super) async fn meet(self, client: &mut Client) -> Ready {
        let mut ready = Ready::default();
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

async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    output(&client.call(tool, arguments).await.unwrap()).clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Every tool that asks. A test fails if one is missing.
pub(super) const ASKING: &[Asking] = &[
    Asking {
        tool: "reasoning_linear",
        needs: Needs::Nothing,
        arguments: |_| json!({ "content": "What now?" }),
        good: step,
        asked_by: &[],
        takes_words: true,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_tree",
        needs: Needs::Nothing,
        arguments: |_| json!({ "content": "Which way?" }),
        good: fork,
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "prompt_engine",
        needs: Needs::Nothing,
        arguments: |_| json!({ "command": "%clean >>explain_code x", "run": true }),
        good: || json!({ "answer": "It says x." }),
        asked_by: &[],
        takes_words: true,
        at_once: 1,
        // Runs are, and nothing that was thought.
        keeps: false,
    },
    Asking {
        tool: "reasoning_backtrack",
        needs: Needs::Session,
        arguments: |it| json!({ "checkpoint_id": it.checkpoint, "new_direction": "Elsewhere." }),
        good: step,
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_divergent",
        needs: Needs::Nothing,
        arguments: |_| json!({ "content": "What else?", "num_perspectives": 2 }),
        good: || {
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
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_reflection",
        needs: Needs::Session,
        arguments: |it| json!({ "thought_id": it.thought, "max_iterations": 2 }),
        good: || {
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
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_reflection_evaluate",
        needs: Needs::Session,
        arguments: |it| json!({ "session_id": it.session }),
        good: || {
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
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: false,
    },
    Asking {
        tool: "reasoning_auto",
        needs: Needs::Nothing,
        arguments: |_| json!({ "content": "The old roof leaks where the chimney once stood." }),
        good: || {
            json!({
                "mode": "linear",
                "rationale": "One line settles it.",
                "confidence_percent": 70,
                "complexity_percent": 30,
                "alternatives": [
                    { "mode": "tree", "confidence_percent": 40, "rationale": "Or several." },
                ],
            })
        },
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: false,
    },
    Asking {
        tool: "reasoning_auto",
        needs: Needs::Session,
        arguments: |it| {
            let content = "The roof leaks.";
            json!({ "content": content, "session_id": it.session, "hints": ["linear"], "run": true })
        },
        good: step,
        asked_by: &[],
        takes_words: true,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_auto",
        needs: Needs::Nothing,
        arguments: |_| json!({ "content": "Which roof?", "hints": ["reasoning_tree"], "run": true }),
        good: fork,
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_auto",
        needs: Needs::Nothing,
        arguments: |_| json!({ "content": "Roofs.", "hints": ["got"], "run": true }),
        good: continuation,
        asked_by: &[],
        takes_words: false,
        at_once: 3,
        keeps: true,
    },
    Asking {
        tool: "reasoning_got_generate",
        needs: Needs::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_id": it.nodes[0], "k": 2 }),
        good: continuation,
        asked_by: &[],
        takes_words: false,
        at_once: 2,
        keeps: true,
    },
    Asking {
        tool: "reasoning_got_score",
        needs: Needs::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_id": it.nodes[0] }),
        good: || {
            json!({
                "relevance_percent": 60,
                "validity_percent": 70,
                "depth_percent": 50,
                "novelty_percent": 40,
                "rationale": "so so",
                "weakest_point": "no figures",
            })
        },
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_got_aggregate",
        needs: Needs::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_ids": it.nodes }),
        good: || {
            json!({
                "thought": "Both, in turn.",
                "approach": "one after the other",
                "conflicts_resolved": ["which first"],
                "contradictions": [{ "first": 1, "second": 2, "reason": "not at once" }],
                "confidence_percent": 70,
            })
        },
        asked_by: &[],
        takes_words: false,
        at_once: 1,
        keeps: true,
    },
    Asking {
        tool: "reasoning_got_refine",
        needs: Needs::Graph,
        arguments: |it| json!({ "graph_id": it.graph, "node_id": it.nodes[0] }),
        good: || {
            json!({
                "critique": "It is vague.",
                "thought": "It is exact now.",
                "improvements": ["exactness"],
            })
        },
        asked_by: &["Improve this node:"],
        takes_words: false,
        // The better text, and how good the present one is.
        at_once: 2,
        keeps: true,
    },
];

fn step() -> Value {
    json!({ "thought": "So it goes on.", "confidence_percent": 70, "weakest_point": "the end" })
}

fn fork() -> Value {
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

fn continuation() -> Value {
    json!({
        "thought": "It follows.",
        "kind": "hypothesis",
        "confidence_percent": 70,
        "rationale": "it leads on",
    })
}
