//! `reasoning_reflection_evaluate`: evaluates a whole session. Code computes the metrics, and a
//! model judges the rest.

use std::{collections::BTreeMap, sync::LazyLock};

use deliberate_core::{
    GraphNode, NodeKind, Percent, Score, Session, SessionId, approximate_tokens, fit_items,
    shorten_tokens,
};
use deliberate_llm::{ModelRequest, PlainText};
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
    history::{self, SessionHistory},
    model_fields::{Confidence, non_blank, non_blank_list},
    prompt_template::{GenerationParams, ReasoningPromptTemplate},
    session::require_session,
};

/// The largest number of graphs read; a session seldom has more than one.
const MAX_GRAPHS: u32 = 100;

/// The root and the best node are shown in any case, shortened if they are too long.
const ALWAYS_SHOWN: usize = 2;

/// The approximate tokens of the tag around a node.
const TAG_TOKENS: usize = 12;

/// The `reasoning_reflection_evaluate` tool.
pub(crate) struct ReflectionEvaluate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    session_id: SessionId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The session that was evaluated
    session_id: SessionId,
    /// How many current thoughts it has
    total_thoughts: usize,
    /// How many of the newest were examined
    thoughts_examined: usize,
    /// Mean confidence of the thoughts examined; null without any
    average_confidence: Option<Score>,
    /// Trend of the confidence; null for fewer than two thoughts
    confidence_course: Option<ConfidenceTrend>,
    /// How many of the thoughts examined are of each mode
    mode_distribution: BTreeMap<String, usize>,
    /// Share of thoughts that build on an earlier one, of those that could
    linkage: Score,
    /// Recorded contradictions, at most 20
    contradictions: Vec<Contradiction>,
    /// Counts of its branches
    branches: BranchCounts,
    /// Counts of its graphs
    graphs: GraphCounts,
    /// Coherence: mean of the computed value and the model's
    coherence_score: Score,
    /// Quality by the model; null if not rated
    quality_score: Option<Score>,
    /// The result of its latest thought, else of its best node; null if none
    answer: Option<String>,
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

/// The answer that the model is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
// The schema requires every field, although an answer without some of them is accepted.
#[schemars(extend("required" = [
    "strengths", "weaknesses", "recommendations", "coherence_percent", "quality_percent",
    "confidence_percent"
]))]
struct EvaluationReply {
    #[schemars(skip)]
    #[serde(deserialize_with = "non_blank")]
    assessment: String,
    /// A strength, in a sentence
    #[serde(default, deserialize_with = "non_blank_list")]
    strengths: Vec<String>,
    /// A weakness, in a sentence
    #[serde(default, deserialize_with = "non_blank_list")]
    weaknesses: Vec<String>,
    /// What to do next, in a sentence
    #[serde(default, deserialize_with = "non_blank_list")]
    recommendations: Vec<String>,
    /// How well it hangs together
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    coherence_percent: Option<Percent>,
    /// How good it is
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    quality_percent: Option<Percent>,
    #[serde(flatten)]
    sure: Confidence,
}

impl EvaluationReply {
    /// An assessment without fields.
    fn from_plain_text(assessment: String) -> Self {
        Self {
            assessment,
            strengths: Vec::new(),
            weaknesses: Vec::new(),
            recommendations: Vec::new(),
            coherence_percent: None,
            quality_percent: None,
            sure: Confidence::default(),
        }
    }
}

/// The values that the prompt template shows.
#[derive(Serialize)]
struct EvaluatePromptContext<'a> {
    #[serde(flatten)]
    past: &'a SessionHistory,
    nodes: Vec<EvaluatePromptNode>,
    nodes_left_out: usize,
    mode: &'static str,
    facts: &'a SessionMetrics,
    average_confidence: String,
    linkage: String,
}

#[derive(Serialize)]
struct EvaluatePromptNode {
    kind: &'static str,
    score: String,
    text: String,
}

/// The same limits as the pipes of the original server have.
static ASK: LazyLock<ReasoningPromptTemplate> = LazyLock::new(|| {
    let freedom = GenerationParams {
        max_tokens: 2_500,
        temperature: 0.6,
    };
    ReasoningPromptTemplate::free_text::<EvaluationReply>(
        "reflection",
        include_str!("evaluate.md"),
        "assessment",
        freedom,
    )
});

impl Tool for ReflectionEvaluate {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_reflection_evaluate",
            title: "Evaluate a session",
            description: "Evaluate a session's overall reasoning quality and coherence, with \
                          recommendations.",
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

    fn takes_reply(&self) -> bool {
        true
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = require_session(&input.session_id, call).await?;
        let record = load_session_data(&session, call).await?;
        if record.thoughts.is_empty() && unpruned_nodes(&record.nodes).next().is_none() {
            let rule = "names a session without thoughts; there is nothing to evaluate";
            let issue =
                ArgumentIssue::new("session_id", rule).with_value(&session.id.as_str().into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        let answer = history::current_answer(&session, call).await?;
        // Memoized, so that a replayed call judges the same facts.
        let facts = call.memoize("facts", SessionMetrics::compute(&record));
        call.progress(0.0, Some(1.0), "thinking");
        let ask = evaluation_request(&session, &record.nodes, &facts, call).await?;
        let from_plain = Some(EvaluationReply::from_plain_text as fn(String) -> _);
        let verdict = call.ask(ask, from_plain).await?.value;
        Ok(ToolOutput {
            output: evaluation_output(session.id.clone(), answer, facts, verdict),
            changes: Vec::new(),
            session: Some(session.id),
        })
    }
}

/// Reads the data for the metrics, at most one page of each kind.
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

/// Counts the thoughts of a long session by a binary search for the last offset: twenty or thirty
/// single rows instead of all.
async fn count_thoughts(session: &Session, call: &ToolContext) -> Result<usize, StoreError> {
    let there = async |offset: u32| {
        let page = Pagination { offset, limit: 1 };
        let found = call
            .store()
            .thoughts(&session.id, EpochFilter::Current, page);
        Ok::<_, StoreError>(!found.await?.is_empty())
    };
    // Invariant: the count is at least `least`; after the loop it is at most `most`.
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
    let past = history::recent_history(session, call).await?;
    let mut past = call.memoize("past", past.for_model(call).await).for_judge();
    let budget = call.context_tokens();
    if !nodes.is_empty() {
        free_half_budget(&mut past, budget);
    }
    let nodes = if call.model_knows_session(&session.id).await {
        past.is_digest = true;
        Vec::new()
    } else {
        select_nodes(nodes, budget.saturating_sub(history_tokens(&past)))
    };
    let context = EvaluatePromptContext {
        past: &past,
        nodes_left_out: facts.graphs.nodes.saturating_sub(nodes.len()),
        nodes,
        mode: session.mode.as_str(),
        facts,
        average_confidence: facts
            .average_confidence
            .map_or_else(String::new, |it| format!("{:.2}", it.get())),
        linkage: format!("{:.2}", facts.linkage.get()),
    };
    let ask = ASK.render(context, call)?;
    Ok(ModelRequest {
        key: "evaluate".to_owned(),
        plain_text: PlainText::IsTheAnswer,
        ..ask
    })
}

/// An upper estimate of the tokens of a history in the prompt.
fn history_tokens(past: &SessionHistory) -> usize {
    serde_json::to_string(&past.steps).map_or(0, |text| approximate_tokens(&text))
}

/// Drops steps after the first until half of the budget is free for nodes.
fn free_half_budget(past: &mut SessionHistory, budget: usize) {
    while past.steps.len() > 1 && history_tokens(past) > budget / 2 {
        past.steps.remove(1);
        past.left_out += 1;
    }
}

/// Selects the most relevant nodes within `budget` tokens, in their original order.
fn select_nodes(nodes: &[GraphNode], budget: usize) -> Vec<EvaluatePromptNode> {
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
    let sizes: Vec<usize> = ranked
        .iter()
        .map(|(_, node)| approximate_tokens(&node.content) + TAG_TOKENS)
        .collect();
    let shares = fit_items(&sizes, ALWAYS_SHOWN, budget);
    let mut shown: Vec<(usize, &GraphNode, String)> = ranked
        .into_iter()
        .zip(shares)
        .map(|((place, node), share)| (place, node, shorten_tokens(&node.content, share)))
        .collect();
    shown.sort_by_key(|(place, ..)| *place);
    let shown = shown.into_iter().map(|(_, node, text)| EvaluatePromptNode {
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
    answer: Option<String>,
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
        answer,
        assessment: verdict.assessment,
        strengths: verdict.strengths,
        weaknesses: verdict.weaknesses,
        recommendations: verdict.recommendations,
        confidence: verdict.sure.score(),
    }
}
