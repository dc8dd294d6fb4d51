//! The line of thoughts on which the next step builds, if the session is on no branch: its latest
//! thoughts, without those of parallel lines and of abandoned branches.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_core::{BranchId, BranchState, Session, SessionId, Thought, ThoughtId};
use deliberate_store::{Pagination, StoreError};
use deliberate_toolkit::ToolContext;

use super::{
    SessionHistory, ancestor_history, recent_history,
    steps::{STEPS_TO_READ, select_steps},
};

/// How many of a session's latest thoughts are searched for one that is not on an abandoned branch.
/// Almost always the first few contain one.
const SEARCHED_THOUGHTS: [u32; 3] = [STEPS_TO_READ, 8 * STEPS_TO_READ, Pagination::MAX];

/// The latest thought at the session's current position.
pub(crate) async fn latest_thought(
    session: &Session,
    call: &ToolContext,
) -> Result<Option<Thought>, StoreError> {
    if let Some(branch) = &session.active_branch_id {
        let on_branch = call.store().latest_branch_thoughts(branch, 1).await?;
        if let Some(thought) = on_branch.into_iter().next() {
            return Ok(Some(thought));
        }
    }
    latest_unabandoned_thought(&session.id, call).await
}

/// The latest thought of a session that is not on an abandoned branch, whichever branch is active.
/// It is the latest of all if every thought that is searched is on an abandoned branch.
pub(crate) async fn latest_unabandoned_thought(
    session: &SessionId,
    call: &ToolContext,
) -> Result<Option<Thought>, StoreError> {
    let mut abandoned = AbandonedBranches::new(call);
    let mut searched = 0;
    let mut latest = None;
    for limit in SEARCHED_THOUGHTS {
        let newest = call.store().latest_thoughts(session, limit).await?;
        let count = newest.len();
        latest = latest.or_else(|| newest.first().cloned());
        for thought in newest.into_iter().skip(searched) {
            if !abandoned.contain(&thought).await? {
                return Ok(Some(thought));
            }
        }
        if count < limit as usize {
            break;
        }
        searched = count;
    }
    Ok(latest)
}

/// The latest thoughts of a session without those of parallel lines and abandoned branches, on which
/// the next one does not build.
pub(super) async fn line_history(
    session: &Session,
    call: &ToolContext,
) -> Result<SessionHistory, StoreError> {
    let newest = call
        .store()
        .latest_thoughts(&session.id, STEPS_TO_READ)
        .await?;
    let mut branches = AbandonedBranches::new(call);
    let mut abandoned: BTreeSet<&ThoughtId> = BTreeSet::new();
    for thought in &newest {
        if branches.contain(thought).await? {
            abandoned.insert(&thought.id);
        }
    }
    let Some(place) = newest.iter().position(|it| !abandoned.contains(&it.id)) else {
        let latest = latest_unabandoned_thought(&session.id, call).await?;
        return ancestor_history(latest.as_ref().map(|it| &it.id), call).await;
    };
    let mut line = latest_line(newest.get(place..).unwrap_or_default());
    // Only now, because the line of a reflection on an abandoned thought goes through that thought.
    line.retain(|thought| !abandoned.contains(&thought.id));
    if line.len() == newest.len() {
        return recent_history(session, call).await;
    }
    if newest.len() == STEPS_TO_READ as usize {
        return ancestor_history(line.first().map(|latest| &latest.id), call).await;
    }
    let first = line.iter().rev().find(|thought| thought.input.is_some());
    let first = first.or(line.last()).cloned();
    Ok(select_steps(&line, first.as_ref(), call.context_tokens()))
}

/// The thoughts, newest first, without those that build on an earlier thought beside the latest one
/// and its ancestors. Perspectives stay with their synthesis. A thought without a parent stays:
/// imported sessions have no others.
fn latest_line(newest: &[Thought]) -> Vec<Thought> {
    let mut ancestors: Vec<&ThoughtId> = newest.first().map(|it| &it.id).into_iter().collect();
    let mut line: Vec<Thought> = Vec::new();
    for thought in newest {
        let is_ancestor = ancestors.contains(&&thought.id);
        let is_perspective = || {
            let is_same_step = |it: &Thought| {
                (&it.parent_id, it.created_at) == (&thought.parent_id, thought.created_at)
            };
            thought.input.is_none() && line.iter().any(is_same_step)
        };
        if is_ancestor {
            ancestors.extend(&thought.parent_id);
        }
        if is_ancestor || thought.parent_id.is_none() || is_perspective() {
            line.push(thought.clone());
        }
    }
    line
}

/// Tells which thoughts are on an abandoned branch. Each branch is read once.
struct AbandonedBranches<'a> {
    call: &'a ToolContext,
    known: BTreeMap<BranchId, bool>,
}

impl<'a> AbandonedBranches<'a> {
    fn new(call: &'a ToolContext) -> Self {
        Self {
            call,
            known: BTreeMap::new(),
        }
    }

    async fn contain(&mut self, thought: &Thought) -> Result<bool, StoreError> {
        let Some(id) = &thought.branch_id else {
            return Ok(false);
        };
        if let Some(is_abandoned) = self.known.get(id) {
            return Ok(*is_abandoned);
        }
        let branch = self.call.store().branch(id).await?;
        let is_abandoned = branch.is_some_and(|it| it.state == BranchState::Abandoned);
        self.known.insert(id.clone(), is_abandoned);
        Ok(is_abandoned)
    }
}
