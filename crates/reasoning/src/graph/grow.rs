//! How a node grows: several asks at once, each for a continuation by another way, and of the
//! answers what is new.

use std::{collections::HashSet, sync::LazyLock};

use deliberate_core::{Change, EdgeKind, Graph, GraphEdge, GraphNode, NodeId, NodeKind, Score};
use deliberate_thinker::Ask;
use deliberate_toolkit::{Call, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    load::beginning,
    new_edge, new_node,
    shown::{Around, beside},
};
use crate::{
    acting::{Found, ShownFound, find_out},
    prompt::{Asking, Freedom},
    said::{Sure, any_text, gist, or_none, something},
    session::metadata,
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
struct Step {
    /// The continuation
    #[schemars(length(min = 1))]
    #[serde(alias = "content", deserialize_with = "something")]
    thought: String,
    /// What it is
    #[serde(default, deserialize_with = "or_none")]
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
    /// Continuations that were there and pruned.
    given_up: &'a [String],
    angle: &'a str,
    #[serde(flatten)]
    found: &'a ShownFound,
}

static ASK: LazyLock<Asking> = LazyLock::new(|| {
    let freedom = Freedom {
        max_tokens: 2_500,
        temperature: 0.7,
    };
    Asking::new::<Step>("got_generate", include_str!("generate.md"), freedom)
});

/// What is continued, stored or not.
pub(super) struct Source<'a> {
    pub(super) graph: &'a Graph,
    pub(super) node: &'a GraphNode,
    /// The continuations it ever got.
    pub(super) children: Vec<&'a GraphNode>,
}

/// What leads to it.
pub(super) struct Way<'a> {
    pub(super) problem: Option<&'a str>,
    pub(super) line: &'a [&'a GraphNode],
}

/// What the model said.
pub(super) struct Thoughts {
    steps: Vec<Step>,
    /// What went wrong, if something did.
    note: Option<String>,
}

/// What a node grew.
#[derive(Default)]
pub(super) struct Growth {
    pub(super) nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
    pub(super) answers: Vec<Continuation>,
    pub(super) duplicates: usize,
    pub(super) notes: Vec<String>,
}

/// Asks for `k` continuations at once.
pub(super) async fn think(
    source: &Source<'_>,
    way: &Way<'_>,
    k: u32,
    tools: Option<&[String]>,
    call: &Call,
) -> Result<(Thoughts, Found), ToolError> {
    // What is found out is for all of them.
    let plain = asks(source, way, 1, &ShownFound::default(), call)?;
    let found = match plain.first() {
        Some(first) => find_out(tools, first, call).await?,
        None => Found::default(),
    };
    call.progress(0.0, Some(1.0), "thinking of continuations");
    let asks = asks(source, way, k, &found.shown(call), call)?;
    let mut steps = Vec::new();
    let mut failures = Vec::new();
    for outcome in call.think_all::<Step>(asks).await? {
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
    Ok((Thoughts { steps, note }, found))
}

fn asks(
    source: &Source<'_>,
    way: &Way<'_>,
    k: u32,
    found: &ShownFound,
    call: &Call,
) -> Result<Vec<Ask>, ToolError> {
    let budget = call.context_tokens();
    let around = Around::new(way.problem, way.line, &source.node.content, budget);
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
    let others = beside(others.into_iter(), share);
    let given_up = beside(given_up.into_iter(), share);
    let first = call.keep("first_angle", source.children.len() % ANGLES.len());
    let angles = ANGLES.iter().cycle().skip(first);
    angles
        .zip(1..=k)
        .map(|(angle, number)| {
            let shown = Shown {
                around: &around,
                others: &others,
                given_up: &given_up,
                angle,
                found,
            };
            Ok(Ask {
                key: format!("got_generate_{number}"),
                ..ASK.ask(shown)?
            })
        })
        .collect()
}

/// What was said before, of which pruned nodes only keep the beginning.
struct Known {
    whole: HashSet<String>,
    begun: HashSet<String>,
}

impl Known {
    fn of(source: &Source<'_>) -> Self {
        let (given_up, others): (Vec<&GraphNode>, Vec<&GraphNode>) = source
            .children
            .iter()
            .copied()
            .partition(|child| child.pruned);
        let whole = others.into_iter().chain([source.node]);
        Self {
            whole: whole.map(|node| sameness(&node.content)).collect(),
            begun: given_up
                .into_iter()
                .map(|node| sameness(&beginning(&node.content)))
                .collect(),
        }
    }

    /// Whether a text is new; it no longer is, then.
    fn add(&mut self, text: &str) -> bool {
        !self.begun.contains(&sameness(&beginning(text))) && self.whole.insert(sameness(text))
    }
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
    /// Those thoughts that are new, as nodes.
    pub(super) fn of(source: &Source<'_>, thoughts: Thoughts, found: &Found, call: &Call) -> Self {
        let mut growth = Self::default();
        let mut known = Known::of(source);
        for step in thoughts.steps {
            if known.add(&step.thought) {
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

    fn add(&mut self, source: &Source<'_>, thought: Step, found: &Found, call: &Call) {
        let kind = thought.kind.map_or(NodeKind::Thought, Into::into);
        let depth = source.node.depth + 1;
        let confidence = thought.sure.score();
        let mut node = new_node(source.graph, kind, depth, thought.thought, call);
        node.metadata = metadata([
            ("confidence", json!(confidence)),
            ("rationale", json!(thought.rationale)),
            ("evidence", found.kept()),
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

    /// Leaves out what there is no room for. Whether something was.
    pub(super) fn keep_only(&mut self, room: u32) -> bool {
        let room = room as usize;
        let is_cut = self.nodes.len() > room;
        self.nodes.truncate(room);
        self.edges.truncate(room);
        self.answers.truncate(room);
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
