//! Metrics of a session that code can compute, so that no model has to guess them.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::{
    Branch, BranchId, BranchState, CrossRef, CrossRefKind, EdgeKind, GraphEdge, GraphNode, NodeId,
    Score, Thought, shorten_tokens, truncate_chars,
};
use deliberate_store::BranchEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model_fields::round_fraction;

/// A smaller change of confidence counts as steady.
const STEADY_THRESHOLD: f64 = 0.05;

/// The largest number of contradictions listed; further ones are only counted.
const MAX_CONTRADICTIONS: usize = 20;

/// The characters shown of a name.
const NAME_CHARS: usize = 80;

/// The tokens shown of a reason.
const REASON_TOKENS: usize = 100;

/// The data of a session from which the metrics are computed.
#[derive(Debug, Default)]
pub(super) struct SessionData {
    /// The number of current thoughts.
    pub(super) total_thoughts: usize,
    /// The newest thoughts, oldest first.
    pub(super) thoughts: Vec<Thought>,
    pub(super) branches: Vec<BranchEntry>,
    pub(super) cross_refs: Vec<CrossRef>,
    pub(super) graphs: usize,
    /// Including pruned nodes.
    pub(super) nodes: Vec<GraphNode>,
    pub(super) edges: Vec<GraphEdge>,
}

/// The metrics of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionMetrics {
    pub(super) total_thoughts: usize,
    pub(super) thoughts_examined: usize,
    pub(super) average_confidence: Option<Score>,
    pub(super) confidence_course: Option<ConfidenceTrend>,
    pub(super) mode_distribution: BTreeMap<String, usize>,
    pub(super) linkage: Score,
    pub(super) contradictions: Vec<Contradiction>,
    pub(super) contradictions_total: usize,
    pub(super) branches: BranchCounts,
    pub(super) graphs: GraphCounts,
}

/// The trend of the confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct ConfidenceTrend {
    /// The last third compared with the first
    pub(super) trend: TrendDirection,
    /// Rise from one thought to the next
    slope: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TrendDirection {
    Rising,
    Steady,
    Falling,
}

/// A recorded contradiction between two branches or nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Contradiction {
    /// A branch or node
    pub(super) from: String,
    /// The branch or node that it contradicts
    pub(super) to: String,
    /// Name of the branch, or beginning of the node
    from_name: Option<String>,
    /// The same for `to`
    to_name: Option<String>,
    /// Why they contradict each other; null if not given
    reason: Option<String>,
}

/// The numbers of branches by state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct BranchCounts {
    /// All branches
    total: usize,
    /// Those still open
    open: usize,
    /// Those marked as completed
    completed: usize,
    /// Those marked as abandoned
    abandoned: usize,
    /// Open ones that were never continued
    never_continued: usize,
}

/// The numbers of graphs and nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct GraphCounts {
    /// How many graphs there are
    total: usize,
    /// Nodes that were not pruned
    pub(super) nodes: usize,
    /// Of these nodes, those with a score
    scored: usize,
    /// Their share; null without nodes
    scored_share: Option<Score>,
    /// Of these nodes, those marked as conclusions
    terminal: usize,
    /// How many nodes were pruned
    pruned: usize,
}

impl SessionMetrics {
    pub(super) fn compute(record: &SessionData) -> Self {
        let mut contradictions = contradictions(record);
        let contradictions_total = contradictions.len();
        contradictions.truncate(MAX_CONTRADICTIONS);
        Self {
            total_thoughts: record.total_thoughts,
            thoughts_examined: record.thoughts.len(),
            average_confidence: mean(&confidences(&record.thoughts)).map(rounded_score),
            confidence_course: confidence_trend(&confidences(&record.thoughts)),
            mode_distribution: mode_distribution(&record.thoughts),
            linkage: rounded_score(linkage(&record.thoughts)),
            contradictions,
            contradictions_total,
            branches: count_branches(&record.branches),
            graphs: count_graphs(record.graphs, &record.nodes),
        }
    }

    /// The computed part of the coherence: whether thoughts build on earlier ones, and how many
    /// contradictions were recorded.
    pub(super) fn coherence(&self) -> f64 {
        let parts = self.thoughts_examined + self.graphs.nodes;
        let contradicted = if parts == 0 {
            0.0
        } else {
            (self.contradictions_total as f64 / parts as f64).min(1.0)
        };
        f64::midpoint(self.linkage.get(), 1.0 - contradicted)
    }
}

fn confidences(thoughts: &[Thought]) -> Vec<f64> {
    thoughts.iter().map(|it| it.confidence.get()).collect()
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Rounds to four digits, so that 0.7 does not appear as 0.7000000000000001.
pub(super) fn rounded_score(number: f64) -> Score {
    Score::clamped(round_fraction(number))
}

/// Compares the first third with the last; `None` for a single thought.
fn confidence_trend(confidences: &[f64]) -> Option<ConfidenceTrend> {
    let count = confidences.len();
    if count < 2 {
        return None;
    }
    let third = (count / 3).max(1);
    let first = mean(confidences.get(..third)?)?;
    let last = mean(confidences.get(count - third..)?)?;
    let trend = match last - first {
        change if change >= STEADY_THRESHOLD => TrendDirection::Rising,
        change if change <= -STEADY_THRESHOLD => TrendDirection::Falling,
        _ => TrendDirection::Steady,
    };
    Some(ConfidenceTrend {
        trend,
        slope: round_fraction(slope(confidences)),
    })
}

/// The slope of the regression line.
fn slope(numbers: &[f64]) -> f64 {
    let middle = (numbers.len() as f64 - 1.0) / 2.0;
    let average = mean(numbers).unwrap_or_default();
    let (mut together, mut spread) = (0.0, 0.0);
    for (place, number) in numbers.iter().enumerate() {
        let from_middle = place as f64 - middle;
        together += from_middle * (number - average);
        spread += from_middle * from_middle;
    }
    if spread == 0.0 {
        0.0
    } else {
        together / spread
    }
}

fn mode_distribution(thoughts: &[Thought]) -> BTreeMap<String, usize> {
    let mut modes = BTreeMap::new();
    for thought in thoughts {
        *modes.entry(thought.mode.to_string()).or_default() += 1;
    }
    modes
}

/// The share of thoughts that build on an earlier one, of those that had one to build on. The
/// thoughts of the call that began the session had none, and neither has the first on a branch.
fn linkage(thoughts: &[Thought]) -> f64 {
    let begun = thoughts.first().map(|first| first.created_at);
    let mut branches: BTreeSet<&BranchId> = BTreeSet::new();
    let (mut linked, mut broken) = (0_usize, 0_usize);
    for thought in thoughts {
        let opens = thought
            .branch_id
            .as_ref()
            .is_some_and(|branch| branches.insert(branch));
        if thought.parent_id.is_some() {
            linked += 1;
        } else if !opens && Some(thought.created_at) != begun {
            broken += 1;
        }
    }
    if broken == 0 {
        return 1.0;
    }
    linked as f64 / (linked + broken) as f64
}

fn contradictions(record: &SessionData) -> Vec<Contradiction> {
    let names: BTreeMap<&BranchId, &Branch> = record
        .branches
        .iter()
        .map(|entry| (&entry.branch.id, &entry.branch))
        .collect();
    let name = |id: &BranchId| names.get(id).and_then(|branch| branch.name.as_deref());
    let between_branches = record
        .cross_refs
        .iter()
        .filter(|it| it.ref_type == CrossRefKind::Contradicts)
        .map(|it| Contradiction {
            from: it.from_branch.to_string(),
            to: it.to_branch.to_string(),
            from_name: name(&it.from_branch).map(truncate_name),
            to_name: name(&it.to_branch).map(truncate_name),
            reason: it.reason.as_deref().map(shorten_reason),
        });
    let texts: BTreeMap<&NodeId, &str> = unpruned_nodes(&record.nodes)
        .map(|node| (&node.id, node.content.as_str()))
        .collect();
    let between_nodes = record
        .edges
        .iter()
        .filter(|it| it.edge_type == EdgeKind::Contradicts)
        .filter_map(|it| {
            let (from, to) = (texts.get(&it.from_node)?, texts.get(&it.to_node)?);
            let why = it.metadata.as_ref().and_then(|it| it.get("reason"));
            Some(Contradiction {
                from: it.from_node.to_string(),
                to: it.to_node.to_string(),
                from_name: Some(truncate_name(from)),
                to_name: Some(truncate_name(to)),
                reason: why.and_then(|why| why.as_str()).map(shorten_reason),
            })
        });
    between_branches.chain(between_nodes).collect()
}

fn truncate_name(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    truncate_chars(&words.join(" "), NAME_CHARS)
}

fn shorten_reason(text: &str) -> String {
    shorten_tokens(text.trim(), REASON_TOKENS)
}

pub(super) fn unpruned_nodes(nodes: &[GraphNode]) -> impl Iterator<Item = &GraphNode> {
    nodes.iter().filter(|node| !node.pruned)
}

fn count_branches(entries: &[BranchEntry]) -> BranchCounts {
    let grown: BTreeSet<&BranchId> = entries
        .iter()
        .filter_map(|entry| entry.branch.parent_id.as_ref())
        .collect();
    let of = |state| move |entry: &&BranchEntry| entry.branch.state == state;
    let open = || entries.iter().filter(of(BranchState::Active));
    BranchCounts {
        total: entries.len(),
        open: open().count(),
        completed: entries.iter().filter(of(BranchState::Completed)).count(),
        abandoned: entries.iter().filter(of(BranchState::Abandoned)).count(),
        never_continued: open()
            .filter(|entry| entry.thoughts <= 1 && !grown.contains(&entry.branch.id))
            .count(),
    }
}

fn count_graphs(total: usize, nodes: &[GraphNode]) -> GraphCounts {
    let count = unpruned_nodes(nodes).count();
    let scored = unpruned_nodes(nodes)
        .filter(|node| node.score.is_some())
        .count();
    GraphCounts {
        total,
        nodes: count,
        scored,
        scored_share: (count > 0).then(|| rounded_score(scored as f64 / count as f64)),
        terminal: unpruned_nodes(nodes)
            .filter(|node| node.is_terminal)
            .count(),
        pruned: nodes.len() - count,
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
