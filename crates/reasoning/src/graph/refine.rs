//! `reasoning_got_refine`: rewrites a node and keeps the better of the two texts.

use std::sync::LazyLock;

use deliberate_core::{
    Change, EdgeKind, GraphId, GraphNode, NodeId, NodeKind, NodeUpdate, Precondition, Score,
    SessionId,
};
use deliberate_llm::{ModelError, ModelRequest, PlainText};
use deliberate_toolkit::{
    ModelAnswer, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    add_metadata,
    data::{
        CHOSEN_CONCLUSION, GraphData, is_chosen_conclusion, merge_results::WRITTEN_BY_CALLER,
        node_answer, node_weakest_point,
    },
    new_edge, new_node,
    prompt_context::{GraphNodeContext, NodeSurroundings},
    resolve_problem,
    scoring::{ScoreJudgment, score_request},
    update_node,
};
use crate::{
    model_fields::{
        StepFields, non_blank, non_blank_list, normalized, optional_text, round_fraction,
    },
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
};

/// The `reasoning_got_refine` tool.
pub(crate) struct GotRefine;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    graph_id: GraphId,
    node_id: NodeId,
    /// Problem context
    problem: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The graph it belongs to
    graph_id: GraphId,
    /// The session of the graph
    session_id: SessionId,
    /// The node to improve
    original_node_id: NodeId,
    /// The new node; null if the original was kept
    refined_node_id: Option<NodeId>,
    /// The text that was kept
    content: String,
    /// Its result; null if it has none
    answer: Option<String>,
    /// Its score
    confidence: Score,
    /// What is most likely to be wrong with it
    #[serde(skip_serializing_if = "Option::is_none")]
    weakest_point: Option<String>,
    /// What was improved; empty if the original was kept
    improvements_made: Vec<String>,
    /// Score of the new text minus that of the original; 0 if unchanged
    quality_delta: f64,
    /// Which one scored better; the original if equal
    kept: RefinementChoice,
}

// The better one of original and refinement.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RefinementChoice {
    Refined,
    Original,
}

/// The answer that the model is asked for: the improved thought as free text, then the fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["critique", "improvements", "answer", "weakest_point",
    "confidence_percent"]))]
struct RefineReply {
    #[schemars(skip)]
    #[serde(
        alias = "content",
        alias = "refined_content",
        deserialize_with = "non_blank"
    )]
    thought: String,
    /// What was weak
    #[serde(default, deserialize_with = "optional_text")]
    #[schemars(with = "String")]
    critique: Option<String>,
    /// What was improved, in a few words
    #[serde(
        default,
        alias = "improvements_made",
        deserialize_with = "non_blank_list"
    )]
    improvements: Vec<String>,
    #[serde(flatten)]
    fields: StepFields,
}

impl RefineReply {
    /// The improvement of a caller or a model that gives no fields.
    fn from_plain_text(thought: String) -> Self {
        Self {
            thought,
            critique: None,
            improvements: Vec::new(),
            fields: StepFields::default(),
        }
    }
}

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_500,
        temperature: 0.5,
    };
    ReasoningPromptTemplate::free_text::<RefineReply>(
        "got_refine",
        include_str!("refine.md"),
        "thought",
        freedom,
    )
});

impl Tool for GotRefine {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_got_refine",
            title: "Improve a node",
            description: "Improve a reasoning node through self-critique and refinement; keeps \
                          the one with the better score.",
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
        let node = crate::lookup::node(call, &input.node_id, &input.graph_id).await?;
        whole.config.remaining_nodes(whole.usable_nodes().count())?;
        let problem = resolve_problem(input.problem.as_deref(), &whole.graph, call)?;
        let surroundings = NodeSurroundings::new(&whole, &node, problem);
        let surroundings = surroundings.for_model(&whole.graph, call).await;
        let budget = call.context_tokens();
        let around = GraphNodeContext::for_node(&surroundings, &node, budget);
        // Memoized, so that a replayed call makes the same requests even if another call scored the
        // original in the meantime.
        let known = call.memoize("original_score", node.score);
        call.progress(0.0, Some(2.0), "improving");
        if call.has_reply() {
            let ask = refine_request(&around, call)?;
            let refined = call.ask(ask, Some(RefineReply::from_plain_text));
            let refined = refined.await?.value;
            return Ok(caller_refinement(&whole, &node, refined, call));
        }
        let (refined, judged) = improve(&around, known.is_none(), call).await?;
        let original = known.or(judged.as_ref().map(|it| it.parts.overall()));
        let original = original.ok_or(ToolError::Internal)?;
        let better = if normalized(&refined.thought) == normalized(&node.content) {
            None
        } else {
            call.progress(1.0, Some(2.0), "comparing");
            let text = (refined.thought.as_str(), refined.fields.answer.as_deref());
            let around = GraphNodeContext::new(&surroundings, text, budget);
            let ask = score_request(&around, "got_score_refined", call)?;
            Some(call.ask::<ScoreJudgment>(ask, None).await?.value)
        };
        // The node may have become a conclusion in the meantime.
        let node = crate::lookup::node(call, &node.id, &input.graph_id).await?;
        Ok(refine_output(
            &whole, &node, original, judged, refined, better, call,
        ))
    }
}

fn refine_request(
    around: &GraphNodeContext,
    call: &ToolContext,
) -> Result<ModelRequest, ToolError> {
    Ok(ModelRequest {
        plain_text: PlainText::IsTheAnswer,
        ..ASK.render(around, call)?
    })
}

/// Requests a better text and, if necessary, the score of the present one. Both requests run
/// concurrently, because neither depends on the other.
async fn improve(
    around: &GraphNodeContext,
    judge: bool,
    call: &ToolContext,
) -> Result<(RefineReply, Option<ScoreJudgment>), ToolError> {
    let refine = call.ask(
        refine_request(around, call)?,
        Some(RefineReply::from_plain_text),
    );
    if !judge {
        return Ok((refine.await?.value, None));
    }
    let judge = score_request(around, "got_score_original", call)?;
    let judge = call.ask::<ScoreJudgment>(judge, None);
    let (refined, judged) = futures::future::join(refine, judge).await;
    // A request that waits for the client takes precedence over the failure of the other.
    if is_pending(&refined) || is_pending(&judged) {
        return Err(ModelError::Pending.into());
    }
    Ok((refined?.value, Some(judged?.value)))
}

fn is_pending<T>(outcome: &Result<ModelAnswer<T>, ToolError>) -> bool {
    matches!(outcome, Err(ToolError::Model(ModelError::Pending)))
}

/// Builds the output and the changes for the better of the two texts.
fn refine_output(
    data: &GraphData,
    node: &GraphNode,
    original: Score,
    judgment: Option<ScoreJudgment>,
    refined: RefineReply,
    better: Option<ScoreJudgment>,
    call: &ToolContext,
) -> ToolOutput<Output> {
    let delta = better.as_ref().map_or(0.0, |better| {
        round_fraction(better.parts.overall().get() - original.get())
    });
    let mut output = Output {
        graph_id: data.graph.id.clone(),
        session_id: data.graph.session_id.clone(),
        original_node_id: node.id.clone(),
        refined_node_id: None,
        content: node.content.clone(),
        answer: node_answer(node).map(str::to_owned),
        confidence: original,
        weakest_point: judgment
            .as_ref()
            .and_then(|judged| judged.weakest_point.clone())
            .or_else(|| node_weakest_point(node).map(str::to_owned)),
        improvements_made: Vec::new(),
        quality_delta: delta,
        kept: RefinementChoice::Original,
    };
    let judged = judgment.map(|judged| judged.node_update());
    let Some(better) = better.filter(|_| delta > 0.0) else {
        let scored = judged.map(|marks| update_node(&node.id, marks, call));
        return ToolOutput {
            output,
            changes: scored.into_iter().collect(),
            session: Some(data.graph.session_id.clone()),
        };
    };
    let mut new = refinement_node(data, node, &refined, call);
    let score = better.parts.overall();
    new.score = Some(score);
    for (name, value) in better.to_metadata().as_object().into_iter().flatten() {
        add_metadata(&mut new, name, value.clone());
    }
    keep_refinement(&mut output, &new, score, refined);
    ToolOutput {
        changes: refinement_changes(data, node, new, score, judged, call),
        output,
        session: Some(data.graph.session_id.clone()),
    }
}

/// Stores the improvement that the caller brought. The caller made the comparison itself, so no
/// model judges the two.
fn caller_refinement(
    data: &GraphData,
    node: &GraphNode,
    refined: RefineReply,
    call: &ToolContext,
) -> ToolOutput<Output> {
    let confidence = refined.fields.confidence();
    let mut output = Output {
        graph_id: data.graph.id.clone(),
        session_id: data.graph.session_id.clone(),
        original_node_id: node.id.clone(),
        refined_node_id: None,
        content: node.content.clone(),
        answer: node_answer(node).map(str::to_owned),
        confidence: node.score.unwrap_or(Score::DEFAULT_CONFIDENCE),
        weakest_point: node_weakest_point(node).map(str::to_owned),
        improvements_made: Vec::new(),
        quality_delta: 0.0,
        kept: RefinementChoice::Original,
    };
    let session = Some(data.graph.session_id.clone());
    if normalized(&refined.thought) == normalized(&node.content) {
        return ToolOutput {
            output,
            changes: Vec::new(),
            session,
        };
    }
    let mut new = refinement_node(data, node, &refined, call);
    add_metadata(&mut new, "confidence", json!(confidence));
    add_metadata(&mut new, WRITTEN_BY_CALLER, json!(true));
    keep_refinement(&mut output, &new, confidence, refined);
    ToolOutput {
        changes: refinement_changes(data, node, new, confidence, None, call),
        output,
        session,
    }
}

/// Builds the node of a refinement, without a score.
fn refinement_node(
    data: &GraphData,
    node: &GraphNode,
    refined: &RefineReply,
    call: &ToolContext,
) -> GraphNode {
    let text = refined.thought.clone();
    let mut new = new_node(&data.graph, NodeKind::Refinement, node.depth, text, call);
    // The refinement of a conclusion becomes the conclusion.
    new.is_terminal = node.is_terminal;
    new.is_active = !node.is_terminal;
    if is_chosen_conclusion(node) {
        add_metadata(&mut new, CHOSEN_CONCLUSION, json!(true));
    }
    add_metadata(&mut new, "answer", json!(refined.fields.answer));
    add_metadata(
        &mut new,
        "weakest_point",
        json!(refined.fields.weakest_point),
    );
    add_metadata(&mut new, "critique", json!(refined.critique));
    add_metadata(&mut new, "improvements", json!(refined.improvements));
    new
}

fn keep_refinement(output: &mut Output, new: &GraphNode, confidence: Score, refined: RefineReply) {
    output.refined_node_id = Some(new.id.clone());
    output.content.clone_from(&new.content);
    output.answer = refined.fields.answer;
    output.confidence = confidence;
    output.weakest_point = node_weakest_point(new).map(str::to_owned);
    output.improvements_made = refined.improvements;
    output.kept = RefinementChoice::Refined;
}

fn refinement_changes(
    data: &GraphData,
    node: &GraphNode,
    new: GraphNode,
    weight: Score,
    judged: Option<NodeUpdate>,
    call: &ToolContext,
) -> Vec<Change> {
    let ends = (&node.id, &new.id);
    let edge = new_edge(&data.graph, EdgeKind::Refines, ends, weight, call);
    let marks = NodeUpdate {
        is_active: Some(false),
        is_terminal: node.is_terminal.then_some(false),
        ..judged.unwrap_or_default()
    };
    vec![
        Change::Check(Precondition::UsableNode(node.id.clone())),
        Change::AddNode(new),
        Change::AddEdge(edge),
        update_node(&node.id, marks, call),
        Change::Check(Precondition::NodesAtMost {
            graph_id: data.graph.id.clone(),
            most: data.config.max_nodes,
        }),
    ]
}
