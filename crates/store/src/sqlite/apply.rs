//! Turns each change into SQL. A change and its consequences are one SQL text, because round trips
//! to the database dominate the cost of a commit.

use deliberate_core::{
    Branch, BranchId, BranchState, Change, CrossRef, Invocation, Precondition, Session,
    StateSnapshot, Thought, Timestamp,
};
use serde_json::Value;
use sqlx::{Sqlite, SqliteConnection, query::Query, sqlite::SqliteArguments};

use super::{chain_runs, deletion, documents, epochs, graphs, rows::query_error, suspended_calls};
use crate::StoreError;

pub(super) type SqlStatement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Applies the changes in order.
pub(super) async fn apply(
    connection: &mut SqliteConnection,
    changes: &[Change],
) -> Result<(), StoreError> {
    for change in changes {
        match change {
            Change::Backtrack {
                session_id,
                to,
                left,
            } => {
                epochs::backtrack(connection, session_id, to, left).await?;
                continue;
            }
            Change::Check(requirement) => {
                check_precondition(connection, requirement).await?;
                continue;
            }
            Change::PutDocument { item, parts } => {
                documents::put(connection, item, parts.as_deref()).await?;
                continue;
            }
            Change::DeleteDocument { kind, id, at } => {
                documents::remove(connection, kind, id, *at).await?;
                continue;
            }
            Change::PruneNodes { nodes, .. } if nodes.is_empty() => continue,
            _ => {}
        }
        let Some(statement) = statement(change) else {
            continue;
        };
        let touched = run(connection, statement).await?;
        if touched == 0 && !allows_no_rows(change) {
            return Err(conflict_for(change));
        }
        if let Some(consequence) = follow_up(change) {
            run(connection, consequence).await?;
        }
    }
    Ok(())
}

pub(super) async fn run(
    connection: &mut SqliteConnection,
    statement: SqlStatement<'_>,
) -> Result<u64, StoreError> {
    let done = statement
        .execute(connection)
        .await
        .map_err(|error| query_error(&error))?;
    Ok(done.rows_affected())
}

/// Tells whether a change may affect no row. Logging a call twice has no further effect, and data
/// that is already gone need not be deleted.
fn allows_no_rows(change: &Change) -> bool {
    matches!(
        change,
        Change::AddInvocation(_) | Change::PruneRuns { .. } | Change::SetState { value: None, .. }
    )
}

/// Returns the error for a change that affected no row: its subject is gone or has ended.
fn conflict_for(change: &Change) -> StoreError {
    match change {
        Change::EndSuspension { .. }
        | Change::RenewLease { .. }
        | Change::TakeLease { .. }
        | Change::Suspend(_) => StoreError::AlreadyEnded,
        Change::AddThought(_)
        | Change::AddBranch(_)
        | Change::AddCheckpoint(_)
        | Change::SetBranchState { .. }
        | Change::UpdateNode { .. }
        | Change::SetActiveBranch { .. }
        | Change::AddCrossRef(_)
        | Change::AddNode(_)
        | Change::AddEdge(_) => StoreError::Conflict {
            reason: "the data it builds on was set aside or deleted".to_owned(),
        },
        Change::StartRun(_) => chain_runs::conflict(chain_runs::ALREADY_STARTED),
        Change::AddRunEvent { .. } => chain_runs::conflict(chain_runs::RUN_ADVANCED),
        Change::SetState { .. } => chain_runs::conflict(chain_runs::STATE_FULL),
        _ => StoreError::Conflict {
            reason: "the data to change does not exist".to_owned(),
        },
    }
}

/// Returns the statement to run after a change, if any.
fn follow_up(change: &Change) -> Option<SqlStatement<'_>> {
    let Change::Suspend(suspension) = change else {
        return None;
    };
    Some(suspended_calls::delete_expired(suspension))
}

/// Checks whether a precondition still holds.
async fn check_precondition(
    connection: &mut SqliteConnection,
    requirement: &Precondition,
) -> Result<(), StoreError> {
    let (statement, broken) = match requirement {
        Precondition::OpenBranch(id) => (
            sqlx::query_scalar::<_, bool>(
                "SELECT EXISTS (SELECT 1 FROM branches WHERE id = $1 AND state = 'active' \
                 AND set_aside = 0)",
            )
            .bind(id.as_str()),
            "the branch was closed or set aside",
        ),
        Precondition::UsableNode(id) => (
            sqlx::query_scalar(
                "SELECT EXISTS (SELECT 1 FROM graph_nodes WHERE id = $1 AND pruned = 0 \
                 AND set_aside = 0)",
            )
            .bind(id.as_str()),
            "the node was pruned or set aside",
        ),
        Precondition::OpenNode(id) => (
            sqlx::query_scalar(
                "SELECT EXISTS (SELECT 1 FROM graph_nodes WHERE id = $1 AND pruned = 0 \
                 AND set_aside = 0 AND is_terminal = 0)",
            )
            .bind(id.as_str()),
            "the node was pruned, set aside or made a conclusion",
        ),
        Precondition::FreeName { session_id, name } => (
            sqlx::query_scalar(
                "SELECT NOT EXISTS (SELECT 1 FROM checkpoints WHERE session_id = $1 AND name = $2)",
            )
            .bind(session_id.as_str())
            .bind(name),
            "a checkpoint of that name was created meanwhile",
        ),
        Precondition::NodesAtMost { graph_id, most } => (
            sqlx::query_scalar(
                "SELECT count(*) <= $2 FROM graph_nodes WHERE graph_id = $1 AND pruned = 0 \
                 AND set_aside = 0",
            )
            .bind(graph_id.as_str())
            .bind(*most),
            "the graph grew meanwhile and would exceed its limit of nodes",
        ),
    };
    let holds = statement
        .fetch_one(connection)
        .await
        .map_err(|error| query_error(&error))?;
    if holds {
        return Ok(());
    }
    Err(StoreError::Conflict {
        reason: broken.to_owned(),
    })
}

/// Returns the change as one statement, or `None` for changes that need several.
fn statement(change: &Change) -> Option<SqlStatement<'_>> {
    Some(match change {
        Change::Backtrack { .. }
        | Change::Check(_)
        | Change::PutDocument { .. }
        | Change::DeleteDocument { .. } => return None,
        Change::AddSession(session) => add_session(session),
        Change::RenameSession {
            session_id,
            title,
            at,
        } => sqlx::query(
            "UPDATE sessions SET title = $2, updated_at = max(updated_at, $3) WHERE id = $1",
        )
        .bind(session_id.as_str())
        .bind(title)
        .bind(at.as_micros()),
        Change::SetProviderThread { session_id, thread } => sqlx::query(
            "UPDATE sessions SET metadata = CASE WHEN $2 IS NULL \
             THEN json_remove(metadata, '$.thread') \
             ELSE json_set(coalesce(metadata, '{}'), '$.thread', $2) END WHERE id = $1",
        )
        .bind(session_id.as_str())
        .bind(thread.as_deref()),
        Change::DeleteSession(id) => deletion::delete_session(id),
        Change::AddThought(thought) => add_thought(thought),
        Change::AddBranch(branch) => add_branch(branch),
        Change::SetBranchState { id, state, at } => set_branch_state(id, *state, *at),
        Change::SetActiveBranch {
            session_id,
            branch_id,
            at,
        } => sqlx::query(
            "UPDATE sessions SET active_branch_id = $2, updated_at = max(updated_at, $3) \
             WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM branches WHERE id = $2 AND set_aside = 1)",
        )
        .bind(session_id.as_str())
        .bind(id_str(branch_id.as_ref()))
        .bind(at.as_micros()),
        Change::AddCrossRef(reference) => add_cross_ref(reference),
        Change::AddCheckpoint(checkpoint) => epochs::add_checkpoint(checkpoint),
        Change::AddSnapshot(snapshot) => add_snapshot(snapshot),
        Change::AddGraph(graph) => graphs::add_graph(graph),
        Change::AddNode(node) => graphs::add_node(node),
        Change::UpdateNode { id, marks, at } => graphs::update_node(id, marks, *at),
        Change::PruneNodes {
            graph_id,
            nodes,
            at,
        } => graphs::prune(graph_id, nodes, *at),
        Change::AddEdge(edge) => graphs::add_edge(edge),
        Change::Suspend(suspension) => suspended_calls::suspend(suspension),
        Change::RenewLease {
            id,
            fence,
            until,
            progress,
        } => suspended_calls::renew_lease(id, *fence, *until, progress),
        Change::TakeLease {
            id,
            fence,
            seen,
            until,
        } => suspended_calls::take_lease(id, *fence, *seen, *until),
        Change::EndSuspension {
            id,
            fence,
            outcome,
            failed,
        } => suspended_calls::end(id, *fence, outcome, *failed),
        Change::StartRun(run) => chain_runs::start(run),
        Change::AddRunEvent {
            event,
            state,
            at_step,
        } => chain_runs::add_event(event, *state, *at_step),
        Change::PruneRuns {
            base,
            keep,
            idle_since,
        } => chain_runs::prune(base, *keep, *idle_since),
        Change::DeleteRun(id) => deletion::delete_run(id),
        Change::SetState { key, value, at } => chain_runs::set_state(key, value.as_ref(), *at),
        Change::AddInvocation(invocation) => add_invocation(invocation),
    })
}

pub(super) fn id_str<Id: AsRef<str>>(id: Option<&Id>) -> Option<&str> {
    id.map(AsRef::as_ref)
}

pub(super) fn json_text(value: Option<&Value>) -> Option<String> {
    value.map(ToString::to_string)
}

fn add_session(session: &Session) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO sessions (id, mode, title, created_at, updated_at, active_branch_id, metadata) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(session.id.as_str())
    .bind(session.mode.as_str())
    .bind(session.title.as_deref())
    .bind(session.created_at.as_micros())
    .bind(session.updated_at.as_micros())
    .bind(id_str(session.active_branch_id.as_ref()))
    .bind(json_text(session.metadata.as_ref()))
}

/// Adds the thought and updates its session's time. Nothing may build on data that is set aside.
fn add_thought(thought: &Thought) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO thoughts (id, session_id, input, content, confidence, mode, parent_id, \
         branch_id, created_at, metadata, epoch, root_id) \
         SELECT $1, s.id, $3, $4, $5, $6, $7, $8, $9, $10, s.epoch, \
         coalesce((SELECT root_id FROM thoughts WHERE id = $7), $1) \
         FROM sessions s WHERE s.id = $2 \
         AND NOT EXISTS (SELECT 1 FROM thoughts WHERE id = $7 AND set_aside = 1) \
         AND NOT EXISTS (SELECT 1 FROM branches WHERE id = $8 AND set_aside = 1); \
         UPDATE sessions SET updated_at = max(updated_at, $9) \
         WHERE id = $2 AND changes() > 0",
    )
    .bind(thought.id.as_str())
    .bind(thought.session_id.as_str())
    .bind(thought.input.as_deref())
    .bind(&thought.content)
    .bind(thought.confidence.get())
    .bind(thought.mode.as_str())
    .bind(id_str(thought.parent_id.as_ref()))
    .bind(id_str(thought.branch_id.as_ref()))
    .bind(thought.created_at.as_micros())
    .bind(json_text(thought.metadata.as_ref()))
}

fn add_branch(branch: &Branch) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO branches (id, session_id, name, parent_id, state, confidence, priority, \
         created_at, updated_at, metadata, epoch, value_epoch) \
         SELECT $1, s.id, $3, $4, $5, $6, $7, $8, $9, $10, s.epoch, s.epoch \
         FROM sessions s WHERE s.id = $2 \
         AND NOT EXISTS (SELECT 1 FROM branches WHERE id = $4 AND set_aside = 1)",
    )
    .bind(branch.id.as_str())
    .bind(branch.session_id.as_str())
    .bind(branch.name.as_deref())
    .bind(id_str(branch.parent_id.as_ref()))
    .bind(branch.state.as_str())
    .bind(branch.confidence.get())
    .bind(branch.priority)
    .bind(branch.created_at.as_micros())
    .bind(branch.updated_at.as_micros())
    .bind(json_text(branch.metadata.as_ref()))
}

/// Sets the branch's state and its session's time. A value of an earlier epoch is saved first.
fn set_branch_state(id: &BranchId, state: BranchState, at: Timestamp) -> SqlStatement<'_> {
    sqlx::query(concat!(
        epochs::save_earlier_revision!("branch", "id = $1 AND set_aside = 0"),
        "UPDATE branches SET state = $2, updated_at = max(updated_at, $3), \
         value_epoch = (SELECT epoch FROM sessions s WHERE s.id = branches.session_id) \
         WHERE id = $1 AND set_aside = 0; \
         UPDATE sessions SET updated_at = max(updated_at, $3) \
         WHERE id = (SELECT session_id FROM branches WHERE id = $1) AND changes() > 0",
    ))
    .bind(id.as_str())
    .bind(state.as_str())
    .bind(at.as_micros())
}

fn add_cross_ref(reference: &CrossRef) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO cross_refs (id, from_branch, to_branch, ref_type, reason, strength, \
         created_at, epoch) SELECT $1, b.id, $3, $4, $5, $6, $7, s.epoch \
         FROM branches b JOIN sessions s ON s.id = b.session_id WHERE b.id = $2 \
         AND NOT EXISTS (SELECT 1 FROM branches WHERE id IN ($2, $3) AND set_aside = 1)",
    )
    .bind(reference.id.as_str())
    .bind(reference.from_branch.as_str())
    .bind(reference.to_branch.as_str())
    .bind(reference.ref_type.as_str())
    .bind(reference.reason.as_deref())
    .bind(reference.strength.get())
    .bind(reference.created_at.as_micros())
}

fn add_snapshot(snapshot: &StateSnapshot) -> SqlStatement<'_> {
    sqlx::query(
        "INSERT INTO state_snapshots (id, session_id, parent_id, snapshot_type, description, \
         data, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(snapshot.id.as_str())
    .bind(snapshot.session_id.as_str())
    .bind(id_str(snapshot.parent_id.as_ref()))
    .bind(&snapshot.snapshot_type)
    .bind(snapshot.description.as_deref())
    .bind(snapshot.data.to_string())
    .bind(snapshot.created_at.as_micros())
}

/// Adds the record, without its texts if a session that it shows does not exist any more.
fn add_invocation(invocation: &Invocation) -> SqlStatement<'_> {
    sqlx::query(concat!(
        "INSERT INTO invocations (id, session_id, tool_name, input, output, pipe_name, \
         latency_ms, success, error, error_code, model, model_calls, prompt_tokens, \
         completion_tokens, cost_usd, created_at, principal) \
         SELECT $1, (SELECT id FROM sessions WHERE id = $2), $3, iif(deleted, '{}', $4), \
         iif(deleted, NULL, $5), $6, $7, $8, iif(deleted, NULL, $9), $10, $11, $12, $13, $14, $15, \
         $16, $17 FROM (SELECT EXISTS (SELECT 1 FROM json_each($18) named \
         WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = named.value)) OR ",
        deletion::names_deleted_session!(),
        " AS deleted) WHERE true ON CONFLICT (id) DO NOTHING",
    ))
    .bind(invocation.id.as_str())
    .bind(id_str(invocation.session_id.as_ref()))
    .bind(&invocation.tool_name)
    .bind(invocation.input.to_string())
    .bind(json_text(invocation.output.as_ref()))
    .bind(invocation.pipe_name.as_deref())
    .bind(invocation.latency_ms)
    .bind(invocation.success)
    .bind(invocation.error.as_deref())
    .bind(invocation.error_code.as_deref())
    .bind(invocation.spent.model.as_deref())
    .bind(invocation.spent.model_calls)
    .bind(invocation.spent.prompt_tokens)
    .bind(invocation.spent.completion_tokens)
    .bind(invocation.spent.cost_usd)
    .bind(invocation.created_at.as_micros())
    .bind(invocation.principal.as_deref())
    .bind(deletion::sessions_in_record(invocation))
}
