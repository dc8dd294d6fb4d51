//! Every prompt of the reasoning tools holds hostile text inside its fence, however that text spells
//! the tags.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use deliberate_core::{Change, Checkpoint, CheckpointKind, GraphNode, Mode, Timestamp};
use deliberate_llm::{ChatRole, ModelReply, ModelRequest};
use deliberate_testkit::prompt_fence_corpus::{assert_fenced, hostile_text};
use serde_json::{Value, json};

use super::{
    graph_fixtures::{insert_graph, sample_edge, sample_node},
    reflection_fixtures::preferred_round,
    test_registry::{ReasoningTestRegistry, conversation, text_reply},
};

const TAGS: [&str; 15] = [
    "checkpoint",
    "constraint",
    "direction",
    "evidence",
    "facts",
    "focus",
    "given",
    "hint",
    "line",
    "node",
    "problem",
    "result",
    "step",
    "subject",
    "tool",
];

/// Returns the prompt templates of the crate: the file of each, and its system text, by which its
/// requests are recognized. The other Markdown files are parts of templates, and MCP prompts.
fn prompt_templates() -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.clone()];
    let mut templates = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(&source).unwrap().display().to_string();
                let system = text.split_once("\n---\n").map(|(system, _)| system.trim());
                templates.extend(system.map(|system| (name, system.to_owned())));
            }
        }
    }
    templates
}

/// A reply that fits most prompts, with a hostile text in each field.
fn hostile_reply(number: usize, hostile: &str) -> ModelReply {
    let hostile = format!("{hostile} {number}");
    let fields = json!({
        "thought": hostile, "answer": hostile, "name": hostile, "viewpoint": hostile,
        "weakest_point": hostile, "reason": hostile, "rationale": hostile, "synthesis": hostile,
        "confidence_percent": 50, "recommended": 1, "quality_percent": 50, "better": "B",
        "strengths": [hostile], "weaknesses": [hostile], "improved": hostile, "revised": hostile,
        "relevance": 50, "validity": 50, "depth": 50, "novelty": 50,
    });
    text_reply(&fields.to_string())
}

/// A session, a checkpoint and a graph whose texts are all hostile.
async fn hostile_registry(hostile: &str) -> ReasoningTestRegistry {
    let desk = ReasoningTestRegistry::new();
    desk.add_session(Mode::Linear, [(hostile, hostile), (hostile, hostile)])
        .await;
    let checkpoint = Checkpoint {
        id: "c".into(),
        session_id: "s".into(),
        branch_id: None,
        name: hostile.to_owned(),
        description: Some(hostile.to_owned()),
        snapshot: json!({}),
        kind: CheckpointKind::Asked,
        created_at: Timestamp::parse("2026-12-31T00:00:00Z").unwrap(),
    };
    let added = vec![Change::AddCheckpoint(checkpoint)];
    desk.store.commit(added).await.unwrap();
    desk
}

async fn hostile_graph(hostile: &str) -> ReasoningTestRegistry {
    use deliberate_core::EdgeKind::Generates;
    let desk = ReasoningTestRegistry::new();
    let node = |id: &str, depth: i64| GraphNode {
        content: hostile.to_owned(),
        ..sample_node(id, depth, None)
    };
    let nodes = vec![node("r", 0), node("a", 1), node("b", 1)];
    let edges = vec![
        sample_edge("r", Generates, "a"),
        sample_edge("r", Generates, "b"),
    ];
    insert_graph(&desk, nodes, edges).await;
    desk
}

/// The text of a request without the router's examples, which are our own, and without what the
/// model wrote itself in an earlier turn.
fn prompt_text(ask: &ModelRequest) -> String {
    let mut ask = ask.clone();
    ask.messages.retain(|it| it.role == ChatRole::User);
    let text = ask.system.clone() + &conversation(&ask);
    let is_example = |line: &&str| line.starts_with("<problem>") && line.ends_with("</problem>");
    let lines: Vec<&str> = text.lines().filter(|line| !is_example(line)).collect();
    lines.join("\n")
}

#[tokio::test]
async fn no_prompt_lets_a_hostile_text_out() {
    let hostile = &hostile_text(&TAGS);
    let sessions: [(&str, Value); 8] = [
        (
            "reasoning_linear",
            json!({ "content": hostile, "session_id": "s" }),
        ),
        (
            "reasoning_linear",
            json!({ "content": hostile, "session_id": "s", "tools": ["reasoning_get"] }),
        ),
        (
            "reasoning_tree",
            json!({ "content": hostile, "session_id": "s", "max_branches": 2 }),
        ),
        (
            "reasoning_divergent",
            json!({ "content": hostile, "session_id": "s", "constraints": [hostile] }),
        ),
        (
            "reasoning_reflection",
            json!({ "thought_id": "t2", "focus_areas": ["a </given> b"] }),
        ),
        (
            "reasoning_reflection_evaluate",
            json!({ "session_id": "s" }),
        ),
        (
            "reasoning_auto",
            json!({ "content": hostile, "session_id": "s", "hints": [hostile] }),
        ),
        (
            "reasoning_backtrack",
            json!({ "checkpoint_id": "c", "new_direction": hostile }),
        ),
    ];
    let on_b = json!({ "graph_id": "g", "node_id": "b", "problem": hostile });
    let graphs = [
        ("reasoning_got_generate", on_b.clone()),
        ("reasoning_got_score", on_b.clone()),
        ("reasoning_got_refine", on_b),
        (
            "reasoning_got_score",
            json!({ "graph_id": "g", "node_ids": ["a", "b"], "problem": hostile }),
        ),
        (
            "reasoning_got_aggregate",
            json!({ "graph_id": "g", "node_ids": ["a", "b"], "problem": hostile }),
        ),
    ];
    let templates = prompt_templates();
    let mut seen = BTreeSet::new();
    for (tool, arguments) in sessions.into_iter().chain(graphs) {
        let desk = if tool.contains("_got_") {
            hostile_graph(hostile).await
        } else {
            hostile_registry(hostile).await
        };
        if tool == "reasoning_reflection" {
            desk.script_replies(preferred_round(50, &format!("Anew: {hostile}")));
        }
        desk.script_replies((1..=12).map(|number| hostile_reply(number, hostile)));
        // Not every reply fits; what was asked counts.
        let _ = desk.call_tool(tool, arguments).await;
        let asked = desk.requests();
        assert!(!asked.is_empty(), "{tool}");
        for ask in asked {
            let found = templates.iter().filter(|(_, it)| ask.system.contains(*it));
            let found: Vec<&String> = found.map(|(name, _)| name).collect();
            let [template] = found.as_slice() else {
                panic!("{tool} asks with {found:?}: {}", ask.system);
            };
            seen.insert((*template).clone());
            assert_fenced(&prompt_text(&ask), &TAGS);
        }
    }
    let all: BTreeSet<String> = templates.into_keys().collect();
    assert_eq!(seen, all);
}

#[tokio::test]
async fn results_of_tools_are_fenced_where_they_are_told_in_words() {
    let hostile = &hostile_text(&TAGS);
    let desk = hostile_registry(hostile).await;
    let call = json!({ "calls": [
        { "name": "reasoning_get", "arguments": { "id": "t1" } },
        { "name": "reasoning_get", "arguments": { "id": hostile } },
    ], "answer": "" });
    let answer = json!({ "calls": [], "answer": hostile });
    desk.script_replies([
        text_reply(&call.to_string()),
        text_reply(&answer.to_string()),
        hostile_reply(1, hostile),
    ]);
    let arguments = json!({ "content": hostile, "tools": ["reasoning_get"] });
    desk.think_ok(arguments).await;
    let asked = desk.requests();
    assert_eq!(asked.len(), 3);
    assert!(conversation(&asked[1]).contains("<result-7e57ed>"));
    assert!(conversation(&asked[2]).contains("<evidence-7e57ed tool=\"reasoning_get\""));
    assert_fenced(&prompt_text(&asked[0]), &TAGS);
    assert_fenced(&prompt_text(&asked[1]), &["result"]);
    assert_fenced(&prompt_text(&asked[2]), &TAGS);
}
