//! Graphs and model replies for the tests.

use deliberate_core::{
    Change, EdgeKind, Graph, GraphEdge, GraphNode, Mode, NodeId, NodeKind, Score, Session,
    Timestamp,
};
use deliberate_llm::ModelReply;
use deliberate_store::EpochFilter;
use serde_json::{Value, json};

use super::test_registry::{FULL_PAGE, ReasoningTestRegistry, text_reply};

/// The text of a reply in the requested format: the free text, then the fields.
pub(crate) fn free_text_reply(text: &str, fields: &Value) -> ModelReply {
    text_reply(&format!("{text}\n\n{fields}"))
}

/// A continuation without a result.
pub(crate) fn continuation_reply(text: &str) -> ModelReply {
    continuation_reply_with_answer(text, None)
}

pub(crate) fn continuation_reply_with_answer(text: &str, answer: Option<&str>) -> ModelReply {
    let fields = json!({
        "kind": "hypothesis", "answer": answer, "weakest_point": "untested",
        "confidence_percent": 60,
    });
    free_text_reply(text, &fields)
}

/// A judgment with the same percentage for all four measures.
pub(crate) fn score_reply(percent: u32) -> ModelReply {
    score_reply_with([percent; 4].map(|percent| json!(percent)))
}

pub(crate) fn score_reply_with(measures: [Value; 4]) -> ModelReply {
    let mut fields = score_fields(measures);
    fields["weakest_point"] = json!("no figures");
    free_text_reply("it holds", &fields)
}

/// The measures in the order relevance, validity, depth, novelty.
pub(crate) fn score_fields([relevance, validity, depth, novelty]: [Value; 4]) -> Value {
    json!({
        "validity_percent": validity,
        "relevance_percent": relevance,
        "depth_percent": depth,
        "novelty_percent": novelty,
    })
}

/// A refinement without a result.
pub(crate) fn refine_reply(text: &str) -> ModelReply {
    let fields = json!({
        "critique": "vague", "improvements": ["figures"], "answer": null,
        "weakest_point": "old figures", "confidence_percent": 65,
    });
    free_text_reply(text, &fields)
}

/// An aggregation without a result.
pub(crate) fn aggregate_reply(text: &str) -> ModelReply {
    aggregate_reply_with_answer(text, None)
}

pub(crate) fn aggregate_reply_with_answer(text: &str, answer: Option<&str>) -> ModelReply {
    let fields = json!({
        "conflicts_resolved": ["the first is right"], "answer": answer,
        "weakest_point": "one source", "confidence_percent": 90,
    });
    free_text_reply(text, &fields)
}

/// Creates a graph with the tool and returns its answer.
pub(crate) async fn init_graph(desk: &ReasoningTestRegistry, config: Value) -> Value {
    let arguments = json!({ "content": "the root", "problem": "the problem", "config": config });
    desk.call_ok("reasoning_got_init", arguments).await
}

/// Continues a node with these thoughts and returns the ids of the new nodes.
pub(crate) async fn generate_nodes(
    registry: &ReasoningTestRegistry,
    graph: &Value,
    node: &Value,
    texts: &[&str],
) -> Vec<Value> {
    registry.script_replies(texts.iter().map(|text| continuation_reply(text)));
    let arguments = json!({ "graph_id": graph, "node_id": node, "k": texts.len() });
    let output = registry.call_ok("reasoning_got_generate", arguments).await;
    node_ids(&output["continuations"])
}

/// Continues a node with thoughts that reach these results, and returns the ids of the new nodes.
pub(crate) async fn generate_answers(
    registry: &ReasoningTestRegistry,
    graph: &Value,
    node: &Value,
    answers: &[&str],
) -> Vec<Value> {
    let reply =
        |answer: &&str| continuation_reply_with_answer(&format!("so it is {answer}"), Some(answer));
    registry.script_replies(answers.iter().map(reply));
    let arguments = json!({ "graph_id": graph, "node_id": node, "k": answers.len() });
    let output = registry.call_ok("reasoning_got_generate", arguments).await;
    node_ids(&output["continuations"])
}

/// The node ids of a list of objects.
pub(crate) fn node_ids(list: &Value) -> Vec<Value> {
    let items = list.as_array().unwrap().iter();
    items.map(|it| it["node_id"].clone()).collect()
}

/// Every node of a graph that was not set aside, pruned or not.
pub(crate) async fn current_nodes(desk: &ReasoningTestRegistry, graph: &Value) -> Vec<GraphNode> {
    let graph = graph.as_str().unwrap().into();
    desk.store
        .nodes(&graph, EpochFilter::Current, FULL_PAGE)
        .await
        .unwrap()
}

pub(crate) async fn current_edges(desk: &ReasoningTestRegistry, graph: &Value) -> Vec<GraphEdge> {
    let graph = graph.as_str().unwrap().into();
    desk.store
        .edges(&graph, EpochFilter::Current, FULL_PAGE)
        .await
        .unwrap()
}

/// The node of that id.
pub(crate) async fn load_node(desk: &ReasoningTestRegistry, id: &Value) -> GraphNode {
    let id = NodeId::from(id.as_str().unwrap());
    desk.store.node(&id).await.unwrap().unwrap()
}

/// All stored nodes and edges of a graph.
pub(crate) async fn stored_graph(
    registry: &ReasoningTestRegistry,
    graph: &Value,
) -> (Vec<GraphNode>, Vec<GraphEdge>) {
    (
        current_nodes(registry, graph).await,
        current_edges(registry, graph).await,
    )
}

pub(crate) fn timestamp() -> Timestamp {
    Timestamp::parse("2025-12-31T00:00:00Z").unwrap()
}

/// A node of graph `g` in session `s`.
pub(crate) fn sample_node(id: &str, depth: i64, score: Option<f64>) -> GraphNode {
    let kind = if depth == 0 {
        NodeKind::Root
    } else {
        NodeKind::Thought
    };
    GraphNode {
        id: id.into(),
        graph_id: "g".into(),
        session_id: "s".into(),
        content: format!("text of {id}"),
        node_type: kind,
        score: score.map(|score| Score::new(score).unwrap()),
        depth,
        is_active: true,
        is_terminal: false,
        pruned: false,
        set_aside: false,
        created_at: timestamp(),
        metadata: None,
    }
}

pub(crate) fn sample_edge(from: &str, kind: EdgeKind, to: &str) -> GraphEdge {
    GraphEdge {
        id: format!("{from}-{to}-{}", kind.as_str()).into(),
        graph_id: "g".into(),
        from_node: from.into(),
        to_node: to.into(),
        edge_type: kind,
        weight: Score::ONE,
        created_at: timestamp(),
        metadata: None,
    }
}

/// Stores a graph `g` directly.
pub(crate) async fn insert_graph(
    registry: &ReasoningTestRegistry,
    nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
) {
    let mut changes = vec![
        Change::AddSession(Session {
            id: "s".into(),
            mode: Mode::Got,
            title: None,
            created_at: timestamp(),
            updated_at: timestamp(),
            active_branch_id: None,
            metadata: None,
        }),
        Change::AddGraph(Graph {
            id: "g".into(),
            session_id: "s".into(),
            problem: None,
            config: json!({}),
            set_aside: false,
            created_at: timestamp(),
            updated_at: timestamp(),
        }),
    ];
    changes.extend(nodes.into_iter().map(Change::AddNode));
    changes.extend(edges.into_iter().map(Change::AddEdge));
    registry.store.commit(changes).await.unwrap();
}

/// Inserts a graph of a root `r` and its two continuations `a` and `b`.
pub(crate) async fn add_sample_graph(registry: &ReasoningTestRegistry) {
    use EdgeKind::Generates;
    insert_graph(
        registry,
        vec![
            sample_node("r", 0, None),
            sample_node("a", 1, None),
            sample_node("b", 1, Some(0.5)),
        ],
        vec![
            sample_edge("r", Generates, "a"),
            sample_edge("r", Generates, "b"),
        ],
    )
    .await;
}
