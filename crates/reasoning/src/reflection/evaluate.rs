//! Judging a session as a whole: what can be counted is counted, the rest is asked.

use std::{collections::BTreeMap, sync::LazyLock};

use deliberate_core::{
    GraphNode, NodeKind, Percent, Score, Session, SessionId, approximate_tokens, truncate_tokens,
};
use deliberate_llm::ModelRequest;
use deliberate_store::{EpochFilter, Pagination, StoreError};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metrics::{
    BranchCounts, ConfidenceTrend, Contradiction, GraphCounts, SessionData, SessionMetrics,
    rounded_score, unpruned_nodes,
};
use crate::{
    ask_template::{AskTemplate, GenerationParams},
    history::{self, SessionHistory},
    model_fields::{Confidence, non_blank, non_blank_list},
    session::{ModeFilter, require_session},
};

/// Graphs that are read; a session seldom has more than one.
const MAX_GRAPHS: u32 = 100;

/// One node may take this share of what is left for nodes.
const NODE_SHARE: usize = 4;

/// What the tag around a node takes.
const TAG_TOKENS: usize = 12;

/// `reasoning_reflection_evaluate`.
pub struct ReflectionEvaluate;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Session to evaluate
    session_id: SessionId,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The session that was evaluated
    session_id: SessionId,
    /// How many thoughts it has, without those set aside
    total_thoughts: usize,
    /// The newest that were counted
    thoughts_examined: usize,
    /// Mean confidence of the thoughts examined; null without any
    average_confidence: Option<Score>,
    /// How the confidence went; null for fewer than two thoughts
    confidence_course: Option<ConfidenceTrend>,
    /// How many of the thoughts examined are of each mode
    mode_distribution: BTreeMap<String, usize>,
    /// Share of thoughts that build on an earlier one, of those that could
    linkage: Score,
    /// What was noted to contradict each other, 20 at the most
    contradictions: Vec<Contradiction>,
    /// How many branches it has, of each kind
    branches: BranchCounts,
    /// How much there is in its graphs
    graphs: GraphCounts,
    /// How well it hangs together: mean of what was counted and what the model judged
    coherence_score: Score,
    /// How good the model finds it; null if not rated
    quality_score: Option<Score>,
    /// The model's judgement, in a few sentences
    assessment: String,
    /// What is good about the reasoning
    strengths: Vec<String>,
    /// What is wrong with it
    weaknesses: Vec<String>,
    /// What to do next
    recommendations: Vec<String>,
    /// How sure the model is of its judgement
    confidence: Score,
}

/// What the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// All is asked for, though an answer without some of it can be used.
#[schemars(extend("required" = [
    "assessment", "coherence_percent", "quality_percent", "strengths", "weaknesses",
    "recommendations", "confidence_percent"
]))]
struct EvaluationReply {
    /// The judgement, in a few sentences
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "non_blank")]
    assessment: String,
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    coherence_percent: Option<Percent>,
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    quality_percent: Option<Percent>,
    #[serde(default, deserialize_with = "non_blank_list")]
    strengths: Vec<String>,
    #[serde(default, deserialize_with = "non_blank_list")]
    weaknesses: Vec<String>,
    #[serde(default, deserialize_with = "non_blank_list")]
    recommendations: Vec<String>,
    #[serde(flatten)]
    sure: Confidence,
}

/// What the ask shows.
#[derive(Serialize)]
struct EvaluateAskContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    nodes: Vec<EvaluateAskNode>,
    nodes_left_out: usize,
    mode: &'static str,
    facts: &'a SessionMetrics,
    average_confidence: String,
    linkage: String,
}

#[derive(Serialize)]
struct EvaluateAskNode {
    kind: &'static str,
    score: String,
    text: String,
}

/// Limits as in the pipes of the original server.
static ASK: LazyLock<AskTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_500,
        temperature: 0.6,
    };
    AskTemplate::new::<EvaluationReply>("reflection", include_str!("evaluate.md"), freedom)
});

impl Tool for ReflectionEvaluate {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_reflection_evaluate",
            title: "Evaluate a session",
            description: "Evaluate a session's overall reasoning quality and coherence, with \
                          recommendations. Changes nothing.",
            hints: ToolHints {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: true,
            },
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = require_session(&input.session_id, ModeFilter::Any, call).await?;
        let record = load_session_data(&session, call).await?;
        if record.thoughts.is_empty() && unpruned_nodes(&record.nodes).next().is_none() {
            let rule = "names a session without thoughts; there is nothing to evaluate";
            let issue =
                ArgumentIssue::new("session_id", rule).with_value(&session.id.as_str().into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        // The verdict is about these, however long its model takes.
        let facts = call.memoize("facts", SessionMetrics::compute(&record));
        call.progress(0.0, Some(1.0), "thinking");
        let ask = evaluation_request(&session, &record.nodes, &facts, call).await?;
        let verdict: EvaluationReply = call.ask(ask, None).await?.value;
        Ok(ToolOutput {
            output: evaluation_output(session.id.clone(), facts, verdict),
            changes: Vec::new(),
            session: Some(session.id),
        })
    }
}

/// Reads what is counted: of everything a page at the most.
async fn load_session_data(
    session: &Session,
    call: &ToolContext,
) -> Result<SessionData, StoreError> {
    let store = call.store();
    let id = &session.id;
    let page = Pagination::limit(Pagination::MAX);
    let mut thoughts = store.latest_thoughts(id, Pagination::MAX).await?;
    thoughts.reverse();
    let total_thoughts = if thoughts.len() < Pagination::MAX as usize {
        thoughts.len()
    } else {
        count_thoughts(session, call).await?
    };
    let graphs = store
        .graphs(id, EpochFilter::Current, Pagination::limit(MAX_GRAPHS))
        .await?;
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for graph in &graphs {
        let room = Pagination::MAX.saturating_sub(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
        if room == 0 {
            break;
        }
        let part = store.nodes(&graph.id, EpochFilter::Current, Pagination::limit(room));
        nodes.extend(part.await?);
        edges.extend(store.edges(&graph.id, EpochFilter::Current, page).await?);
    }
    Ok(SessionData {
        total_thoughts,
        thoughts,
        branches: store.branches(id, EpochFilter::Current, page).await?,
        cross_refs: store.cross_refs(id, EpochFilter::Current, page).await?,
        graphs: graphs.len(),
        nodes,
        edges,
    })
}

/// How many thoughts a long session has, found by looking whether there is one at a place: twenty
/// or thirty single rows instead of all.
async fn count_thoughts(session: &Session, call: &ToolContext) -> Result<usize, StoreError> {
    let there = async |offset: u32| {
        let page = Pagination { offset, limit: 1 };
        let found = call
            .store()
            .thoughts(&session.id, EpochFilter::Current, page);
        Ok::<_, StoreError>(!found.await?.is_empty())
    };
    // Never fewer than `least`, and in the end never more than `most`.
    let mut least = Pagination::MAX;
    let mut most = least;
    while most < u32::MAX && there(most).await? {
        least = most + 1;
        most = most.saturating_mul(2);
    }
    while least < most {
        let middle = least + (most - least) / 2;
        if there(middle).await? {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    Ok(least as usize)
}

async fn evaluation_request(
    session: &Session,
    nodes: &[GraphNode],
    facts: &SessionMetrics,
    call: &ToolContext,
) -> Result<ModelRequest, ToolError> {
    let mut past = call.memoize("past", history::recent_history(session, call).await?);
    let budget = call.context_tokens();
    if !nodes.is_empty() {
        free_half_budget(&mut past, budget);
    }
    let nodes = select_nodes(nodes, budget.saturating_sub(history_tokens(&past)));
    let ask = ASK.render(EvaluateAskContext {
        past: &past,
        nodes_left_out: facts.graphs.nodes.saturating_sub(nodes.len()),
        nodes,
        mode: session.mode.as_str(),
        facts,
        average_confidence: facts
            .average_confidence
            .map_or_else(String::new, |it| format!("{:.2}", it.get())),
        linkage: format!("{:.2}", facts.linkage.get()),
    })?;
    Ok(ModelRequest {
        key: "evaluate".to_owned(),
        ..ask
    })
}

/// What a past takes, a little more than in the ask itself.
fn history_tokens(past: &SessionHistory) -> usize {
    serde_json::to_string(&past.steps).map_or(0, |text| approximate_tokens(&text))
}

/// Leaves out steps after the first until half of the budget is free for nodes.
fn free_half_budget(past: &mut SessionHistory, budget: usize) {
    while past.steps.len() > 1 && history_tokens(past) > budget / 2 {
        past.steps.remove(1);
        past.gap = true;
    }
}

/// The nodes that say most, in the order they were thought, within `budget` tokens.
fn select_nodes(nodes: &[GraphNode], budget: usize) -> Vec<EvaluateAskNode> {
    let mut ranked: Vec<(usize, &GraphNode)> = unpruned_nodes(nodes).enumerate().collect();
    let weight = |node: &GraphNode| {
        let place = match node.node_type {
            NodeKind::Root => 2.0,
            _ if node.is_terminal => 1.0,
            _ => 0.0,
        };
        place + node.score.map_or(0.0, Score::get)
    };
    ranked.sort_by(|(_, one), (_, other)| weight(other).total_cmp(&weight(one)));
    let share = budget / NODE_SHARE;
    let mut left = budget;
    let mut shown = Vec::new();
    for (place, node) in ranked {
        let text = truncate_tokens(&node.content, share);
        let Some(rest) = left.checked_sub(approximate_tokens(&text) + TAG_TOKENS) else {
            break;
        };
        left = rest;
        shown.push((place, node, text));
    }
    shown.sort_by_key(|(place, ..)| *place);
    let shown = shown.into_iter().map(|(_, node, text)| EvaluateAskNode {
        kind: node.node_type.as_str(),
        score: node
            .score
            .map_or_else(|| "none".to_owned(), |it| format!("{:.2}", it.get())),
        text,
    });
    shown.collect()
}

fn evaluation_output(
    session_id: SessionId,
    facts: SessionMetrics,
    verdict: EvaluationReply,
) -> Output {
    let counted = facts.coherence();
    let judged = verdict.coherence_percent.map(|percent| percent.0.get());
    let coherence = f64::midpoint(counted, judged.unwrap_or(counted));
    Output {
        session_id,
        total_thoughts: facts.total_thoughts,
        thoughts_examined: facts.thoughts_examined,
        average_confidence: facts.average_confidence,
        confidence_course: facts.confidence_course,
        mode_distribution: facts.mode_distribution,
        linkage: facts.linkage,
        contradictions: facts.contradictions,
        branches: facts.branches,
        graphs: facts.graphs,
        coherence_score: rounded_score(coherence),
        quality_score: verdict.quality_percent.map(|percent| percent.0),
        assessment: verdict.assessment,
        strengths: verdict.strengths,
        weaknesses: verdict.weaknesses,
        recommendations: verdict.recommendations,
        confidence: verdict.sure.score(),
    }
}
