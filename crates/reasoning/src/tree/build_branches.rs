//! Turns the model's approaches into branches and marks the recommended one.

use std::collections::HashMap;

use deliberate_core::{
    Branch, BranchId, BranchState, Change, CrossRef, Mode, Precondition, Score, Thought, ThoughtId,
    truncate_chars,
};
use deliberate_toolkit::{ToolContext, ToolOutput};
use serde_json::json;

use super::{
    explore::{BranchReference, ExploreRequest, NAME_CHARS, OpenedBranch, Output},
    model_output::{Approach, Exploration, Relation},
};
use crate::{
    model_fields::{at_most_half, below_threshold, normalized},
    session::{TargetSession, metadata_object},
};

/// Builds the output and the changes from the model's answer.
pub(super) fn build_branches(
    this: &ExploreRequest,
    home: &TargetSession,
    base: Option<Branch>,
    parent: Option<ThoughtId>,
    found: Exploration,
    call: &ToolContext,
) -> ToolOutput<Output> {
    let mut changes = home.changes();
    let confidence = recommendation_confidence(&found);
    let base = if let Some(base) = base {
        changes.push(Change::Check(Precondition::OpenBranch(base.id.clone())));
        base
    } else {
        let root = new_branch("root", None, confidence, home, call);
        changes.push(Change::AddBranch(root.clone()));
        changes.push(Change::SetActiveBranch {
            session_id: home.id(),
            branch_id: Some(root.id.clone()),
            at: call.now(),
        });
        root
    };
    let text = found.thought.unwrap_or_else(|| this.content.clone());
    let mut fork = new_thought(&base.id, parent, &text, confidence, home, call);
    fork.input = Some(this.content.clone());
    let fork_id = fork.id.clone();
    let fork_change = changes.len();
    changes.push(Change::AddThought(fork));
    let approaches = &found.approaches.items;
    let (opened, numbers) = open_branches(approaches, &base, &fork_id, home, &mut changes, call);
    let best = found
        .recommended
        .and_then(|number| numbers.get(&number).copied())
        .unwrap_or_else(|| most_confident_index(&opened));
    let cross_references = add_cross_refs(found.relations, &opened, &numbers, &mut changes, call);
    let recommended = opened.get(best).map(|branch| branch.id.clone());
    let answer = opened.get(best).and_then(|branch| branch.answer.clone());
    mark_recommended(recommended.as_ref(), &mut changes);
    if let Some(Change::AddThought(fork)) = changes.get_mut(fork_change) {
        fork.metadata = metadata_object([
            ("answer", json!(answer)),
            ("weakest_point", json!(found.weakest_point)),
        ]);
    }
    let output = Output {
        thought_id: fork_id,
        session_id: home.id(),
        content: text,
        answer,
        confidence,
        weakest_point: found.weakest_point,
        branches_explored: opened.len(),
        recommended_branch: recommended.unwrap_or_else(|| base.id.clone()),
        branch_id: base.id,
        branches: opened,
        cross_references,
        below_threshold: below_threshold(this.threshold, confidence),
        note: None,
    };
    ToolOutput {
        output,
        changes,
        session: Some(home.id()),
    }
}

/// The confidence in the recommendation. One of an approach that concludes nothing is at most half
/// sure.
fn recommendation_confidence(found: &Exploration) -> Score {
    let sure = found.sure.score();
    let approaches = &found.approaches.items;
    let is_recommended = |it: &&Approach| Some(it.number) == found.recommended;
    let mut chosen = match approaches.iter().find(is_recommended) {
        Some(approach) => std::slice::from_ref(approach).iter(),
        None => approaches.iter(),
    };
    if chosen.all(|it| it.fields.concludes_nothing()) {
        return at_most_half(sure);
    }
    sure
}

/// Opens a branch for each approach and skips duplicates. Also returns the branch index for the
/// number of each approach.
fn open_branches(
    approaches: &[Approach],
    base: &Branch,
    fork: &ThoughtId,
    home: &TargetSession,
    changes: &mut Vec<Change>,
    call: &ToolContext,
) -> (Vec<OpenedBranch>, HashMap<usize, usize>) {
    let mut opened: Vec<OpenedBranch> = Vec::new();
    let mut numbers = HashMap::new();
    for approach in approaches {
        let same = |it: &OpenedBranch| normalized(&it.content) == normalized(&approach.thought);
        if let Some(known) = opened.iter().position(same) {
            numbers.insert(approach.number, known);
            continue;
        }
        numbers.insert(approach.number, opened.len());
        let confidence = approach.fields.confidence();
        let answer = approach.fields.answer.clone();
        let name = match &approach.name {
            None => format!("approach {}", approach.number),
            Some(name) => truncate_chars(name, NAME_CHARS),
        };
        let mut child = new_branch(&name, Some(&base.id), confidence, home, call);
        child.metadata = metadata_object([("rationale", json!(approach.rationale))]);
        let parent = Some(fork.clone());
        let mut step = new_thought(&child.id, parent, &approach.thought, confidence, home, call);
        step.metadata = metadata_object([
            ("answer", json!(answer)),
            ("weakest_point", json!(approach.fields.weakest_point)),
        ]);
        opened.push(OpenedBranch {
            id: child.id.clone(),
            thought_id: step.id.clone(),
            name,
            content: step.content.clone(),
            answer,
            rationale: approach.rationale.clone().unwrap_or_default(),
            confidence,
            weakest_point: approach.fields.weakest_point.clone(),
        });
        changes.push(Change::AddBranch(child));
        changes.push(Change::AddThought(step));
    }
    (opened, numbers)
}

fn most_confident_index(opened: &[OpenedBranch]) -> usize {
    let mut best = 0;
    for (index, branch) in opened.iter().enumerate() {
        let better = |best: &OpenedBranch| branch.confidence > best.confidence;
        if opened.get(best).is_some_and(better) {
            best = index;
        }
    }
    best
}

/// Adds the cross-references between branches. Unknown numbers and references of a branch to itself
/// are skipped.
fn add_cross_refs(
    relations: Vec<Relation>,
    opened: &[OpenedBranch],
    numbers: &HashMap<usize, usize>,
    changes: &mut Vec<Change>,
    call: &ToolContext,
) -> Vec<BranchReference> {
    let mut references: Vec<BranchReference> = Vec::new();
    for relation in relations {
        let named = |number: &usize| opened.get(*numbers.get(number)?);
        let (Some(from), Some(to)) = (named(&relation.from), named(&relation.to)) else {
            continue;
        };
        let known =
            |it: &BranchReference| it.from == from.id && it.to == to.id && it.kind == relation.kind;
        if from.id == to.id || references.iter().any(known) {
            continue;
        }
        let reason = relation.reason.filter(|reason| !reason.trim().is_empty());
        changes.push(Change::AddCrossRef(CrossRef {
            id: call.new_id(),
            from_branch: from.id.clone(),
            to_branch: to.id.clone(),
            ref_type: relation.kind,
            reason: reason.clone(),
            strength: Score::ONE,
            created_at: call.now(),
        }));
        references.push(BranchReference {
            from: from.id.clone(),
            to: to.id.clone(),
            kind: relation.kind,
            reason,
        });
    }
    references
}

/// Gives the recommended branch a higher priority than its siblings.
fn mark_recommended(recommended: Option<&BranchId>, changes: &mut [Change]) {
    for change in changes {
        if let Change::AddBranch(branch) = change
            && Some(&branch.id) == recommended
        {
            branch.priority += 1;
        }
    }
}

fn new_branch(
    name: &str,
    parent: Option<&BranchId>,
    confidence: Score,
    home: &TargetSession,
    call: &ToolContext,
) -> Branch {
    let now = call.now();
    Branch {
        id: call.new_id(),
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

fn new_thought(
    branch: &BranchId,
    parent: Option<ThoughtId>,
    content: &str,
    confidence: Score,
    home: &TargetSession,
    call: &ToolContext,
) -> Thought {
    Thought {
        id: call.new_id(),
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
