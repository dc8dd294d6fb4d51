//! Runs questions when they are due, through the dispatcher like every other caller.

use std::{sync::Arc, time::Duration};

use deliberate_core::Clock;
use deliberate_store::{Store, StoreError};
use deliberate_toolkit::{CallOutcome, CallerContext, ErrorCode, Registry};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{QuestionRepository, ResearchQuestion, VersionedQuestion};

/// The most questions run per poll.
const MAX_DUE_PER_POLL: u32 = 20;

/// The error code for a question that was not run because another run just finished.
pub(crate) const NOT_RUN: ErrorCode = ErrorCode::NotRun;

/// The delay before a question whose run did not finish is due again.
const RETRY_DELAY: Duration = Duration::from_hours(1);

/// Polls for due questions until it is stopped.
pub(crate) async fn run_scheduler(
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    every: Duration,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        let store = registry.store().as_ref();
        let due = QuestionRepository(store)
            .list_due(clock.now(), MAX_DUE_PER_POLL)
            .await;
        let due = due.unwrap_or_else(|error| {
            tracing::warn!(%error, "the due questions can't be read");
            Vec::new()
        });
        for version in due {
            if claim(store, clock.as_ref(), &version).await {
                run_due_question(&registry, version.question, &stop).await;
            }
            if stop.is_cancelled() {
                return;
            }
        }
    }
}

/// Claims a question by postponing it; a run that finishes schedules it anew. If several processes
/// share a store, one of them succeeds. If the run fails or its process ends, the question is due
/// again after [`RETRY_DELAY`] and delays no other question.
async fn claim(store: &dyn Store, clock: &dyn Clock, version: &VersionedQuestion) -> bool {
    let now = clock.now();
    let mut taken = version.clone();
    taken.question.postpone(now, RETRY_DELAY);
    match store.commit(vec![taken.put_change(now)]).await {
        Ok(()) => true,
        Err(StoreError::Conflict { .. }) => false,
        Err(error) => {
            tracing::warn!(%error, "a due question can't be claimed");
            false
        }
    }
}

async fn run_due_question(
    registry: &Registry,
    question: ResearchQuestion,
    stop: &CancellationToken,
) {
    let (tool, arguments) = if question.is_source {
        ("run_discovery", json!({ "source_name": question.name }))
    } else {
        let arguments = json!({ "question_id": question.id, "user_id": question.user });
        ("run_discovery_for_question", arguments)
    };
    let caller = CallerContext {
        cancellation: stop.clone(),
        ..CallerContext::default()
    };
    tracing::info!(question = question.id, "a question is due");
    match registry.call(tool, arguments, caller).await {
        Ok(CallOutcome::Done(_)) => {}
        // Another caller ran it a moment ago.
        Err(error) if error.code() == NOT_RUN.as_str() => {}
        Ok(CallOutcome::NeedsReply(_)) => {
            tracing::warn!(
                question = question.id,
                "scoring needs the client's model, which a scheduled run can't use"
            );
        }
        Err(error) => {
            tracing::warn!(question = question.id, %error, "a due question failed");
        }
    }
}
