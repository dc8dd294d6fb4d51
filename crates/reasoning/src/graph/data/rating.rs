//! Compares nodes by quality.

use std::cmp::Ordering;

use deliberate_core::{GraphNode, NodeKind, Score};
use serde_json::Value;

/// The quality of a node, if known: its score, or the model's confidence in an aggregation or
/// refinement.
pub(crate) fn rating(node: &GraphNode) -> Option<f64> {
    if let Some(score) = node.score {
        return Some(score.get());
    }
    match node.node_type {
        NodeKind::Aggregation | NodeKind::Refinement => {
            let noted = node.metadata.as_ref().and_then(|it| it.get("confidence"));
            let sure = noted.and_then(Value::as_f64).and_then(Score::new);
            Some(sure.map_or(0.0, Score::get))
        }
        NodeKind::Root
        | NodeKind::Thought
        | NodeKind::Hypothesis
        | NodeKind::Conclusion
        | NodeKind::Terminal => None,
    }
}

/// Compares by rating, then by depth. With a stable sort the older of equal nodes comes first.
pub(crate) fn compare_rating(one: &GraphNode, other: &GraphNode) -> Ordering {
    let rated = |node: &GraphNode| rating(node).unwrap_or(-1.0);
    let by_rating = rated(other).total_cmp(&rated(one));
    by_rating.then_with(|| other.depth.cmp(&one.depth))
}
