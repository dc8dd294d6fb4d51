//! Runs questions when they are due, while the server is up, through the gate as any caller does.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use deliberate_core::Clock;
use deliberate_toolkit::{Answer, Caller, Registry};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Questions;

/// How many questions are run at one look.
const AT_ONE_LOOK: u32 = 20;

/// The code of a question that was not run because it just ran.
pub(crate) const NOT_RUN: &str = "NotRun";

/// How long one that failed is left alone. What is due stays due until it has run.
const REST: Duration = Duration::from_hours(1);

/// Looks every so often what is due, until it is stopped. Of several processes on one store one
/// runs a question: the others lose the race for its record and find it no longer due.
pub(crate) async fn keep_time(
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    every: Duration,
    stop: CancellationToken,
) {
    let mut resting: BTreeMap<String, Instant> = BTreeMap::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        resting.retain(|_, since| since.elapsed() < REST);
        let due = Questions(registry.store().as_ref())
            .due(clock.now(), AT_ONE_LOOK)
            .await;
        let due = due.unwrap_or_else(|error| {
            tracing::warn!(%error, "it can't be looked which questions are due");
            Vec::new()
        });
        for version in due {
            let question = version.question;
            if resting.contains_key(&question.id) {
                continue;
            }
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
                // Somebody ran it a moment ago; it stays due, and is looked at again.
                Err(error) if error.code() == NOT_RUN => {}
                Ok(Answer::NeedsReply(_)) => {
                    tracing::warn!(question = question.id, "nobody is there to score papers");
                    resting.insert(question.id, Instant::now());
                }
                Err(error) => {
                    tracing::warn!(question = question.id, %error, "a question that is due failed");
                    resting.insert(question.id, Instant::now());
                }
            }
            if stop.is_cancelled() {
                return;
            }
        }
    }
}
