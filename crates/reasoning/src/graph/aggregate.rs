//! `reasoning_got_aggregate`: merges several nodes into one.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use deliberate_core::{
    Change, EdgeKind, GraphEdge, GraphId, GraphNode, NodeId, NodeKind, Precondition, Score,
    SessionId,
};
use deliberate_llm::{ModelRequest, PlainText};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    data::{
        GraphData, is_named_conclusion, is_question, is_root,
        merge_results::{SourceResults, WRITTEN_BY_CALLER},
        node_answer, node_weakest_point,
        rating::compare_rating,
        topology::Topology,
    },
    deactivate_node, new_edge, new_node,
    prompt_context::{MergedSources, earlier_sources_budget, share_budget, shorten_seen},
    resolve_problem,
};
use crate::{
    agreement::share_of_same_answers,
    model_fields::{StepFields, non_blank, non_blank_list, optional_text},
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
    node_ids: Option<Vec<NodeId>>,
    /// Instead: the best n
    #[schemars(range(min = 2, max = 50))]
    best: Option<u32>,
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
    /// Its result; null if it has none
    answer: Option<String>,
    /// How sure it is: the share of sources with the same result, else the model's judgment
    confidence: Score,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// The nodes that were merged, each once
    source_nodes: Vec<NodeId>,
    /// How they were merged; null if the model did not say
    synthesis_approach: Option<String>,
    /// Each disagreement, and how it was settled
    conflicts_resolved: Vec<String>,
}

/// The answer that the model is asked for: the insight as free text, then the fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["answer", "confidence_percent"]))]
struct AggregateReply {
    #[schemars(skip)]
    #[serde(alias = "content", deserialize_with = "non_blank")]
    thought: String,
    #[serde(
        default,
        alias = "synthesis_approach",
        deserialize_with = "optional_text"
    )]
    #[schemars(skip)]
    approach: Option<String>,
    #[serde(flatten)]
    fields: StepFields,
    #[serde(default, deserialize_with = "non_blank_list")]
    #[schemars(skip)]
    conflicts_resolved: Vec<String>,
}

impl AggregateReply {
    /// The insight of a caller or a model that gives no fields.
    fn from_plain_text(thought: String) -> Self {
        Self {
            thought,
            approach: None,
            conflicts_resolved: Vec::new(),
            fields: StepFields::default(),
        }
    }
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct AggregatePromptContext<'a> {
    problem: Option<&'a str>,
    is_digest: bool,
    nodes: Vec<AggregatePromptNode<'a>>,
    /// The results that the nodes reach, with the numbers of the nodes.
    results: Vec<String>,
}

#[derive(Serialize)]
struct AggregatePromptNode<'a> {
    number: usize,
    score: Option<String>,
    content: String,
    answer: Option<&'a str>,
    weakest_point: Option<&'a str>,
    /// What was merged into the node earlier.
    #[serde(flatten)]
    earlier: MergedSources,
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_500,
        temperature: 0.3,
    };
    ReasoningPromptTemplate::free_text::<AggregateReply>(
        "got_aggregate",
        include_str!("aggregate.md"),
        "thought",
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

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let whole = GraphData::load(&input.graph_id, call).await?;
        let sources = load_sources(&input, &whole, call).await?;
        let depth = sources.iter().map(|node| node.depth).max().unwrap_or(0) + 1;
        whole.config.check_depth(depth)?;
        whole.config.remaining_nodes(whole.usable_nodes().count())?;
        let root = whole.usable_nodes().find(|node| is_root(node));
        let problem = resolve_problem(input.problem.as_deref(), &whole.graph, call)?
            .or(root.map(|root| root.content.as_str()));
        call.progress(0.0, Some(1.0), "merging");
        let is_reply = call.has_reply();
        let is_digest = call.model_has_seen_session(&whole.graph.session_id).await;
        let ask = aggregate_request(problem, &sources, is_digest, &whole, call)?;
        let insight = call.ask(ask, Some(AggregateReply::from_plain_text));
        let insight = insight.await?.value;
        let stated = insight.fields.confidence();
        let answer = insight.fields.answer;
        let confidence = answer
            .as_deref()
            .and_then(|answer| {
                share_of_same_answers(answer, sources.iter().filter_map(node_answer))
            })
            .unwrap_or(stated);
        let results = SourceResults::new(&sources);
        let stated_answer = answer.as_deref();
        let outvoting = stated_answer
            .filter(|_| !is_reply)
            .and_then(|it| results.outvoting(it));
        let mut conflicts_resolved = insight.conflicts_resolved;
        if conflicts_resolved.is_empty() {
            conflicts_resolved.extend(stated_answer.and_then(|it| results.settled_conflict(it)));
        }
        let weakest_point = match &outvoting {
            Some(other) => Some(other.objection.clone()),
            None => insight.fields.weakest_point,
        };
        let kind = NodeKind::Aggregation;
        let mut node = new_node(&whole.graph, kind, depth, insight.thought, call);
        node.metadata = metadata_object([
            ("confidence", json!(confidence)),
            ("answer", json!(answer)),
            ("weakest_point", json!(weakest_point)),
            (WRITTEN_BY_CALLER, json!(is_reply.then_some(true))),
            ("approach", json!(insight.approach)),
            ("conflicts_resolved", json!(conflicts_resolved)),
        ]);
        let mut shape = Topology::from_edges(&whole.edges);
        let heads = results.comparable_heads();
        let mut edges = contradiction_edges(&heads, &whole, &mut shape, call);
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
            answer,
            confidence,
            weakest_point,
            source_nodes: sources.iter().map(|source| source.id.clone()).collect(),
            synthesis_approach: insight.approach,
            conflicts_resolved,
        };
        Ok(ToolOutput {
            output,
            changes: aggregate_changes(&sources, node, edges, &whole, call),
            session: Some(whole.graph.session_id),
        })
    }
}

/// The rule for `best` that a graph with too few nodes to choose from breaks.
const TOO_FEW_BEST: &str = "needs at least two nodes besides the root that are not yet merged, \
                            refined or named as conclusions; name them in node_ids instead";

/// Loads the nodes that the call names, without duplicates, or the best ones.
async fn load_sources(
    input: &Input,
    data: &GraphData,
    call: &ToolContext,
) -> Result<Vec<GraphNode>, ToolError> {
    let invalid =
        |field: &str, rule: &str| Err(ToolError::Invalid(vec![ArgumentIssue::new(field, rule)]));
    let ids: Vec<NodeId> = match (&input.node_ids, input.best) {
        (Some(ids), None) => ids.clone(),
        // Memoized, so that a replayed call merges the same nodes.
        (None, Some(most)) => call.memoize("best", best_node_ids(data, most as usize)),
        _ => return invalid("node_ids", "or best is required, one of the two"),
    };
    let mut nodes: Vec<GraphNode> = Vec::with_capacity(ids.len());
    for id in &ids {
        let node = crate::lookup::node(call, id, &input.graph_id).await?;
        if !nodes.iter().any(|known| known.id == node.id) {
            nodes.push(node);
        }
    }
    if nodes.len() >= 2 {
        return Ok(nodes);
    }
    if input.best.is_some() {
        return invalid("best", TOO_FEW_BEST);
    }
    let rule = "must name at least two different nodes";
    let issue = ArgumentIssue::new("node_ids", rule).with_value(&json!(input.node_ids));
    Err(ToolError::Invalid(vec![issue]))
}

/// The best nodes that are not yet merged, refined or named as conclusions.
fn best_node_ids(data: &GraphData, most: usize) -> Vec<NodeId> {
    let replaced = data.replaced_nodes(|_| true);
    let mut nodes: Vec<&GraphNode> = data
        .usable_nodes()
        .filter(|node| !is_question(node) && !is_named_conclusion(node))
        .filter(|node| !replaced.contains(&node.id))
        .collect();
    nodes.sort_by(|one, other| compare_rating(one, other));
    nodes
        .into_iter()
        .take(most)
        .map(|node| node.id.clone())
        .collect()
}

fn aggregate_request(
    problem: Option<&str>,
    sources: &[GraphNode],
    is_digest: bool,
    data: &GraphData,
    call: &ToolContext,
) -> Result<ModelRequest, ToolError> {
    let texts = share_budget(sources, call.context_tokens());
    let earlier = |source: &GraphNode| {
        let mut earlier = data.merged_sources(&source.id);
        earlier.retain(|_| !is_digest);
        earlier
    };
    let earlier: Vec<Vec<&GraphNode>> = sources.iter().map(earlier).collect();
    let merged_count = earlier.iter().filter(|nodes| !nodes.is_empty()).count();
    let share = earlier_sources_budget(call.context_tokens()) / merged_count.max(1);
    let nodes = sources.iter().zip(texts).zip(earlier).zip(1..);
    let nodes = nodes.map(|(((node, content), earlier), number)| AggregatePromptNode {
        number,
        score: node.score.map(|score| format!("{:.2}", score.get())),
        content: shorten_seen(&content, is_digest),
        answer: node_answer(node),
        weakest_point: node_weakest_point(node),
        earlier: MergedSources::new(&earlier, share),
    });
    let context = AggregatePromptContext {
        problem: problem.filter(|_| !is_digest),
        is_digest,
        nodes: nodes.collect(),
        results: SourceResults::new(sources).list(),
    };
    let ask = ASK.render(context, call)?;
    Ok(ModelRequest {
        plain_text: PlainText::IsTheAnswer,
        ..ask
    })
}

/// Builds the edges between nodes with different results, from the older node to the younger. All
/// edges have this direction, so that concurrent calls cannot close a cycle. Results that everyone
/// words in another way contradict nothing.
fn contradiction_edges(
    heads: &[&GraphNode],
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
    let mut edges = Vec::new();
    for pair in heads.windows(2) {
        let [one, other] = pair else { continue };
        let (one, other) = (&one.id, &other.id);
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
            edge.metadata = metadata_object([("reason", json!("they reach different results"))]);
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
