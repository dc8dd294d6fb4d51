//! A graph at the shell: several thoughts from the question, scored, merged and concluded.

use deliberate_core::GraphId;
use serde_json::{Map, Value, json};

use super::{Thinking, report::text};
use crate::commands::text_drawing::{DrawnGraph, draw_graph};

/// The number of thoughts that continue the root.
const CONTINUATIONS: u32 = 3;

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
    anyhow::ensure!(!ids.is_empty(), "the model gave no thought; ask again");
    growth.score(&ids).await?;
    let mut outputs = Map::from_iter([
        ("init".to_owned(), init),
        ("generate".to_owned(), generated),
    ]);
    if let Some(merged) = growth.merge(&ids).await? {
        outputs.insert("aggregate".to_owned(), merged);
    }
    let finalized = growth
        .call("concluding", "reasoning_got_finalize", json!({}))
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
    /// Scores the nodes in one call.
    async fn score(&mut self, ids: &[String]) -> anyhow::Result<()> {
        let arguments = match ids {
            // Alone it is judged with the line of thought that leads to it.
            [id] => json!({ "node_id": id }),
            ids => json!({ "node_ids": ids }),
        };
        let output = self.call("scoring", "reasoning_got_score", arguments);
        let output = output.await?;
        self.scores.push(output);
        Ok(())
    }

    /// Merges the nodes, if there are several.
    async fn merge(&mut self, ids: &[String]) -> anyhow::Result<Option<Value>> {
        if ids.len() < 2 {
            return Ok(None);
        }
        let output = self.call(
            "merging",
            "reasoning_got_aggregate",
            json!({ "node_ids": ids }),
        );
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
