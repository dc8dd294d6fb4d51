//! Scores nodes: one with its line, or several side by side in one request.

use std::{collections::BTreeMap, sync::LazyLock};

use deliberate_core::{Change, GraphNode, NodeId, Score};
use deliberate_llm::ModelRequest;
use deliberate_toolkit::{ArgumentIssue, REPLY_FIELD, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::score_reply::{ScoreBreakdown, ScoreJudgment, ScoreListReply, ScoreReply};
use crate::{
    graph::{
        data::{GraphData, node_answer},
        prompt_context::{GraphNodeContext, MergedSources, NodeSurroundings, shorten_seen},
        update_node,
    },
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
};

/// The lowest score of a candidate for a terminal node.
const TERMINAL_SCORE: f64 = 0.8;

// The score of one of several nodes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct NodeScore {
    /// The node that was scored
    pub(in crate::graph) node_id: NodeId,
    /// Mean of the four measures, mostly the validity and at most it; stored as its score
    pub(in crate::graph) overall_score: Score,
    /// The four measures
    pub(in crate::graph) breakdown: ScoreBreakdown,
    /// Why; null if not given
    pub(in crate::graph) rationale: Option<String>,
    /// Its greatest weakness; null if not given
    pub(in crate::graph) weakest_point: Option<String>,
    /// true if it can be a conclusion: 0.8 or more, and no root
    pub(in crate::graph) is_terminal_candidate: bool,
}

impl NodeScore {
    pub(in crate::graph) fn new(node: &GraphNode, judgment: ScoreJudgment) -> Self {
        let overall = judgment.parts.overall();
        Self {
            node_id: node.id.clone(),
            overall_score: overall,
            breakdown: judgment.parts,
            rationale: judgment.rationale,
            weakest_point: judgment.weakest_point,
            is_terminal_candidate: overall.get() >= TERMINAL_SCORE && node.depth >= 1,
        }
    }
}

/// A low temperature, because a judgment should be reproducible.
const PARAMS: GenerationParams = GenerationParams {
    max_tokens: 1_500,
    temperature: 0.2,
};

static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    ReasoningPromptTemplate::free_text::<ScoreReply>(
        "got_score",
        include_str!("score.md"),
        "rationale",
        PARAMS,
    )
});

static ASK_MANY: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    ReasoningPromptTemplate::free_text::<ScoreListReply>(
        "got_score",
        include_str!("score_many.md"),
        "rationale",
        PARAMS,
    )
});

#[derive(Serialize)]
struct ManyPromptContext<'a> {
    problem: Option<&'a str>,
    is_digest: bool,
    nodes: Vec<ScoredNodeInPrompt<'a>>,
}

#[derive(Serialize)]
struct ScoredNodeInPrompt<'a> {
    content: String,
    answer: Option<&'a str>,
    #[serde(flatten)]
    sources: MergedSources,
}

/// Builds the request for the score of one node.
pub(in crate::graph) fn score_request(
    around: &GraphNodeContext,
    key: &str,
    call: &ToolContext,
) -> Result<ModelRequest, ToolError> {
    Ok(ModelRequest {
        key: key.to_owned(),
        ..ASK.render(around, call)?
    })
}

/// Scores several nodes in one request. A node that the model left out is asked for alone.
pub(in crate::graph) async fn score_nodes(
    data: &GraphData,
    problem: Option<&str>,
    nodes: &[&GraphNode],
    call: &ToolContext,
) -> Result<Vec<ScoreJudgment>, ToolError> {
    let is_digest = call.model_has_seen_session(&data.graph.session_id).await;
    let share = call.context_tokens() / (nodes.len() + 1);
    let shown = nodes.iter().map(|node| {
        let mut sources = data.merged_sources(&node.id);
        sources.retain(|_| !is_digest);
        ScoredNodeInPrompt {
            content: shorten_seen(&node.content, is_digest),
            answer: node_answer(node),
            sources: MergedSources::new(&sources, share),
        }
    });
    let context = ManyPromptContext {
        problem: problem.filter(|_| !is_digest),
        is_digest,
        nodes: shown.collect(),
    };
    let ask = ASK_MANY.render(context, call)?;
    let is_reply = call.has_reply();
    call.progress(0.5, Some(1.0), "judging");
    let answer = call.ask::<ScoreListReply>(ask, None).await?.value;
    let ids: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
    let short_ids = call.store().short_ids(&ids).await?;
    let mut judgments: Vec<Option<ScoreJudgment>> = vec![None; nodes.len()];
    // Pipes of the original server judge once, whatever is asked: that score is for no single node.
    let is_complete = answer.scores.len() == nodes.len()
        && answer.scores.iter().all(|scored| scored.node.is_null());
    for (place, scored) in answer.scores.into_iter().enumerate() {
        let place = is_complete.then_some(place);
        let index = scored_index(&scored.node, place, &ids, &short_ids);
        let slot = index.and_then(|index| judgments.get_mut(index));
        if let (Some(slot), Ok(mut judgment)) = (slot, ScoreJudgment::try_from(scored.reply)) {
            judgment.rationale = judgment.rationale.or_else(|| answer.rationale.clone());
            *slot = Some(judgment);
        }
    }
    let mut all = Vec::with_capacity(nodes.len());
    for (number, (judgment, node)) in judgments.into_iter().zip(nodes).enumerate() {
        all.push(match judgment {
            Some(judgment) => judgment,
            None if is_reply => {
                let rule = format!("must have a score for each of the {} nodes", nodes.len());
                return Err(ToolError::Invalid(vec![ArgumentIssue::new(
                    REPLY_FIELD,
                    rule,
                )]));
            }
            None => {
                let around = NodeSurroundings::new(data, node, problem);
                let around = around.for_model(&data.graph, call).await;
                let around = GraphNodeContext::for_node(&around, node, call.context_tokens());
                let key = format!("got_score_{}", number + 1);
                let ask = score_request(&around, &key, call)?;
                call.ask::<ScoreJudgment>(ask, None).await?.value
            }
        });
    }
    Ok(all)
}

/// The index of the node that a score is for: by its number, its short id, its id or an unambiguous
/// beginning of that, else by the place of the score if there is one for each node. A name that fits
/// no node is for none of them.
fn scored_index(
    node: &Value,
    place: Option<usize>,
    ids: &[String],
    short_ids: &BTreeMap<String, String>,
) -> Option<usize> {
    match node {
        Value::Null => place,
        Value::String(name) => {
            let name = name.trim();
            let is_named =
                |id: &String| id == name || short_ids.get(id).is_some_and(|short| short == name);
            let by_number = || {
                let index = name.parse::<usize>().ok()?.checked_sub(1)?;
                (index < ids.len()).then_some(index)
            };
            let named = ids.iter().position(is_named);
            named
                .or_else(by_number)
                .or_else(|| index_by_prefix(name, ids))
        }
        number => usize::try_from(number.as_u64()?).ok()?.checked_sub(1),
    }
}

/// The index of the only id that begins with this text, if it is long enough to be meant as one.
fn index_by_prefix(text: &str, ids: &[String]) -> Option<usize> {
    const MIN_CHARS: usize = 4;
    if text.chars().count() < MIN_CHARS {
        return None;
    }
    let mut alike = (0..).zip(ids).filter(|(_, id)| id.starts_with(text));
    match (alike.next(), alike.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    }
}

/// Scores nodes that a call has just made, best first, with the changes that store the scores.
pub(in crate::graph) async fn score_new_nodes(
    data: &GraphData,
    source: &GraphNode,
    problem: Option<&str>,
    nodes: &[GraphNode],
    call: &ToolContext,
) -> Result<(Vec<NodeScore>, Vec<Change>), ToolError> {
    let root = data.ancestors(source).first().map(|it| it.content.clone());
    let root = root.unwrap_or_else(|| source.content.clone());
    let nodes: Vec<&GraphNode> = nodes.iter().collect();
    let problem = problem.unwrap_or(&root);
    let judgments = score_nodes(data, Some(problem), &nodes, call).await?;
    Ok(score_changes(&nodes, judgments, call))
}

/// The scores of nodes, best first, and the changes that store them.
pub(in crate::graph) fn score_changes(
    nodes: &[&GraphNode],
    judgments: Vec<ScoreJudgment>,
    call: &ToolContext,
) -> (Vec<NodeScore>, Vec<Change>) {
    let mut scores = Vec::new();
    let mut changes = Vec::new();
    for (node, judgment) in nodes.iter().zip(judgments) {
        changes.push(update_node(&node.id, judgment.node_update(), call));
        scores.push(NodeScore::new(node, judgment));
    }
    let score = |it: &NodeScore| it.overall_score.get();
    scores.sort_by(|one, other| score(other).total_cmp(&score(one)));
    (scores, changes)
}
