//! The results of merged nodes: which of them disagree, and whether they outvote the merge. If more than
//! half of the nodes reach one result and the merge states another, the best of those nodes is concluded
//! with: independent thoughts that agree are more often right than one text that overrules them. What a
//! caller writes or names itself is its own decision.

use std::cmp::Ordering;

use deliberate_core::{GraphNode, NodeKind};
use serde_json::Value;

use super::{GraphData, is_named_conclusion, node_answer, rating::compare_rating};
use crate::agreement::{AnswerGroup, comparable_groups, group_answers, same_answer};

/// The field of the metadata of a merged or refined node that is true if a caller brought its text.
pub(in crate::graph) const WRITTEN_BY_CALLER: &str = "written_by_caller";

/// The results of the sources of a merge.
pub(in crate::graph) struct SourceResults<'a> {
    sources: Vec<&'a GraphNode>,
    groups: Vec<AnswerGroup>,
}

/// The result that most sources of a merge reach, where the merge reaches another.
pub(in crate::graph) struct OutvotingResult<'a> {
    /// The best of those sources.
    pub(in crate::graph) node: &'a GraphNode,
    /// What speaks against the merge, as a clause.
    pub(in crate::graph) objection: String,
}

impl<'a> SourceResults<'a> {
    pub(in crate::graph) fn new(sources: impl IntoIterator<Item = &'a GraphNode>) -> Self {
        let sources: Vec<&GraphNode> = sources.into_iter().collect();
        Self {
            groups: group_answers(sources.iter().map(|node| node_answer(node))),
            sources,
        }
    }

    /// States each result with the numbers of the nodes that reach it.
    pub(in crate::graph) fn list(&self) -> Vec<String> {
        let results = self.groups.iter().map(|group| {
            let numbers = group.members.iter().map(|it| (it + 1).to_string());
            let numbers: Vec<String> = numbers.collect();
            format!("{} (node {})", group.answer, numbers.join(", "))
        });
        results.collect()
    }

    /// The first node of each result that can be compared with the others.
    pub(in crate::graph) fn comparable_heads(&self) -> Vec<&'a GraphNode> {
        comparable_groups(&self.groups)
            .filter_map(|group| self.sources.get(*group.members.first()?).copied())
            .collect()
    }

    /// Says how a merge settled that the results differ. `None` if they do not, or if they can't be
    /// compared.
    pub(in crate::graph) fn settled_conflict(&self, answer: &str) -> Option<String> {
        (comparable_groups(&self.groups).count() > 1).then(|| {
            let results = self.list().join("; ");
            format!("The nodes reach different results: {results}. The merge says: {answer}")
        })
    }

    /// `None` if the sources do not outvote `answer`, or if the results can't be compared.
    pub(in crate::graph) fn outvoting(&self, answer: &str) -> Option<OutvotingResult<'a>> {
        let voters: usize = self.groups.iter().map(|group| group.members.len()).sum();
        let most = comparable_groups(&self.groups)
            .find(|group| group.members.len() > 1 && group.members.len() * 2 > voters)?;
        if same_answer(answer, &most.answer) {
            return None;
        }
        let members = most.members.iter().copied();
        let members = members.filter_map(|index| self.sources.get(index).copied());
        let best = members.reduce(|best, node| match compare_rating(node, best) {
            Ordering::Less => node,
            Ordering::Equal | Ordering::Greater => best,
        });
        Some(OutvotingResult {
            node: best?,
            objection: format!(
                "{} of the {} merged nodes reach another result: {}",
                most.members.len(),
                self.sources.len(),
                most.answer,
            ),
        })
    }
}

/// What is concluded with in the place of a merge, or of a refinement of it, that its sources outvote.
pub(in crate::graph) fn outvoting_result<'a>(
    merge: &GraphNode,
    data: &'a GraphData,
) -> Option<OutvotingResult<'a>> {
    let is_merge = matches!(
        merge.node_type,
        NodeKind::Aggregation | NodeKind::Refinement
    );
    if !is_merge || is_named_conclusion(merge) || is_written_by_caller(merge) {
        return None;
    }
    let unrefined = data.unrefined(&merge.id);
    let is_own = |node: &GraphNode| node.id == *unrefined && is_written_by_caller(node);
    if data.nodes.iter().any(is_own) {
        return None;
    }
    let sources = data.merged_sources(&merge.id).into_iter();
    let results = SourceResults::new(sources.filter(|node| !node.pruned));
    let found = results.outvoting(node_answer(merge)?)?;
    Some(OutvotingResult {
        node: data.last_refinement(found.node),
        ..found
    })
}

fn is_written_by_caller(node: &GraphNode) -> bool {
    let metadata = node.metadata.as_ref();
    metadata.and_then(|it| it.get(WRITTEN_BY_CALLER)) == Some(&Value::Bool(true))
}
