//! The order of branches in a list: each below the one it grew from.

use std::collections::{HashMap, HashSet};

use deliberate_core::{Branch, BranchId};

/// Orders the branches so that each follows its parent, with its depth; siblings keep the order in
/// which they were opened. A branch whose parent is not on the page has depth 0, and so has one
/// branch of a cycle.
pub(super) fn branch_tree(branches: &[Branch]) -> Vec<(usize, &Branch)> {
    let known: HashSet<&BranchId> = branches.iter().map(|branch| &branch.id).collect();
    let mut children: HashMap<&BranchId, Vec<&Branch>> = HashMap::new();
    let mut roots = Vec::new();
    for branch in branches {
        match branch.parent_id.as_ref().filter(|id| known.contains(id)) {
            Some(parent) => children.entry(parent).or_default().push(branch),
            None => roots.push(branch),
        }
    }
    let mut ordered = Vec::with_capacity(branches.len());
    let mut seen = HashSet::new();
    for start in roots.into_iter().chain(branches) {
        let mut waiting = vec![(0, start)];
        while let Some((depth, branch)) = waiting.pop() {
            if !seen.insert(&branch.id) {
                continue;
            }
            ordered.push((depth, branch));
            let below = children.get(&branch.id).into_iter().flatten().rev();
            waiting.extend(below.map(|child| (depth + 1, *child)));
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use deliberate_core::{BranchState, Score, Timestamp};

    use super::*;

    fn branch(id: &str, parent: &str) -> Branch {
        Branch {
            id: id.into(),
            session_id: "s".into(),
            name: None,
            parent_id: (!parent.is_empty()).then(|| parent.into()),
            state: BranchState::Active,
            confidence: Score::ONE,
            priority: 1,
            set_aside: false,
            created_at: Timestamp::from_micros(0),
            updated_at: Timestamp::from_micros(0),
            metadata: None,
        }
    }

    #[test]
    fn every_branch_is_listed_once_whatever_its_parent() {
        let branches = [
            branch("self", "self"),
            branch("b", "a"),
            branch("root", ""),
            branch("a", "b"),
            branch("lost", "gone"),
            branch("child", "lost"),
        ];
        let listed: Vec<_> = branch_tree(&branches)
            .into_iter()
            .map(|(depth, branch)| format!("{depth} {}", branch.id))
            .collect();
        assert_eq!(
            listed,
            ["0 root", "0 lost", "1 child", "0 self", "0 b", "1 a"]
        );
    }
}
