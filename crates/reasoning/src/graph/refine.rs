//! `reasoning_got_refine`: a node is written anew, and the better of both is kept.

use std::sync::LazyLock;

use deliberate_core::{
    Change, EdgeKind, GraphId, GraphNode, NodeId, NodeKind, NodeMarks, Requirement, Score,
    SessionId,
};
use deliberate_thinker::ThinkError;
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Thinking, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    load::Whole,
    mark, new_edge, new_node, note, problem,
    score::{self, Judgement},
    shown::Around,
};
use crate::{
    prompt::{Asking, Freedom},
    said::{any_text, gist, rounded, some_things, something},
};

/// `reasoning_got_refine`.
pub struct GotRefine;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    graph_id: GraphId,
    node_id: NodeId,
    /// Problem context
    problem: Option<String>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The graph it belongs to
    graph_id: GraphId,
    /// The session of the graph
    session_id: SessionId,
    /// The node that was to be improved
    original_node_id: NodeId,
    /// The new node; null if the original was kept
    refined_node_id: Option<NodeId>,
    /// The text that was kept
    content: String,
    /// Its score
    confidence: Score,
    /// What was improved; empty if the original was kept
    improvements_made: Vec<String>,
    /// Score of the new text less that of the original; 0 if it did not change
    quality_delta: f64,
    /// Which of both scored better; the original if equal
    kept: Kept,
}

// Which of both was better.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kept {
    Refined,
    Original,
}

/// What the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["critique", "thought", "improvements"]))]
struct Refined {
    /// What was weak
    #[serde(default, deserialize_with = "any_text")]
    #[schemars(with = "String", length(max = 1000))]
    critique: Option<String>,
    /// The whole improved thought
    #[schemars(length(min = 1))]
    #[serde(
        alias = "content",
        alias = "refined_content",
        deserialize_with = "something"
    )]
    thought: String,
    /// What was improved
    #[serde(default, alias = "improvements_made", deserialize_with = "some_things")]
    #[schemars(length(max = 10), inner(length(max = 300)))]
    improvements: Vec<String>,
}

static ASK: LazyLock<Asking> = LazyLock::new(|| {
    let freedom = Freedom {
        max_tokens: 2_500,
        temperature: 0.5,
    };
    Asking::new::<Refined>("got_refine", include_str!("refine.md"), freedom)
});

impl Tool for GotRefine {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_got_refine",
            title: "Improve a node",
            description: "Improve a reasoning node through self-critique and refinement; keeps \
                          the better of both by score.",
            annotations: Annotations::THINKS,
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let whole = Whole::read(&input.graph_id, call).await?;
        let node = call.node(&input.node_id, &input.graph_id).await?;
        whole.config.room(whole.usable().count())?;
        let problem = problem(input.problem.as_deref(), &whole.graph, call)?;
        let line = whole.line_to(&node);
        let around = |text: &str| Around::new(problem, &line, text, call.context_tokens());
        // Whether the original has to be judged is settled once, whoever judges it meanwhile.
        let known = call.keep("original_score", node.score);
        call.progress(0.0, Some(2.0), "improving");
        let (refined, judged) = improve(&around(&node.content), known.is_none(), call).await?;
        let original = known.or(judged.as_ref().map(|it| it.parts.overall()));
        let original = original.ok_or(ToolError::Internal)?;
        let better = if gist(&refined.thought) == gist(&node.content) {
            None
        } else {
            call.progress(1.0, Some(2.0), "comparing");
            let ask = score::ask(&around(&refined.thought), "got_score_refined")?;
            Some(call.think::<Judgement>(ask, None).await?.value)
        };
        // It may have become a conclusion meanwhile.
        let node = call.node(&node.id, &input.graph_id).await?;
        Ok(outcome(
            &whole, &node, original, judged, refined, better, call,
        ))
    }
}

/// Asks for a better text and, if need be, how good the present one is: at once, because neither
/// depends on the other.
async fn improve(
    around: &Around,
    judge: bool,
    call: &Call,
) -> Result<(Refined, Option<Judgement>), ToolError> {
    let refine = call.think::<Refined>(ASK.ask(around)?, None);
    if !judge {
        return Ok((refine.await?.value, None));
    }
    let judge = call.think::<Judgement>(score::ask(around, "got_score_original")?, None);
    let (refined, judged) = futures::future::join(refine, judge).await;
    // One that waits for the client must not be hidden by the failure of the other.
    if waits(&refined) || waits(&judged) {
        return Err(ThinkError::Pending.into());
    }
    Ok((refined?.value, Some(judged?.value)))
}

fn waits<T>(outcome: &Result<Thinking<T>, ToolError>) -> bool {
    matches!(outcome, Err(ToolError::Think(ThinkError::Pending)))
}

/// The better of both, and what is to be remembered of it.
fn outcome(
    whole: &Whole,
    node: &GraphNode,
    original: Score,
    judged: Option<Judgement>,
    refined: Refined,
    better: Option<Judgement>,
    call: &Call,
) -> Outcome<Output> {
    let delta = better.as_ref().map_or(0.0, |better| {
        rounded(better.parts.overall().get() - original.get())
    });
    let mut output = Output {
        graph_id: whole.graph.id.clone(),
        session_id: whole.graph.session_id.clone(),
        original_node_id: node.id.clone(),
        refined_node_id: None,
        content: node.content.clone(),
        confidence: original,
        improvements_made: Vec::new(),
        quality_delta: delta,
        kept: Kept::Original,
    };
    let judged = judged.map(|judged| judged.marks());
    let Some(better) = better.filter(|_| delta > 0.0) else {
        let scored = judged.map(|marks| mark(&node.id, marks, call));
        return Outcome {
            output,
            changes: scored.into_iter().collect(),
            session: Some(whole.graph.session_id.clone()),
        };
    };
    let kind = NodeKind::Refinement;
    let mut new = new_node(&whole.graph, kind, node.depth, refined.thought, call);
    // The better text of a conclusion is the conclusion.
    new.is_terminal = node.is_terminal;
    new.is_active = !node.is_terminal;
    new.score = Some(better.parts.overall());
    new.metadata = Some(better.notes());
    note(&mut new, "critique", json!(refined.critique));
    note(&mut new, "improvements", json!(refined.improvements));
    let confidence = better.parts.overall();
    let ends = (&node.id, &new.id);
    let edge = new_edge(&whole.graph, EdgeKind::Refines, ends, confidence, call);
    output.refined_node_id = Some(new.id.clone());
    output.content.clone_from(&new.content);
    output.confidence = confidence;
    output.improvements_made = refined.improvements;
    output.kept = Kept::Refined;
    let marks = NodeMarks {
        is_active: Some(false),
        is_terminal: node.is_terminal.then_some(false),
        ..judged.unwrap_or_default()
    };
    let changes = vec![
        Change::Require(Requirement::UsableNode(node.id.clone())),
        Change::AddNode(new),
        Change::AddEdge(edge),
        mark(&node.id, marks, call),
        Change::Require(Requirement::NodesAtMost {
            graph_id: whole.graph.id.clone(),
            most: whole.config.max_nodes,
        }),
    ];
    Outcome {
        output,
        changes,
        session: Some(whole.graph.session_id.clone()),
    }
}
