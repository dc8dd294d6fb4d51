//! `reasoning_got_generate`: a node is continued in several ways at once.

use deliberate_core::{Change, GraphId, GraphNode, NodeId, Precondition, SessionId};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    data::GraphData,
    deactivate_node,
    expand::{Ancestry, Continuation, ExpandFrom, Expansion, request_continuations},
    resolve_problem,
};
use crate::evidence::ToolUseSummary;

/// `reasoning_got_generate`.
pub struct GotGenerate;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    graph_id: GraphId,
    node_id: NodeId,
    /// Number of continuations (default: 3)
    #[schemars(range(min = 1, max = 10))]
    k: Option<u32>,
    /// Problem context
    problem: Option<String>,
    /// Tools to use first, by name; their answers are kept as evidence
    #[schemars(length(max = 16))]
    tools: Option<Vec<String>>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The graph that grew
    graph_id: GraphId,
    /// The session it belongs to
    session_id: SessionId,
    /// The node that was continued
    source_node_id: NodeId,
    /// The new nodes
    continuations: Vec<Continuation>,
    /// How many there are
    count: usize,
    /// How many were left out because they had been said before
    duplicates_dropped: usize,
    /// What went wrong, or that the graph is full; left out if neither
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What tools answered for them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<ToolUseSummary>,
}

impl Tool for GotGenerate {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_generate",
            title: "Continue a node",
            description: "Generate k diverse continuations from a node in the reasoning graph.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let before = GraphData::load(&input.graph_id, call).await?;
        let node = open_node(&input.node_id, &input.graph_id, call).await?;
        let k = before.config.continuation_count(input.k)?;
        before.config.check_depth(node.depth + 1)?;
        let room = before
            .config
            .remaining_nodes(before.usable_nodes().count())?;
        // A call that is run again asks what it asked before, whatever room there is by now.
        let asked = call.memoize("k", k.min(room));
        let way = Ancestry {
            problem: resolve_problem(input.problem.as_deref(), &before.graph, call)?,
            ancestors: &before.ancestors(&node),
        };
        let tools = input.tools.as_deref();
        let (thoughts, found) =
            request_continuations(&expand_from(&before, &node), &way, asked, tools, call).await?;

        // Models take their time, and others work meanwhile: what counts is what is there now.
        let whole = GraphData::load(&input.graph_id, call).await?;
        let node = open_node(&input.node_id, &input.graph_id, call).await?;
        let mut growth = Expansion::from_reply(&expand_from(&whole, &node), thoughts, &found, call);
        let evidence = found.summarize();
        let mut changes = found.changes;
        let mut is_full = asked < k;
        if !growth.nodes.is_empty() {
            is_full |= growth.truncate(whole.config.remaining_nodes(whole.usable_nodes().count())?);
            changes.push(Change::Require(Precondition::OpenNode(node.id.clone())));
            changes.extend(growth.changes());
            changes.push(deactivate_node(&node.id, call));
            changes.push(Change::Require(Precondition::NodesAtMost {
                graph_id: input.graph_id,
                most: whole.config.max_nodes,
            }));
        }
        if is_full {
            growth.notes.push(format!(
                "the graph's limit of {} nodes leaves room for no more",
                whole.config.max_nodes
            ));
        }
        Ok(ToolOutput {
            session: Some(whole.graph.session_id.clone()),
            output: Output {
                graph_id: whole.graph.id,
                session_id: whole.graph.session_id,
                source_node_id: node.id,
                count: growth.continuations.len(),
                duplicates_dropped: growth.duplicates,
                note: growth.note(),
                continuations: growth.continuations,
                evidence,
            },
            changes,
        })
    }
}

fn expand_from<'a>(whole: &'a GraphData, node: &'a GraphNode) -> ExpandFrom<'a> {
    ExpandFrom {
        graph: &whole.graph,
        node,
        children: whole.children_of(&node.id),
    }
}

/// The node, if it may be continued.
async fn open_node(
    id: &NodeId,
    graph: &GraphId,
    call: &ToolContext,
) -> Result<GraphNode, ToolError> {
    let node = call.node(id, graph).await?;
    if node.is_terminal {
        return Err(ToolError::LimitReached {
            what: format!(
                "node {:?} is a conclusion and is not continued",
                node.id.as_str()
            ),
            instead: "Continue a node that is not terminal; reasoning_got_state lists them.",
        });
    }
    Ok(node)
}
