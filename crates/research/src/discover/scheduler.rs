//! Runs questions when they are due, while the server is up, through the gate as any caller does.

use std::{sync::Arc, time::Duration};

use deliberate_core::Clock;
use deliberate_store::{Store, StoreError};
use deliberate_toolkit::{Answer, Caller, Registry};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Question, QuestionVersion, Questions};

/// How many questions are run at one look.
const AT_ONE_LOOK: u32 = 20;

/// The code of a question that was not run because it just ran.
pub(crate) const NOT_RUN: &str = "NotRun";

/// How long one is left alone that did not run to its end.
const REST: Duration = Duration::from_hours(1);

/// Looks every so often what is due, until it is stopped.
pub(crate) async fn keep_time(
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
        let due = Questions(store).due(clock.now(), AT_ONE_LOOK).await;
        let due = due.unwrap_or_else(|error| {
            tracing::warn!(%error, "it can't be looked which questions are due");
            Vec::new()
        });
        for version in due {
            if taken(store, clock.as_ref(), &version).await {
                run(&registry, version.question, &stop).await;
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
async fn taken(store: &dyn Store, clock: &dyn Clock, version: &QuestionVersion) -> bool {
    let now = clock.now();
    let mut taken = version.clone();
    taken.question.put_off(now, REST);
    match store.commit(vec![taken.put(now)]).await {
        Ok(()) => true,
        Err(StoreError::Conflict { .. }) => false,
        Err(error) => {
            tracing::warn!(%error, "a question that is due can't be taken");
            false
        }
    }
}

async fn run(registry: &Registry, question: Question, stop: &CancellationToken) {
    let (tool, arguments) = if question.is_source {
        ("run_discovery", json!({ "source_name": question.name }))
    } else {
        let arguments = json!({ "question_id": question.id, "user_id": question.user });
        ("run_discovery_for_question", arguments)
    };
    let caller = Caller {
        cancelled: stop.clone(),
        ..Caller::default()
    };
    tracing::info!(question = question.id, "a question is due");
    match registry.call(tool, arguments, caller).await {
        Ok(Answer::Done(_)) => {}
        // Somebody ran it a moment ago.
        Err(error) if error.code() == NOT_RUN => {}
        Ok(Answer::NeedsReply(_)) => {
            tracing::warn!(question = question.id, "nobody is there to score papers");
        }
        Err(error) => {
            tracing::warn!(question = question.id, %error, "a question that is due failed");
        }
    }
}
