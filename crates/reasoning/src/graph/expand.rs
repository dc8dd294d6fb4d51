//! Continues a node: concurrent model requests, each for a continuation from another angle, of
//! which the new ones become nodes.

use std::{collections::HashSet, sync::LazyLock};

use deliberate_core::{Change, EdgeKind, Graph, GraphEdge, GraphNode, NodeId, NodeKind, Score};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    caller_continuations::read_continuations,
    data::{is_question, shorten_pruned},
    new_edge, new_node,
    prompt_context::{GraphNodeContext, NodeSurroundings, SiblingTexts},
    scoring::ScoreJudgment,
};
use crate::{
    evidence::{EvidenceInPrompt, StepEvidence, gather_evidence},
    model_fields::{ReadableItems, StepFields, non_blank, normalized, optional_text},
    parallel_requests::{AllOrEach, FreeTextItem, ask_all_or_each},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    session::metadata_object,
};

// A new node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Continuation {
    /// The new node
    node_id: NodeId,
    /// Its text
    content: String,
    /// Its result; null if it has none
    answer: Option<String>,
    /// thought, hypothesis or conclusion
    #[schemars(with = "String")]
    node_type: NodeKind,
    /// How sure the model is of it
    confidence: Score,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// Why it is worth following; null if not given
    rationale: Option<String>,
}

/// The answer that the model is asked for, once for each continuation: the text, then the fields.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["answer", "confidence_percent"]))]
pub(super) struct ContinuationReply {
    #[schemars(skip)]
    #[serde(alias = "content", deserialize_with = "non_blank")]
    thought: String,
    #[serde(flatten)]
    fields: StepFields,
    /// What it is, if the caller that brings it says so.
    #[serde(default, deserialize_with = "lenient_kind")]
    #[schemars(skip)]
    kind: Option<ContinuationKind>,
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(skip)]
    rationale: Option<String>,
    /// The four measures, if the caller that brings the continuation also scores it.
    #[serde(skip)]
    judgment: Option<ScoreJudgment>,
}

impl FreeTextItem for ContinuationReply {
    fn from_plain_text(thought: String) -> Self {
        Self {
            thought: thought.trim().to_owned(),
            fields: StepFields::default(),
            kind: None,
            rationale: None,
            judgment: None,
        }
    }
}

/// Continuations that the caller brings: a list, or one.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["continuations"]))]
pub(super) struct ContinuationList {
    /// Each with `thought`, `kind`, `answer`, `weakest_point`, `confidence_percent`
    #[serde(deserialize_with = "some_continuations")]
    #[schemars(with = "Vec<ContinuationReply>")]
    pub(super) continuations: ReadableItems<ContinuationReply>,
}

fn some_continuations<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<ReadableItems<ContinuationReply>, D::Error> {
    let list = ReadableItems::deserialize_each(deserializer, |item, _| scored_continuation(item))?;
    if list.items.is_empty() {
        return Err(serde::de::Error::custom(
            "`continuations` must not be empty",
        ));
    }
    Ok(list)
}

/// Reads a continuation and, if they are there, its four measures.
fn scored_continuation(item: &Value) -> Option<ContinuationReply> {
    let reply = ContinuationReply::deserialize(item).ok()?;
    Some(ContinuationReply {
        judgment: ScoreJudgment::deserialize(item).ok(),
        ..reply
    })
}

/// The kinds of node that a model may answer.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ContinuationKind {
    Thought,
    Hypothesis,
    Conclusion,
}

/// Reads a kind in any case; none if it is unknown.
fn lenient_kind<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ContinuationKind>, D::Error> {
    let written = Value::deserialize(deserializer)?;
    let kind = written.as_str().map(|it| it.trim().to_lowercase());
    Ok(kind.and_then(|it| ContinuationKind::deserialize(Value::String(it)).ok()))
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

/// The angles from which a node is continued. Each request of a call takes another one, and a node
/// that is continued again takes the next ones, so that similar models still give different
/// answers. The first is free.
const ANGLES: [&str; 10] = [
    "",
    "take another way than the obvious one, and check the result by it.",
    "divide it into parts, settle each, and put them together.",
    "name a concrete example, figure or test that decides it, and carry it out.",
    "question the assumption that it leans on most, and say what is left.",
    "look for another cause or explanation than the obvious one.",
    "put the strongest objection, and say what is left after it.",
    "follow its consequences: in the long run, at scale, for those it touches.",
    "suppose that it is false, and see what would then be true.",
    "find something alike in another field, and carry over what holds.",
];

/// The values that the prompt template shows.
#[derive(Serialize)]
struct ExpandPromptContext<'a> {
    #[serde(flatten)]
    around: &'a GraphNodeContext,
    /// Existing continuations.
    others: &'a [String],
    others_left_out: usize,
    /// Pruned continuations.
    given_up: &'a [String],
    given_up_left_out: usize,
    angle: &'a str,
    /// Whether the node states the problem itself, rather than a thought on it.
    is_problem: bool,
    #[serde(flatten)]
    found: &'a EvidenceInPrompt,
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_500,
        temperature: 0.7,
    };
    ReasoningPromptTemplate::free_text::<ContinuationReply>(
        "got_generate",
        include_str!("generate.md"),
        "thought",
        freedom,
    )
});

/// The node to continue, which may not be stored yet.
pub(super) struct ExpandFrom<'a> {
    pub(super) graph: &'a Graph,
    pub(super) node: &'a GraphNode,
    /// All its continuations, including pruned ones.
    pub(super) children: Vec<&'a GraphNode>,
}

/// The continuations of a model or a caller.
pub(super) struct ExpansionReply {
    pub(super) continuations: Vec<ContinuationReply>,
    /// What failed or was dropped.
    pub(super) notes: Vec<String>,
}

/// The new nodes and edges.
#[derive(Default)]
pub(super) struct Expansion {
    pub(super) nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
    pub(super) continuations: Vec<Continuation>,
    /// The scores that the caller brought, one place for each node.
    pub(super) judgments: Vec<Option<ScoreJudgment>>,
    pub(super) duplicates: usize,
    pub(super) notes: Vec<String>,
}

/// Requests `k` continuations concurrently.
pub(super) async fn request_continuations(
    source: &ExpandFrom<'_>,
    around: &NodeSurroundings<'_>,
    k: u32,
    tools: Option<&[String]>,
    call: &ToolContext,
) -> Result<(ExpansionReply, StepEvidence), ToolError> {
    // The evidence is gathered once for all continuations.
    let plain = continuation_requests(source, around, 1, &EvidenceInPrompt::default(), call)?;
    let found = match plain.first() {
        Some(first) => gather_evidence(tools, first, call).await?,
        None => StepEvidence::default(),
    };
    if let Some(reply) = call.take_reply() {
        return Ok((read_continuations(reply, k, call).await?, found));
    }
    call.progress(0.0, Some(1.0), "thinking of continuations");
    let asks = continuation_requests(source, around, k, &found.to_prompt(call), call)?;
    let answered = ask_all_or_each::<ContinuationList, ContinuationReply>(asks, 1, call).await?;
    let reply = match answered {
        AllOrEach::All(mut list) => {
            list.continuations.items.truncate(k as usize);
            ExpansionReply {
                continuations: list.continuations.items,
                notes: Vec::new(),
            }
        }
        AllOrEach::Each(answered) => ExpansionReply {
            continuations: answered.answers,
            notes: Vec::from_iter(answered.note),
        },
    };
    Ok((reply, found))
}

fn continuation_requests(
    source: &ExpandFrom<'_>,
    around: &NodeSurroundings<'_>,
    k: u32,
    found: &EvidenceInPrompt,
    call: &ToolContext,
) -> Result<Vec<ModelRequest>, ToolError> {
    let budget = call.context_tokens();
    let is_problem = is_question(source.node) && around.problem.is_none() && !around.is_digest;
    let around = GraphNodeContext::for_node(around, source.node, budget);
    let (given_up, others): (Vec<&GraphNode>, Vec<&GraphNode>) = source
        .children
        .iter()
        .copied()
        .partition(|child| child.pruned);
    // Open and pruned continuations divide the one share for siblings.
    let share = if given_up.is_empty() {
        budget
    } else {
        budget / 2
    };
    let (others, given_up) = if around.is_digest() {
        Default::default()
    } else {
        let given_up = SiblingTexts::new(&given_up, share);
        (SiblingTexts::new(&others, share), given_up)
    };
    let first = call.memoize("first_angle", source.children.len() % ANGLES.len());
    let angles = ANGLES.iter().cycle().skip(first);
    angles
        .zip(1..=k)
        .map(|(angle, number)| {
            let shown = ExpandPromptContext {
                around: &around,
                others: &others.texts,
                others_left_out: others.left_out,
                given_up: &given_up.texts,
                given_up_left_out: given_up.left_out,
                angle,
                is_problem,
                found,
            };
            Ok(ModelRequest {
                key: format!("got_generate_{number}"),
                ..ASK.render(shown, call)?
            })
        })
        .collect()
}

/// The texts of existing nodes; those of pruned nodes are shortened.
struct SeenTexts {
    full_texts: HashSet<String>,
    short_texts: HashSet<String>,
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
            short_texts: given_up
                .into_iter()
                .map(|node| comparison_key(&shorten_pruned(&node.content)))
                .collect(),
        }
    }

    /// Adds a text and tells whether it was new.
    fn insert(&mut self, text: &str) -> bool {
        !self
            .short_texts
            .contains(&comparison_key(&shorten_pruned(text)))
            && self.full_texts.insert(comparison_key(text))
    }
}

/// The form in which texts are compared to detect duplicates.
fn comparison_key(text: &str) -> String {
    let letters = normalized(text);
    if letters.is_empty() {
        return text.trim().to_owned();
    }
    letters
}

impl Expansion {
    /// Builds nodes from the thoughts that are new.
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
        growth.notes.extend(thoughts.notes);
        if growth.nodes.is_empty() {
            let nothing =
                "no new continuation was found, so nothing changed; try another node or problem";
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
        let confidence = thought.fields.confidence();
        let StepFields {
            answer,
            weakest_point,
            ..
        } = thought.fields;
        let mut node = new_node(source.graph, kind, depth, thought.thought, call);
        node.metadata = metadata_object([
            ("confidence", json!(confidence)),
            ("answer", json!(answer)),
            ("weakest_point", json!(weakest_point)),
            ("rationale", json!(thought.rationale)),
            ("evidence", found.to_metadata()),
        ]);
        let ends = (&source.node.id, &node.id);
        let edge = new_edge(source.graph, EdgeKind::Generates, ends, confidence, call);
        self.continuations.push(Continuation {
            node_id: node.id.clone(),
            content: node.content.clone(),
            answer,
            node_type: kind,
            confidence,
            weakest_point,
            rationale: thought.rationale,
        });
        self.judgments.push(thought.judgment);
        self.nodes.push(node);
        self.edges.push(edge);
    }

    /// Drops the nodes beyond `room`. Returns how many it dropped.
    pub(super) fn truncate(&mut self, room: u32) -> usize {
        let room = room as usize;
        let dropped = self.nodes.len().saturating_sub(room);
        self.nodes.truncate(room);
        self.edges.truncate(room);
        self.continuations.truncate(room);
        self.judgments.truncate(room);
        dropped
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
