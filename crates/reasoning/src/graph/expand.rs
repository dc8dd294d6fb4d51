//! How a node grows: several asks at once, each for a continuation by another way, and of the
//! answers what is new.

use std::{collections::HashSet, sync::LazyLock};

use deliberate_core::{Change, EdgeKind, Graph, GraphEdge, GraphNode, NodeId, NodeKind, Score};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    data::truncate_pruned,
    new_edge, new_node,
    prompt_context::{GraphNodeContext, siblings},
};
use crate::{
    ask_template::{AskTemplate, GenerationParams},
    evidence::{EvidenceInPrompt, StepEvidence, gather_evidence},
    model_fields::{Confidence, lenient_option, non_blank, normalized, optional_text},
    session::metadata_object,
};

// One new node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Continuation {
    /// The new node
    node_id: NodeId,
    /// Its text
    content: String,
    /// thought, hypothesis or conclusion
    #[schemars(with = "String")]
    node_type: NodeKind,
    /// How sure the model is of it
    confidence: Score,
    /// Why it is worth following; null if the model did not say
    rationale: Option<String>,
}

/// What the model is asked for, once for each continuation.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["thought", "kind", "confidence_percent", "rationale"]))]
struct ContinuationReply {
    /// The continuation
    #[schemars(length(min = 1))]
    #[serde(alias = "content", deserialize_with = "non_blank")]
    thought: String,
    /// What it is
    #[serde(default, deserialize_with = "lenient_option")]
    #[schemars(with = "ContinuationKind")]
    kind: Option<ContinuationKind>,
    #[serde(flatten)]
    sure: Confidence,
    /// Why it is worth following
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String", length(max = 300))]
    rationale: Option<String>,
}

/// The kinds of node a model may make.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ContinuationKind {
    Thought,
    Hypothesis,
    Conclusion,
}

impl From<ContinuationKind> for NodeKind {
    fn from(kind: ContinuationKind) -> Self {
        match kind {
            ContinuationKind::Thought => Self::Thought,
            ContinuationKind::Hypothesis => Self::Hypothesis,
            ContinuationKind::Conclusion => Self::Conclusion,
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
struct ExpandAskContext<'a> {
    #[serde(flatten)]
    around: &'a GraphNodeContext,
    /// Continuations that are there already.
    others: &'a [String],
    /// Continuations that were there and pruned.
    given_up: &'a [String],
    angle: &'a str,
    #[serde(flatten)]
    found: &'a EvidenceInPrompt,
}

static ASK: LazyLock<AskTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_500,
        temperature: 0.7,
    };
    AskTemplate::new::<ContinuationReply>("got_generate", include_str!("generate.md"), freedom)
});

/// What is continued, stored or not.
pub(super) struct ExpandFrom<'a> {
    pub(super) graph: &'a Graph,
    pub(super) node: &'a GraphNode,
    /// The continuations it ever got.
    pub(super) children: Vec<&'a GraphNode>,
}

/// What leads to it.
pub(super) struct Ancestry<'a> {
    pub(super) problem: Option<&'a str>,
    pub(super) ancestors: &'a [&'a GraphNode],
}

/// What the model said.
pub(super) struct ExpansionReply {
    continuations: Vec<ContinuationReply>,
    /// What went wrong, if something did.
    note: Option<String>,
}

/// What a node grew.
#[derive(Default)]
pub(super) struct Expansion {
    pub(super) nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
    pub(super) continuations: Vec<Continuation>,
    pub(super) duplicates: usize,
    pub(super) notes: Vec<String>,
}

/// Asks for `k` continuations at once.
pub(super) async fn request_continuations(
    source: &ExpandFrom<'_>,
    way: &Ancestry<'_>,
    k: u32,
    tools: Option<&[String]>,
    call: &ToolContext,
) -> Result<(ExpansionReply, StepEvidence), ToolError> {
    // What is found out is for all of them.
    let plain = continuation_requests(source, way, 1, &EvidenceInPrompt::default(), call)?;
    let found = match plain.first() {
        Some(first) => gather_evidence(tools, first, call).await?,
        None => StepEvidence::default(),
    };
    call.progress(0.0, Some(1.0), "thinking of continuations");
    let asks = continuation_requests(source, way, k, &found.to_prompt(call), call)?;
    let mut steps = Vec::new();
    let mut failures = Vec::new();
    for outcome in call.ask_all::<ContinuationReply>(asks).await? {
        match outcome {
            Ok(answer) => steps.push(answer.value),
            Err(error) => failures.push(error),
        }
    }
    let failed = failures.len();
    let first = failures.into_iter().next();
    if steps.is_empty() {
        return Err(first.unwrap_or(ToolError::Internal));
    }
    let note = first.map(|error| format!("{failed} of {k} asks failed ({})", error.code()));
    Ok((
        ExpansionReply {
            continuations: steps,
            note,
        },
        found,
    ))
}

fn continuation_requests(
    source: &ExpandFrom<'_>,
    way: &Ancestry<'_>,
    k: u32,
    found: &EvidenceInPrompt,
    call: &ToolContext,
) -> Result<Vec<ModelRequest>, ToolError> {
    let budget = call.context_tokens();
    let around = GraphNodeContext::new(way.problem, way.ancestors, &source.node.content, budget);
    let (given_up, others): (Vec<&GraphNode>, Vec<&GraphNode>) = source
        .children
        .iter()
        .copied()
        .partition(|child| child.pruned);
    // Both have the one share that there is for what stands beside a node.
    let share = if given_up.is_empty() {
        budget
    } else {
        budget / 2
    };
    let others = siblings(others.into_iter(), share);
    let given_up = siblings(given_up.into_iter(), share);
    let first = call.memoize("first_angle", source.children.len() % ANGLES.len());
    let angles = ANGLES.iter().cycle().skip(first);
    angles
        .zip(1..=k)
        .map(|(angle, number)| {
            let shown = ExpandAskContext {
                around: &around,
                others: &others,
                given_up: &given_up,
                angle,
                found,
            };
            Ok(ModelRequest {
                key: format!("got_generate_{number}"),
                ..ASK.render(shown)?
            })
        })
        .collect()
}

/// What was said before, of which pruned nodes only keep the beginning.
struct SeenTexts {
    full_texts: HashSet<String>,
    prefixes: HashSet<String>,
}

impl SeenTexts {
    fn from_children(source: &ExpandFrom<'_>) -> Self {
        let (given_up, others): (Vec<&GraphNode>, Vec<&GraphNode>) = source
            .children
            .iter()
            .copied()
            .partition(|child| child.pruned);
        let whole = others.into_iter().chain([source.node]);
        Self {
            full_texts: whole.map(|node| comparison_key(&node.content)).collect(),
            prefixes: given_up
                .into_iter()
                .map(|node| comparison_key(&truncate_pruned(&node.content)))
                .collect(),
        }
    }

    /// Whether a text is new; it no longer is, then.
    fn insert(&mut self, text: &str) -> bool {
        !self
            .prefixes
            .contains(&comparison_key(&truncate_pruned(text)))
            && self.full_texts.insert(comparison_key(text))
    }
}

/// What is compared to find out whether something was said before.
fn comparison_key(text: &str) -> String {
    let letters = normalized(text);
    if letters.is_empty() {
        return text.trim().to_owned();
    }
    letters
}

impl Expansion {
    /// Those thoughts that are new, as nodes.
    pub(super) fn from_reply(
        source: &ExpandFrom<'_>,
        thoughts: ExpansionReply,
        found: &StepEvidence,
        call: &ToolContext,
    ) -> Self {
        let mut growth = Self::default();
        let mut known = SeenTexts::from_children(source);
        for step in thoughts.continuations {
            if known.insert(&step.thought) {
                growth.add(source, step, found, call);
            } else {
                growth.duplicates += 1;
            }
        }
        growth.notes.extend(thoughts.note);
        if growth.nodes.is_empty() {
            let nothing = "nothing new came, so nothing changed; try another node or problem";
            growth.notes.push(nothing.to_owned());
        }
        growth
    }

    fn add(
        &mut self,
        source: &ExpandFrom<'_>,
        thought: ContinuationReply,
        found: &StepEvidence,
        call: &ToolContext,
    ) {
        let kind = thought.kind.map_or(NodeKind::Thought, Into::into);
        let depth = source.node.depth + 1;
        let confidence = thought.sure.score();
        let mut node = new_node(source.graph, kind, depth, thought.thought, call);
        node.metadata = metadata_object([
            ("confidence", json!(confidence)),
            ("rationale", json!(thought.rationale)),
            ("evidence", found.to_metadata()),
        ]);
        let ends = (&source.node.id, &node.id);
        let edge = new_edge(source.graph, EdgeKind::Generates, ends, confidence, call);
        self.continuations.push(Continuation {
            node_id: node.id.clone(),
            content: node.content.clone(),
            node_type: kind,
            confidence,
            rationale: thought.rationale,
        });
        self.nodes.push(node);
        self.edges.push(edge);
    }

    /// Leaves out what there is no room for. Whether something was.
    pub(super) fn truncate(&mut self, room: u32) -> bool {
        let room = room as usize;
        let is_cut = self.nodes.len() > room;
        self.nodes.truncate(room);
        self.edges.truncate(room);
        self.continuations.truncate(room);
        is_cut
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
