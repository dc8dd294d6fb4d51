//! The results of merged nodes: which of them disagree, and whether they outvote the merge. If most of
//! the nodes reach one result and the merge states another, the best of those nodes is concluded with,
//! unless a call names the merge: independent thoughts that agree are more often right than one text
//! that overrules them.

use deliberate_core::{GraphNode, NodeId};
use serde_json::Value;

use super::data::{GraphData, node_answer, rating::compare_rating};
use crate::agreement::{comparable_groups, group_answers, plurality, same_answer};

/// The field of a merged node's metadata with the id of the best source of the other result.
pub(super) const OUTVOTED_BY: &str = "outvoted_by";

/// The result that most sources of a merge reach, where the merge reaches another.
pub(super) struct OutvotingResult {
    /// The best of those sources.
    pub(super) node: NodeId,
    /// What speaks against the merge, as a sentence.
    pub(super) objection: String,
}

impl OutvotingResult {
    /// `None` if the sources do not outvote `answer`, or if the results can't be compared.
    pub(super) fn find(answer: &str, sources: &[GraphNode]) -> Option<Self> {
        let groups = group_answers(sources.iter().map(node_answer));
        let most = plurality(&groups)?;
        let is_comparable = comparable_groups(&groups).any(|group| group == most);
        if !is_comparable || same_answer(answer, &most.answer) {
            return None;
        }
        let members = most.members.iter().filter_map(|index| sources.get(*index));
        let best = members.reduce(|best, node| match compare_rating(node, best) {
            std::cmp::Ordering::Less => node,
            _ => best,
        })?;
        Some(Self {
            node: best.id.clone(),
            objection: format!(
                "{} of the {} merged nodes reach another result: {}",
                most.members.len(),
                sources.len(),
                most.answer,
            ),
        })
    }
}

/// The node that is concluded with in the place of `merge`, if its sources outvote it.
pub(super) fn outvoting_node<'a>(merge: &GraphNode, data: &'a GraphData) -> Option<&'a GraphNode> {
    let id = merge.metadata.as_ref()?.get(OUTVOTED_BY)?;
    let id = id.as_str()?;
    data.usable_nodes().find(|node| node.id.as_str() == id)
}

/// States the results that the sources of a merge reach, each with the numbers of the nodes.
pub(super) fn result_list(sources: &[GraphNode]) -> Vec<String> {
    let groups = group_answers(sources.iter().map(node_answer));
    let results = groups.iter().map(|group| {
        let numbers: Vec<String> = group
            .members
            .iter()
            .map(|it| (it + 1).to_string())
            .collect();
        format!("{} (node {})", group.answer, numbers.join(", "))
    });
    results.collect()
}

/// Says how a merge settled that its sources reach different results. `None` if they do not, or if the
/// results can't be compared.
pub(super) fn settled_conflict(answer: &str, sources: &[GraphNode]) -> Option<String> {
    let groups = group_answers(sources.iter().map(node_answer));
    (comparable_groups(&groups).count() > 1).then(|| {
        let results = result_list(sources).join("; ");
        format!("The nodes reach different results: {results}. The merge says: {answer}")
    })
}

/// Builds the field of the metadata; null if the merge is not outvoted.
pub(super) fn outvoted_by(result: Option<&OutvotingResult>) -> Value {
    result.map_or(Value::Null, |it| it.node.as_str().into())
}
