//! The commits of a call: what a step changed, what the call changed at its end, and its log record.

use deliberate_core::{Change, SessionId, SuspendedCall};
use deliberate_llm::ModelError;
use deliberate_store::StoreError;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    background::{decode_failure, encode_failure},
    context::{Journal, usage::UsageTally},
    lease::lease_expiry,
    task::{CallFailure, CallState, CallTask},
};
use crate::{
    CallEvent, CallOutcome, ErrorCode, Registry, ResourceChange, ToolContext, ToolError,
    ToolOutput, external_tools::upstream_failure,
};

/// The reason why a step is not committed.
pub(super) enum StepFailure {
    /// Another worker continues the call; nothing was stored.
    TakenOver,
    Failed(CallFailure),
}

impl CallTask<'_> {
    /// Commits the changes of a step. From then on, a worker that takes the call over continues
    /// with the next step.
    pub(super) async fn commit_step(
        &mut self,
        call: &ToolContext,
        outcome: ToolOutput<Value>,
        next: Value,
        partial_summary: Option<String>,
    ) -> Result<(), StepFailure> {
        let registry = self.registry;
        let next = self
            .entry
            .check_next(next)
            .map_err(|error| StepFailure::Failed(CallFailure::new(error)))?;
        let touched = registry.resource_changes(&outcome.changes, outcome.session.as_ref());
        let called_with = self.called_with.as_ref().unwrap_or(&self.arguments).clone();
        let (notes, used) = (call.next_notes(), call.budget_use());
        let mut changes = outcome.changes;
        let row = self.row.as_deref().map(|row| {
            let now = registry.deps.clock.now();
            SuspendedCall {
                arguments: next.clone(),
                journal: json!(Journal::for_step(Some(&called_with), used)),
                asks: json!([]),
                expires_at: registry.suspension_expiry(now),
                running_until: Some(lease_expiry(now, &registry.deps.limits)),
                fence: row.fence + 1,
                notes: notes.clone(),
                progress: self.handle.progress.stored(),
                ..row.clone()
            }
        });
        // The row comes first, and with it the commit is rejected if another worker has the call, so
        // that a step takes effect once.
        let stored = row
            .clone()
            .map(|row| Change::Suspend(registry.tools.to_stored_call(row)));
        changes.splice(0..0, stored);
        match registry.deps.store.commit(changes).await {
            Ok(()) => {}
            Err(StoreError::AlreadyEnded) if row.is_some() => return Err(StepFailure::TakenOver),
            Err(StoreError::Conflict { reason }) => {
                return Err(StepFailure::Failed(CallFailure::conflict(reason)));
            }
            Err(error) => return Err(StepFailure::Failed(CallFailure::new(error))),
        }
        if let Some(row) = row {
            self.enter_background(row);
            self.handle.set_disconnected().await;
        }
        if !touched.is_empty() {
            registry
                .listeners
                .emit(CallEvent::ResourcesChanged(&touched));
        }
        self.called_with = Some(called_with);
        self.arguments = next;
        self.journal = None;
        self.notes = notes;
        self.used = used;
        self.limit = registry.time_limit(self.entry, &self.arguments, Instant::now());
        self.requests_before = call.request_count();
        self.retries = 0;
        self.partial_summary = partial_summary;
        Ok(())
    }

    /// Commits the result of the last step, or suspends the call, and returns the answer.
    pub(super) async fn finish(
        &mut self,
        call: &ToolContext,
        outcome: Result<ToolOutput<Value>, ToolError>,
    ) -> Result<CallOutcome, CallFailure> {
        let registry = self.registry;
        let tally = call.usage();
        let (answer, session, mut changes) = match outcome {
            Ok(mut outcome) => {
                if self.entry.meta.asks_model {
                    tally.add_model(&mut outcome.output);
                    tally.add_cut_note(&mut outcome.output);
                }
                let mut changes = outcome.changes;
                changes.extend(self.row.as_ref().map(|row| Change::EndSuspension {
                    id: row.id.clone(),
                    fence: row.fence,
                    outcome: registry.tools.to_stored_outcome(outcome.output.clone()),
                    failed: false,
                }));
                (CallOutcome::Done(outcome.output), outcome.session, changes)
            }
            Err(ToolError::Model(ModelError::Pending)) => {
                let (needs, row) = self.suspend(call).map_err(CallFailure::new)?;
                let change = row.map(|row| Change::Suspend(registry.tools.to_stored_call(row)));
                let changes = change.into_iter().collect();
                (CallOutcome::NeedsReply(needs), None, changes)
            }
            Err(error) => return Err(CallFailure::new(error)),
        };
        let output = match &answer {
            CallOutcome::Done(output) => output.clone(),
            CallOutcome::NeedsReply(needs) => json!({ "needs_reply": { "id": needs.id } }),
        };
        let code = upstream_failure(&output).map(ErrorCode::as_str);
        let touched = registry.resource_changes(&changes, session.as_ref());
        let known = call.sessions_known_after(session.as_ref(), &changes).await;
        let record = registry.record(&self.start, tally.clone(), session, Ok(output));
        if changes.is_empty() {
            registry.log.enqueue(&registry.deps.store, record);
        } else {
            // A deletion removes the texts of the records that it finds, also those of its own call.
            let is_deletion =
                |change: &Change| matches!(change, Change::DeleteSession(_) | Change::DeleteRun(_));
            let position = changes.iter().position(is_deletion);
            let position = position.unwrap_or(changes.len());
            changes.insert(position, Change::AddInvocation(record));
            match (registry.deps.store.commit(changes).await, &self.row) {
                (Ok(()), _) => {}
                (Err(StoreError::AlreadyEnded), Some(_)) => {
                    return self.outcome_of_first(call, answer).await;
                }
                (Err(StoreError::Conflict { reason }), None) => {
                    return Err(CallFailure::conflict(reason));
                }
                (Err(error), _) => return Err(CallFailure::new(error)),
            }
            if !touched.is_empty() {
                registry
                    .listeners
                    .emit(CallEvent::ResourcesChanged(&touched));
            }
        }
        self.state = match &answer {
            CallOutcome::Done(_) => CallState::Done,
            CallOutcome::NeedsReply(_) => CallState::Suspended,
        };
        self.log_end();
        self.start.end(code, &tally.usage);
        call.remember_sessions(&answer, known);
        Ok(answer)
    }

    /// Returns the outcome of a call that another worker has ended or suspended first, whose outcome
    /// counts. Two workers that were given the same replies wait for the same ones next.
    async fn outcome_of_first(
        &mut self,
        call: &ToolContext,
        own: CallOutcome,
    ) -> Result<CallOutcome, CallFailure> {
        let registry = self.registry;
        let Some(id) = self.row.as_ref().map(|row| row.id.clone()) else {
            return Err(CallFailure::new(ToolError::Internal));
        };
        if let CallOutcome::NeedsReply(needs) = &own
            && let Ok(Some(row)) = registry.deps.store.suspended_call(&id).await
            && row.outcome.is_none()
        {
            let asks: Vec<&str> = needs.asks.iter().map(|ask| ask.key.as_str()).collect();
            let journal = self.pending_journal(call).map(|journal| json!(journal));
            if row.asks == json!(asks) && Some(&row.journal) == journal.as_ref() {
                self.start.end(None, &call.usage().usage);
                return Ok(own);
            }
        }
        self.outcome_elsewhere(call).await.map_err(CallFailure::new)
    }

    /// Ends a call that failed, and its row if it is a background call.
    pub(super) async fn fail(mut self, error: ToolError, call: &ToolContext) -> ToolError {
        let error = with_partial_summary(error, self.partial_summary.take());
        let row = self.row.as_ref();
        let end = row.filter(|_| self.state == CallState::Background);
        let end = end.map(|row| Change::EndSuspension {
            id: row.id.clone(),
            fence: row.fence,
            outcome: encode_failure(&error),
            failed: true,
        });
        self.state = CallState::Failed;
        self.log_end();
        let tally = call.usage();
        self.registry
            .record_failure(&self.start, &error, tally, end)
            .await;
        error
    }

    /// Ends a call that is not run.
    pub(super) async fn reject(&mut self, error: &ToolError) {
        self.state = CallState::Failed;
        self.registry
            .record_failure(&self.start, error, UsageTally::default(), None)
            .await;
    }

    fn log_end(&self) {
        let (tool, state) = (self.entry.meta.name, self.state);
        tracing::trace!(tool, ?state, "a call left its task");
    }
}

impl Registry {
    /// Returns the outcome of a stored call that has ended.
    pub(super) async fn stored_outcome(
        &self,
        id: &deliberate_core::SuspensionId,
    ) -> Result<CallOutcome, ToolError> {
        let row = self.deps.store.suspended_call(id).await?;
        let row = row.map(|row| self.tools.restore_stored_call(row));
        match row.map(|row| (row.outcome, row.failed)) {
            Some((Some(outcome), false)) => Ok(CallOutcome::Done(outcome)),
            Some((Some(outcome), true)) => Err(decode_failure(&outcome)),
            _ => Err(ToolError::Cancelled),
        }
    }

    /// Returns the resources that these changes affect, each once.
    pub(super) fn resource_changes(
        &self,
        changes: &[Change],
        session: Option<&SessionId>,
    ) -> Vec<ResourceChange> {
        let mut touched = Vec::new();
        for family in self.resources() {
            for change in changes {
                for one in family.changes_for(change, session) {
                    if !touched.contains(&one) {
                        touched.push(one);
                    }
                }
            }
        }
        touched
    }
}

/// Adds the work of the committed steps to an error, unless the caller cancelled the call.
pub(super) fn with_partial_summary(error: ToolError, summary: Option<String>) -> ToolError {
    let Some(summary) = summary.filter(|_| !matches!(error, ToolError::Cancelled)) else {
        return error;
    };
    let hint = error.hint().map(|it| format!("{it} ")).unwrap_or_default();
    let hint = format!("{hint}Completed steps are saved. {summary}");
    ToolError::from_code_text(error.code(), error.to_string(), Some(hint))
}
