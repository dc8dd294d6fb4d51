//! `reasoning_got_aggregate`: merges several nodes into one.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use deliberate_core::{
    Change, EdgeKind, GraphEdge, GraphId, GraphNode, NodeId, NodeKind, Precondition, Score,
    SessionId,
};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    data::{GraphData, topology::Topology},
    deactivate_node, new_edge, new_node, prompt_context, resolve_problem,
};
use crate::{
    model_fields::{Confidence, lenient_vec, non_blank, non_blank_list, optional_text},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    session::metadata_object,
};

/// The `reasoning_got_aggregate` tool.
pub(crate) struct GotAggregate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
    /// Node IDs to aggregate
    #[schemars(length(min = 2, max = 50))]
    node_ids: Vec<NodeId>,
    /// Problem context
    problem: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The graph it belongs to
    graph_id: GraphId,
    /// The session of the graph
    session_id: SessionId,
    /// The new node
    aggregated_node_id: NodeId,
    /// The merged insight
    content: String,
    /// How sure the model is of it
    confidence: Score,
    /// The nodes that were merged, each once
    source_nodes: Vec<NodeId>,
    /// How they were merged; null if the model did not say
    synthesis_approach: Option<String>,
    /// Each disagreement, and how it was settled
    conflicts_resolved: Vec<String>,
}

/// The answer that the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["thought", "approach", "conflicts_resolved", "contradictions",
    "confidence_percent"]))]
struct AggregateReply {
    /// The merged insight
    #[schemars(length(min = 1))]
    #[serde(alias = "content", deserialize_with = "non_blank")]
    thought: String,
    /// How they were brought together
    #[serde(
        default,
        alias = "synthesis_approach",
        deserialize_with = "optional_text"
    )]
    #[schemars(with = "String", length(max = 500))]
    approach: Option<String>,
    /// Each disagreement, and how it was settled
    #[serde(default, deserialize_with = "non_blank_list")]
    #[schemars(length(max = 10), inner(length(max = 300)))]
    conflicts_resolved: Vec<String>,
    /// Nodes that can't both be true
    #[serde(default, deserialize_with = "lenient_vec")]
    #[schemars(length(max = 10))]
    contradictions: Vec<NumberedContradiction>,
    #[serde(flatten)]
    sure: Confidence,
}

// Two nodes that contradict each other, by their numbers in the prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["first", "second", "reason"]))]
struct NumberedContradiction {
    first: usize,
    second: usize,
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 300))]
    reason: Option<String>,
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct AggregatePromptContext {
    problem: Option<String>,
    nodes: Vec<AggregatePromptNode>,
}

#[derive(Serialize)]
struct AggregatePromptNode {
    number: usize,
    score: Option<String>,
    content: String,
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_500,
        temperature: 0.5,
    };
    ReasoningPromptTemplate::new::<AggregateReply>(
        "got_aggregate",
        include_str!("aggregate.md"),
        freedom,
    )
});

impl Tool for GotAggregate {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_aggregate",
            title: "Merge nodes",
            description: "Merge multiple reasoning nodes into a unified insight.",
            hints: ToolHints::ASKS_MODEL,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let whole = GraphData::load(&input.graph_id, call).await?;
        let sources = load_sources(&input, call).await?;
        let depth = sources.iter().map(|node| node.depth).max().unwrap_or(0) + 1;
        whole.config.check_depth(depth)?;
        whole.config.remaining_nodes(whole.usable_nodes().count())?;
        let problem = resolve_problem(input.problem.as_deref(), &whole.graph, call)?;
        call.progress(0.0, Some(1.0), "merging");
        let ask = aggregate_request(problem, &sources, call.context_tokens())?;
        let insight = call.ask::<AggregateReply>(ask, None).await?.value;
        let confidence = insight.sure.score();
        let kind = NodeKind::Aggregation;
        let mut node = new_node(&whole.graph, kind, depth, insight.thought, call);
        node.metadata = metadata_object([
            ("confidence", json!(confidence)),
            ("approach", json!(insight.approach)),
            ("conflicts_resolved", json!(insight.conflicts_resolved)),
        ]);
        let mut shape = Topology::from_edges(&whole.edges);
        let mut edges =
            contradiction_edges(&insight.contradictions, &sources, &whole, &mut shape, call);
        for source in &sources {
            let ends = (&source.id, &node.id);
            if shape.add_acyclic_edge(ends.0, ends.1) {
                let kind = EdgeKind::Aggregates;
                edges.push(new_edge(&whole.graph, kind, ends, confidence, call));
            }
        }
        let output = Output {
            graph_id: whole.graph.id.clone(),
            session_id: whole.graph.session_id.clone(),
            aggregated_node_id: node.id.clone(),
            content: node.content.clone(),
            confidence,
            source_nodes: sources.iter().map(|source| source.id.clone()).collect(),
            synthesis_approach: insight.approach,
            conflicts_resolved: insight.conflicts_resolved,
        };
        Ok(ToolOutput {
            output,
            changes: aggregate_changes(&sources, node, edges, &whole, call),
            session: Some(whole.graph.session_id),
        })
    }
}

/// Loads the nodes that the call names, without duplicates.
async fn load_sources(input: &Input, call: &ToolContext) -> Result<Vec<GraphNode>, ToolError> {
    let mut seen = HashSet::new();
    let ids: Vec<&NodeId> = input
        .node_ids
        .iter()
        .filter(|id| seen.insert(*id))
        .collect();
    if ids.len() < 2 {
        let rule = "must name at least two different nodes";
        let issue = ArgumentIssue::new("node_ids", rule).with_value(&json!(input.node_ids));
        return Err(ToolError::Invalid(vec![issue]));
    }
    let mut nodes = Vec::with_capacity(ids.len());
    for id in ids {
        nodes.push(crate::lookup::node(call, id, &input.graph_id).await?);
    }
    Ok(nodes)
}

fn aggregate_request(
    problem: Option<&str>,
    sources: &[GraphNode],
    budget: usize,
) -> Result<ModelRequest, ToolError> {
    let nodes = sources
        .iter()
        .zip(1..)
        .map(|(node, number)| AggregatePromptNode {
            number,
            score: node.score.map(|score| format!("{:.2}", score.get())),
            content: prompt_context::truncate_to_equal_share(&node.content, sources.len(), budget),
        });
    ASK.render(AggregatePromptContext {
        problem: prompt_context::truncate_problem(problem, budget),
        nodes: nodes.collect(),
    })
}

/// Builds the edges for new contradictions, from the older node to the younger. All edges have this
/// direction, so that concurrent calls cannot close a cycle.
fn contradiction_edges(
    contradictions: &[NumberedContradiction],
    sources: &[GraphNode],
    data: &GraphData,
    shape: &mut Topology,
    call: &ToolContext,
) -> Vec<GraphEdge> {
    let ages: HashMap<&NodeId, usize> = data.nodes.iter().map(|node| &node.id).zip(0..).collect();
    let known = data
        .edges
        .iter()
        .filter(|edge| edge.edge_type == EdgeKind::Contradicts);
    let mut known: HashSet<(&NodeId, &NodeId)> =
        known.map(|edge| (&edge.from_node, &edge.to_node)).collect();
    let numbered = |number: usize| sources.get(number.checked_sub(1)?).map(|node| &node.id);
    let mut edges = Vec::new();
    for pair in contradictions {
        let (Some(one), Some(other)) = (numbered(pair.first), numbered(pair.second)) else {
            continue;
        };
        let (Some(age), Some(other_age)) = (ages.get(one), ages.get(other)) else {
            continue;
        };
        let ends = if age < other_age {
            (one, other)
        } else {
            (other, one)
        };
        if known.insert(ends) && shape.add_acyclic_edge(ends.0, ends.1) {
            let kind = EdgeKind::Contradicts;
            let mut edge = new_edge(&data.graph, kind, ends, Score::ONE, call);
            edge.metadata = metadata_object([("reason", json!(pair.reason))]);
            edges.push(edge);
        }
    }
    edges
}

fn aggregate_changes(
    sources: &[GraphNode],
    node: GraphNode,
    edges: Vec<GraphEdge>,
    data: &GraphData,
    call: &ToolContext,
) -> Vec<Change> {
    let usable = |node: &GraphNode| Change::Check(Precondition::UsableNode(node.id.clone()));
    let mut changes: Vec<Change> = sources.iter().map(usable).collect();
    changes.push(Change::AddNode(node));
    changes.extend(edges.into_iter().map(Change::AddEdge));
    changes.extend(
        sources
            .iter()
            .map(|source| deactivate_node(&source.id, call)),
    );
    changes.push(Change::Check(Precondition::NodesAtMost {
        graph_id: data.graph.id.clone(),
        most: data.config.max_nodes,
    }));
    changes
}
