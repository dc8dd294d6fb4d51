//! Judging a session as a whole: what can be counted is counted, the rest is asked.

use std::{collections::BTreeMap, sync::LazyLock};

use deliberate_core::{
    GraphNode, NodeKind, Percent, Score, Session, SessionId, approximate_tokens, cut_to_tokens,
};
use deliberate_store::{Page, StoreError, Which};
use deliberate_thinker::Ask;
use deliberate_toolkit::{About, Annotations, Call, Issue, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measures::{
    Branches, Contradiction, Course, Facts, Graphs, Record, kept, rounded_score,
};
use crate::{
    context::{self, Past},
    prompt::{Asking, Freedom},
    said::{Sure, some_things, something},
    session::{WorksOn, known},
};

/// Graphs that are read; a session seldom has more than one.
const MOST_GRAPHS: u32 = 100;

/// One node may take this share of what is left for nodes.
const SHARE_OF_ONE: usize = 4;

/// What the tag around a node takes.
const FRAME: usize = 12;

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
    confidence_course: Option<Course>,
    /// How many of the thoughts examined are of each mode
    mode_distribution: BTreeMap<String, usize>,
    /// Share of thoughts that build on an earlier one, of those that could
    linkage: Score,
    /// What was noted to contradict each other, 20 at the most
    contradictions: Vec<Contradiction>,
    /// How many branches it has, of each kind
    branches: Branches,
    /// How much there is in its graphs
    graphs: Graphs,
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
struct Verdict {
    /// The judgement, in a few sentences
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "something")]
    assessment: String,
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    coherence_percent: Option<Percent>,
    #[serde(default, deserialize_with = "Percent::or_none")]
    #[schemars(with = "Percent")]
    quality_percent: Option<Percent>,
    #[serde(default, deserialize_with = "some_things")]
    strengths: Vec<String>,
    #[serde(default, deserialize_with = "some_things")]
    weaknesses: Vec<String>,
    #[serde(default, deserialize_with = "some_things")]
    recommendations: Vec<String>,
    #[serde(flatten)]
    sure: Sure,
}

/// What the ask shows.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    past: &'a Past,
    nodes: Vec<ShownNode>,
    nodes_left_out: usize,
    mode: &'static str,
    facts: &'a Facts,
    average_confidence: String,
    linkage: String,
}

#[derive(Serialize)]
struct ShownNode {
    kind: &'static str,
    score: String,
    text: String,
}

/// Limits as in the pipes of the original server.
static ASK: LazyLock<Asking> = LazyLock::new(|| {
    let freedom = Freedom {
        max_tokens: 2_500,
        temperature: 0.6,
    };
    Asking::new::<Verdict>("reflection", include_str!("evaluate.md"), freedom)
});

impl Tool for ReflectionEvaluate {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_reflection_evaluate",
            title: "Evaluate a session",
            description: "Evaluate a session's overall reasoning quality and coherence, with \
                          recommendations. Changes nothing.",
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: true,
            },
            thinks: true,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let session = known(&input.session_id, WorksOn::Any, call).await?;
        let record = read(&session, call).await?;
        if record.thoughts.is_empty() && kept(&record.nodes).next().is_none() {
            let rule = "names a session without thoughts; there is nothing to evaluate";
            let issue = Issue::new("session_id", rule).given(&session.id.as_str().into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        // The verdict is about these, however long its model takes.
        let facts = call.keep("facts", Facts::of(&record));
        call.progress(0.0, Some(1.0), "thinking");
        let ask = ask(&session, &record.nodes, &facts, call).await?;
        let verdict: Verdict = call.think(ask, None).await?.value;
        Ok(Outcome {
            output: output(session.id.clone(), facts, verdict),
            changes: Vec::new(),
            session: Some(session.id),
        })
    }
}

/// Reads what is counted: of everything a page at the most.
async fn read(session: &Session, call: &Call) -> Result<Record, StoreError> {
    let store = call.store();
    let id = &session.id;
    let page = Page::first(Page::MOST);
    let mut thoughts = store.latest_thoughts(id, Page::MOST).await?;
    thoughts.reverse();
    let total_thoughts = if thoughts.len() < Page::MOST as usize {
        thoughts.len()
    } else {
        count(session, call).await?
    };
    let graphs = store
        .graphs(id, Which::Current, Page::first(MOST_GRAPHS))
        .await?;
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for graph in &graphs {
        let room = Page::MOST.saturating_sub(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
        if room == 0 {
            break;
        }
        let part = store.nodes(&graph.id, Which::Current, Page::first(room));
        nodes.extend(part.await?);
        edges.extend(store.edges(&graph.id, Which::Current, page).await?);
    }
    Ok(Record {
        total_thoughts,
        thoughts,
        branches: store.branches(id, Which::Current, page).await?,
        cross_refs: store.cross_refs(id, Which::Current, page).await?,
        graphs: graphs.len(),
        nodes,
        edges,
    })
}

/// How many thoughts a long session has, found by looking whether there is one at a place: twenty
/// or thirty single rows instead of all.
async fn count(session: &Session, call: &Call) -> Result<usize, StoreError> {
    let there = async |offset: u32| {
        let page = Page { offset, limit: 1 };
        let found = call.store().thoughts(&session.id, Which::Current, page);
        Ok::<_, StoreError>(!found.await?.is_empty())
    };
    // Never fewer than `least`, and in the end never more than `most`.
    let mut least = Page::MOST;
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

async fn ask(
    session: &Session,
    nodes: &[GraphNode],
    facts: &Facts,
    call: &Call,
) -> Result<Ask, ToolError> {
    let mut past = call.keep("past", context::latest(session, call).await?);
    let budget = call.context_tokens();
    if !nodes.is_empty() {
        leave_half(&mut past, budget);
    }
    let nodes = shown_nodes(nodes, budget.saturating_sub(tokens(&past)));
    let ask = ASK.ask(Shown {
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
    Ok(Ask {
        key: "evaluate".to_owned(),
        ..ask
    })
}

/// What a past takes, a little more than in the ask itself.
fn tokens(past: &Past) -> usize {
    serde_json::to_string(&past.steps).map_or(0, |text| approximate_tokens(&text))
}

/// Leaves out steps after the first until half of the budget is free for nodes.
fn leave_half(past: &mut Past, budget: usize) {
    while past.steps.len() > 1 && tokens(past) > budget / 2 {
        past.steps.remove(1);
        past.gap = true;
    }
}

/// The nodes that say most, in the order they were thought, within `budget` tokens.
fn shown_nodes(nodes: &[GraphNode], budget: usize) -> Vec<ShownNode> {
    let mut ranked: Vec<(usize, &GraphNode)> = kept(nodes).enumerate().collect();
    let weight = |node: &GraphNode| {
        let place = match node.node_type {
            NodeKind::Root => 2.0,
            _ if node.is_terminal => 1.0,
            _ => 0.0,
        };
        place + node.score.map_or(0.0, Score::get)
    };
    ranked.sort_by(|(_, one), (_, other)| weight(other).total_cmp(&weight(one)));
    let share = budget / SHARE_OF_ONE;
    let mut left = budget;
    let mut shown = Vec::new();
    for (place, node) in ranked {
        let text = cut_to_tokens(&node.content, share);
        let Some(rest) = left.checked_sub(approximate_tokens(&text) + FRAME) else {
            break;
        };
        left = rest;
        shown.push((place, node, text));
    }
    shown.sort_by_key(|(place, ..)| *place);
    let shown = shown.into_iter().map(|(_, node, text)| ShownNode {
        kind: node.node_type.as_str(),
        score: node
            .score
            .map_or_else(|| "none".to_owned(), |it| format!("{:.2}", it.get())),
        text,
    });
    shown.collect()
}

fn output(session_id: SessionId, facts: Facts, verdict: Verdict) -> Output {
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
