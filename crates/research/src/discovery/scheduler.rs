//! Runs questions when they are due, while the server is up, through the gate as any caller does.

use std::{sync::Arc, time::Duration};

use deliberate_core::Clock;
use deliberate_store::{Store, StoreError};
use deliberate_toolkit::{CallOutcome, CallerContext, Registry};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{QuestionRepository, ResearchQuestion, VersionedQuestion};

/// How many questions are run at one look.
const MAX_DUE_PER_POLL: u32 = 20;

/// The code of a question that was not run because it just ran.
pub(crate) const NOT_RUN: &str = "NotRun";

/// How long one is left alone that did not run to its end.
const RETRY_DELAY: Duration = Duration::from_hours(1);

/// Looks every so often what is due, until it is stopped.
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
            tracing::warn!(%error, "it can't be looked which questions are due");
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

/// Takes a question to run it: it is put off, and a run that comes to its end plans it anew. Of
/// several processes on one store one succeeds. One that fails, or whose process ends, is due again
/// after a while, and keeps no other from its turn.
async fn claim(store: &dyn Store, clock: &dyn Clock, version: &VersionedQuestion) -> bool {
    let now = clock.now();
    let mut taken = version.clone();
    taken.question.postpone(now, RETRY_DELAY);
    match store.commit(vec![taken.put_change(now)]).await {
        Ok(()) => true,
        Err(StoreError::Conflict { .. }) => false,
        Err(error) => {
            tracing::warn!(%error, "a question that is due can't be taken");
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
        // Somebody ran it a moment ago.
        Err(error) if error.code() == NOT_RUN => {}
        Ok(CallOutcome::NeedsReply(_)) => {
            tracing::warn!(question = question.id, "nobody is there to score papers");
        }
        Err(error) => {
            tracing::warn!(question = question.id, %error, "a question that is due failed");
        }
    }
}
