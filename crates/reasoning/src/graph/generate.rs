//! `reasoning_got_generate`: a node is continued in several ways at once.

use std::{collections::HashSet, sync::LazyLock};

use deliberate_core::{
    Change, EdgeKind, Graph, GraphEdge, GraphId, GraphNode, NodeId, NodeKind, Requirement, Score,
    SessionId,
};
use deliberate_thinker::Ask;
use deliberate_toolkit::{About, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{
    THINKS, any_text,
    load::Whole,
    new_edge, new_node, problem, rest,
    shown::{Around, beside},
};
use crate::{
    prompt::{Asking, Freedom},
    said::{Sure, gist, something},
    session::metadata,
};

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
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    graph_id: GraphId,
    session_id: SessionId,
    source_node_id: NodeId,
    continuations: Vec<Continuation>,
    count: usize,
    duplicates_dropped: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

// One new node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Continuation {
    node_id: NodeId,
    content: String,
    #[schemars(with = "String")]
    node_type: NodeKind,
    confidence: Score,
    rationale: Option<String>,
}

/// What the model is asked for, once for each continuation.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["thought", "kind", "confidence_percent", "rationale"]))]
struct Step {
    /// The continuation
    #[schemars(length(min = 1))]
    #[serde(alias = "content", deserialize_with = "something")]
    thought: String,
    /// What it is
    #[serde(default, deserialize_with = "Kind::or_none")]
    #[schemars(with = "Kind")]
    kind: Option<Kind>,
    #[serde(flatten)]
    sure: Sure,
    /// Why it is worth following
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String", length(max = 300))]
    rationale: Option<String>,
}

/// The kinds of node a model may make.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Thought,
    Hypothesis,
    Conclusion,
}

impl Kind {
    fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let written = Value::deserialize(deserializer)?;
        Ok(serde_json::from_value(written).ok())
    }
}

impl From<Kind> for NodeKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Thought => Self::Thought,
            Kind::Hypothesis => Self::Hypothesis,
            Kind::Conclusion => Self::Conclusion,
        }
    }
}

/// Ways to go on from a node. Each ask of a call takes another, and a node that is continued again
/// goes on where the list was left, so that models that answer alike still differ.
const ANGLES: [&str; 10] = [
    "Take the most direct next step.",
    "Question the assumption that the node leans on most.",
    "Name a concrete example, figure or test that would decide it, and what it shows.",
    "Look for another cause or explanation than the obvious one.",
    "Put the strongest objection, and say what is left after it.",
    "Divide it into parts and settle the part that matters most.",
    "Follow its consequences: in the long run, at scale, for those it touches.",
    "Suppose that it is false, and see what would then be true.",
    "Find something alike in another field, and carry over what holds.",
    "Conclude what can be said for certain by now.",
];

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    around: &'a Around,
    /// Continuations that are there already.
    others: &'a [String],
    angle: &'a str,
}

static ASK: LazyLock<Asking> = LazyLock::new(|| {
    let freedom = Freedom {
        max_tokens: 2_500,
        temperature: 0.7,
    };
    Asking::new::<Step>("got_generate", include_str!("generate.md"), freedom)
});

impl Tool for GotGenerate {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_got_generate",
            title: "Continue a node",
            description: "Generate k diverse continuations from a node in the reasoning graph.",
            annotations: THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let whole = Whole::read(&input.graph_id, call).await?;
        let node = open_node(&input.node_id, &input.graph_id, call).await?;
        let k = whole.config.k(input.k)?;
        whole.config.check_depth(node.depth + 1)?;
        let room = whole.config.room(whole.usable().count())?;
        // A call that is run again asks what it asked before, whatever room there is by now.
        let asked = call.keep("k", k.min(room));
        let source = Source {
            graph: &whole.graph,
            problem: problem(input.problem.as_deref(), &whole.graph, call)?,
            line: &whole.line_to(&node),
            node: &node,
            continuations: &whole.continuations_of(&node.id),
        };
        let mut growth = grow(&source, asked, call).await?;
        growth.keep_only(room);
        if asked < k || growth.left_out > 0 {
            growth.notes.push(format!(
                "the graph's limit of {} nodes leaves room for no more",
                whole.config.max_nodes
            ));
        }
        let mut changes = Vec::new();
        if !growth.nodes.is_empty() {
            changes.push(Change::Require(Requirement::OpenNode(node.id.clone())));
            changes.extend(growth.changes());
            changes.push(rest(&node.id, call));
            changes.push(Change::Require(Requirement::NodesAtMost {
                graph_id: input.graph_id.clone(),
                most: whole.config.max_nodes,
            }));
        }
        Ok(Outcome {
            session: Some(whole.graph.session_id.clone()),
            output: Output {
                graph_id: whole.graph.id,
                session_id: whole.graph.session_id,
                source_node_id: node.id,
                count: growth.answers.len(),
                duplicates_dropped: growth.duplicates,
                note: growth.note(),
                continuations: growth.answers,
            },
            changes,
        })
    }
}

/// The node, if it may be continued.
async fn open_node(id: &NodeId, graph: &GraphId, call: &Call) -> Result<GraphNode, ToolError> {
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

/// What is continued, stored or not.
pub(super) struct Source<'a> {
    pub(super) graph: &'a Graph,
    pub(super) problem: Option<&'a str>,
    pub(super) line: &'a [&'a GraphNode],
    pub(super) node: &'a GraphNode,
    /// Those it has already.
    pub(super) continuations: &'a [&'a GraphNode],
}

/// What a node grew.
#[derive(Default)]
pub(super) struct Growth {
    pub(super) nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
    pub(super) answers: Vec<Continuation>,
    duplicates: usize,
    left_out: usize,
    notes: Vec<String>,
}

/// Asks for `k` continuations at once and keeps what is new.
pub(super) async fn grow(source: &Source<'_>, k: u32, call: &Call) -> Result<Growth, ToolError> {
    call.progress(0.0, Some(1.0), "thinking of continuations");
    let asks = asks(source, k, call)?;
    let outcomes = call.think_all::<Step>(asks).await?;
    let mut growth = Growth::default();
    let mut seen: HashSet<String> = source
        .continuations
        .iter()
        .chain([&source.node])
        .map(|node| sameness(&node.content))
        .collect();
    let mut failures = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(answer) if seen.insert(sameness(&answer.value.thought)) => {
                growth.add(source, answer.value, call);
            }
            Ok(_) => growth.duplicates += 1,
            Err(error) => failures.push(error),
        }
    }
    if growth.nodes.is_empty() && growth.duplicates == 0 {
        return Err(failures.into_iter().next().unwrap_or(ToolError::Internal));
    }
    if let Some(error) = failures.first() {
        growth.notes.push(format!(
            "{} of {k} asks failed ({})",
            failures.len(),
            error.code()
        ));
    }
    if growth.nodes.is_empty() {
        let nothing = "nothing new came, so nothing changed; try another node or problem";
        growth.notes.push(nothing.to_owned());
    }
    Ok(growth)
}

fn asks(source: &Source<'_>, k: u32, call: &Call) -> Result<Vec<Ask>, ToolError> {
    let budget = call.context_tokens();
    let around = Around::new(source.problem, source.line, &source.node.content, budget);
    let others = beside(source.continuations.iter().copied(), budget);
    let first = call.keep("first_angle", source.continuations.len() % ANGLES.len());
    let angles = ANGLES.iter().cycle().skip(first);
    angles
        .zip(1..=k)
        .map(|(angle, number)| {
            let shown = Shown {
                around: &around,
                others: &others,
                angle,
            };
            Ok(Ask {
                key: format!("got_generate_{number}"),
                ..ASK.ask(shown)?
            })
        })
        .collect()
}

/// What is compared to find out whether something was said before.
fn sameness(text: &str) -> String {
    let letters = gist(text);
    if letters.is_empty() {
        return text.trim().to_owned();
    }
    letters
}

impl Growth {
    fn add(&mut self, source: &Source<'_>, thought: Step, call: &Call) {
        let kind = thought.kind.map_or(NodeKind::Thought, Into::into);
        let depth = source.node.depth + 1;
        let confidence = thought.sure.score();
        let mut node = new_node(source.graph, kind, depth, thought.thought, call);
        node.metadata = metadata([
            ("confidence", json!(confidence)),
            ("rationale", json!(thought.rationale)),
        ]);
        let ends = (&source.node.id, &node.id);
        let edge = new_edge(source.graph, EdgeKind::Generates, ends, confidence, call);
        self.answers.push(Continuation {
            node_id: node.id.clone(),
            content: node.content.clone(),
            node_type: kind,
            confidence,
            rationale: thought.rationale,
        });
        self.nodes.push(node);
        self.edges.push(edge);
    }

    /// Leaves out what there is no room for.
    fn keep_only(&mut self, room: u32) {
        let room = room as usize;
        self.left_out = self.nodes.len().saturating_sub(room);
        self.nodes.truncate(room);
        self.edges.truncate(room);
        self.answers.truncate(room);
    }

    pub(super) fn changes(&self) -> Vec<Change> {
        let nodes = self.nodes.iter().cloned().map(Change::AddNode);
        let edges = self.edges.iter().cloned().map(Change::AddEdge);
        nodes.chain(edges).collect()
    }

    pub(super) fn note(&self) -> Option<String> {
        (!self.notes.is_empty()).then(|| self.notes.join("; "))
    }
}
