//! A graph at the shell: several thoughts from the question, scored, the best two merged, and the
//! best of all concluded.

use anyhow::Context as _;
use deliberate_core::GraphId;
use serde_json::{Map, Value, json};

use super::{Thinking, report::text};
use crate::commands::text_drawing::{DrawnGraph, draw_graph};

/// The number of thoughts that continue the root.
const CONTINUATIONS: u32 = 3;

/// The number of nodes that are merged.
const MERGED_NODES: usize = 2;

/// A node and its score.
struct ScoredNode {
    id: String,
    score: f64,
}

impl ScoredNode {
    /// Reads the score of one node.
    fn from_score(score: &Value) -> Self {
        let overall = score.get("overall_score").and_then(Value::as_f64);
        Self {
            id: text(score, "node_id"),
            score: overall.unwrap_or_default(),
        }
    }
}

/// Grows a graph from its root, or from the continuations that it begins with, to a conclusion, and
/// returns the outputs of the tools, beginning with the one that made the graph.
pub(super) async fn grow_graph(thinking: &mut Thinking<'_>, init: Value) -> anyhow::Result<Value> {
    let graph = GraphId::from(text(&init, "graph_id"));
    let mut growth = GraphGrowth {
        thinking,
        graph,
        scores: Vec::new(),
    };
    growth.draw().await?;
    let generated = if init.get("continuations").is_some() {
        init.clone()
    } else {
        let arguments = json!({ "node_id": text(&init, "root_node_id"), "k": CONTINUATIONS });
        growth
            .call("continuing", "reasoning_got_generate", arguments)
            .await?
    };
    let continuations = generated.get("continuations").and_then(Value::as_array);
    let ids: Vec<String> = continuations
        .into_iter()
        .flatten()
        .map(|node| text(node, "node_id"))
        .collect();
    let mut nodes = growth.score(&ids).await?;
    let merged = growth.merge(&nodes).await?;
    let mut outputs = Map::from_iter([
        ("init".to_owned(), init),
        ("generate".to_owned(), generated),
    ]);
    if let Some(merged) = merged {
        let id = text(&merged, "aggregated_node_id");
        // The merged node comes first, so that it is preferred among equals.
        nodes.splice(0..0, growth.score(&[id]).await?);
        outputs.insert("aggregate".to_owned(), merged);
        nodes.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    let best = nodes
        .first()
        .context("the model gave no thought; ask again")?;
    let arguments = json!({ "terminal_node_ids": [best.id] });
    let finalized = growth
        .call("concluding", "reasoning_got_finalize", arguments)
        .await?;
    outputs.insert("scores".to_owned(), growth.scores.into());
    outputs.insert("finalize".to_owned(), finalized);
    Ok(Value::Object(outputs))
}

struct GraphGrowth<'t, 'a> {
    thinking: &'t mut Thinking<'a>,
    graph: GraphId,
    /// The outputs of `reasoning_got_score`.
    scores: Vec<Value>,
}

impl GraphGrowth<'_, '_> {
    /// Scores the nodes in one call and returns them best first.
    async fn score(&mut self, ids: &[String]) -> anyhow::Result<Vec<ScoredNode>> {
        let arguments = match ids {
            [] => return Ok(Vec::new()),
            // Alone it is judged with the line of thought that leads to it.
            [id] => json!({ "node_id": id }),
            ids => json!({ "node_ids": ids }),
        };
        let output = self
            .call("scoring", "reasoning_got_score", arguments)
            .await?;
        let scores = match output.get("scores").and_then(Value::as_array) {
            Some(scores) => scores.iter().map(ScoredNode::from_score).collect(),
            None => vec![ScoredNode::from_score(&output)],
        };
        self.scores.push(output);
        Ok(scores)
    }

    /// Merges the best nodes, if there are several.
    async fn merge(&mut self, nodes: &[ScoredNode]) -> anyhow::Result<Option<Value>> {
        let ids: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
        let Some(best) = ids.get(..MERGED_NODES) else {
            return Ok(None);
        };
        let arguments = json!({ "node_ids": best });
        let output = self.call("merging", "reasoning_got_aggregate", arguments);
        Ok(Some(output.await?))
    }

    /// Calls a tool on the graph, then draws the graph.
    async fn call(&mut self, step: &str, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let mut fields = Map::from_iter([("graph_id".to_owned(), self.graph.as_str().into())]);
        if let Value::Object(arguments) = arguments {
            fields.extend(arguments);
        }
        let output = self.thinking.call(step, tool, fields).await?;
        self.draw().await?;
        Ok(output)
    }

    async fn draw(&mut self) -> anyhow::Result<()> {
        let store = self.thinking.registry.store();
        let graph = DrawnGraph::load(&self.graph, store.as_ref()).await?;
        self.thinking.display.show(draw_graph(&graph))?;
        Ok(())
    }
}
