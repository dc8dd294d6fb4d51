//! From approaches to branches: what is added for each, and which one is preferred.

use deliberate_core::{
    Branch, BranchId, BranchState, Change, CrossRef, Mode, Requirement, Score, Thought, ThoughtId,
    cut_to_chars,
};
use deliberate_toolkit::{Call, Outcome};
use serde_json::json;

use super::{
    answer::{Approach, Exploration, Relation},
    explore::{Explore, NAME_CHARS, Opened, Output, Reference},
};
use crate::{
    said::{Doubt, gist},
    session::{Home, metadata},
};

/// The branches that grow from what the model found.
pub(super) fn grow(
    this: &Explore,
    home: &Home,
    base: Option<Branch>,
    parent: Option<ThoughtId>,
    found: Exploration,
    call: &Call,
) -> Outcome<Output> {
    let mut changes = home.changes();
    let confidence = found.sure.score();
    let base = if let Some(base) = base {
        changes.push(Change::Require(Requirement::OpenBranch(base.id.clone())));
        base
    } else {
        let root = branch("root", None, confidence, home, call);
        changes.push(Change::AddBranch(root.clone()));
        changes.push(Change::FollowBranch {
            session_id: home.id(),
            branch_id: Some(root.id.clone()),
            at: call.now(),
        });
        root
    };
    let fork = thought(&base.id, parent, &found.thought, confidence, home, call);
    let fork = Thought {
        input: Some(this.content.clone()),
        metadata: metadata([("weakest_point", json!(found.weakest_point))]),
        ..fork
    };
    let fork_id = fork.id.clone();
    changes.push(Change::AddThought(fork));
    let (opened, numbers) = open(&found.approaches, &base, &fork_id, home, &mut changes, call);
    let best = found
        .recommended
        .and_then(|number| at(&numbers, number))
        .unwrap_or_else(|| most_confident(&opened));
    let cross_references = refer(found.relations, &opened, &numbers, &mut changes, call);
    let recommended = opened.get(best).map(|branch| branch.id.clone());
    prefer(recommended.as_ref(), &mut changes);
    let output = Output {
        thought_id: fork_id,
        session_id: home.id(),
        content: found.thought,
        confidence,
        branches_explored: opened.len(),
        recommended_branch: recommended.unwrap_or_else(|| base.id.clone()),
        branch_id: base.id,
        branches: opened,
        cross_references,
        doubt: Doubt::of(this.threshold, confidence, found.weakest_point.as_deref()),
    };
    Outcome {
        output,
        changes,
        session: Some(home.id()),
    }
}

/// Opens a branch for each approach; those that repeat another are left out. Also tells which
/// branch each of the model's numbers came to.
fn open(
    approaches: &[Approach],
    base: &Branch,
    fork: &ThoughtId,
    home: &Home,
    changes: &mut Vec<Change>,
    call: &Call,
) -> (Vec<Opened>, Vec<usize>) {
    let mut opened: Vec<Opened> = Vec::new();
    let mut numbers = Vec::new();
    for (number, approach) in approaches.iter().enumerate() {
        let same = |it: &Opened| gist(&it.content) == gist(&approach.thought);
        if let Some(known) = opened.iter().position(same) {
            numbers.push(known);
            continue;
        }
        numbers.push(opened.len());
        let confidence = approach.sure.score();
        let name = match &approach.name {
            None => format!("approach {}", number + 1),
            Some(name) => cut_to_chars(name, NAME_CHARS),
        };
        let mut child = branch(&name, Some(&base.id), confidence, home, call);
        child.metadata = metadata([("rationale", json!(approach.rationale))]);
        let parent = Some(fork.clone());
        let step = thought(&child.id, parent, &approach.thought, confidence, home, call);
        opened.push(Opened {
            id: child.id.clone(),
            thought_id: step.id.clone(),
            name,
            content: step.content.clone(),
            rationale: approach.rationale.clone().unwrap_or_default(),
            confidence,
        });
        changes.push(Change::AddBranch(child));
        changes.push(Change::AddThought(step));
    }
    (opened, numbers)
}

/// The branch that number `number` (from 1) came to.
fn at(numbers: &[usize], number: usize) -> Option<usize> {
    numbers.get(number.checked_sub(1)?).copied()
}

fn most_confident(opened: &[Opened]) -> usize {
    let mut best = 0;
    for (index, branch) in opened.iter().enumerate() {
        let better = |best: &Opened| branch.confidence > best.confidence;
        if opened.get(best).is_some_and(better) {
            best = index;
        }
    }
    best
}

/// Notes how the branches bear on each other. Numbers that name none, or one twice, are left out.
fn refer(
    relations: Vec<Relation>,
    opened: &[Opened],
    numbers: &[usize],
    changes: &mut Vec<Change>,
    call: &Call,
) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    for relation in relations {
        let named = |number| opened.get(at(numbers, number)?);
        let (Some(from), Some(to)) = (named(relation.from), named(relation.to)) else {
            continue;
        };
        let known =
            |it: &Reference| it.from == from.id && it.to == to.id && it.kind == relation.kind;
        if from.id == to.id || references.iter().any(known) {
            continue;
        }
        let reason = relation.reason.filter(|reason| !reason.trim().is_empty());
        changes.push(Change::AddCrossRef(CrossRef {
            id: call.fresh(),
            from_branch: from.id.clone(),
            to_branch: to.id.clone(),
            ref_type: relation.kind,
            reason: reason.clone(),
            strength: Score::ONE,
            created_at: call.now(),
        }));
        references.push(Reference {
            from: from.id.clone(),
            to: to.id.clone(),
            kind: relation.kind,
            reason,
        });
    }
    references
}

/// Puts the recommended branch before its siblings.
fn prefer(recommended: Option<&BranchId>, changes: &mut [Change]) {
    for change in changes {
        if let Change::AddBranch(branch) = change
            && Some(&branch.id) == recommended
        {
            branch.priority += 1;
        }
    }
}

fn branch(
    name: &str,
    parent: Option<&BranchId>,
    confidence: Score,
    home: &Home,
    call: &Call,
) -> Branch {
    let now = call.now();
    Branch {
        id: call.fresh(),
        session_id: home.id(),
        name: Some(name.to_owned()),
        parent_id: parent.cloned(),
        state: BranchState::Active,
        confidence,
        priority: 1,
        set_aside: false,
        created_at: now,
        updated_at: now,
        metadata: None,
    }
}

fn thought(
    branch: &BranchId,
    parent: Option<ThoughtId>,
    content: &str,
    confidence: Score,
    home: &Home,
    call: &Call,
) -> Thought {
    Thought {
        id: call.fresh(),
        session_id: home.id(),
        input: None,
        content: content.to_owned(),
        confidence,
        mode: Mode::Tree,
        parent_id: parent,
        branch_id: Some(branch.clone()),
        set_aside: false,
        created_at: call.now(),
        metadata: None,
    }
}
