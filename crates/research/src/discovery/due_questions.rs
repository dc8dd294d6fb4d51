//! The questions that are due, for the scheduler.

use std::time::Duration;

use deliberate_core::{Change, Timestamp};
use deliberate_store::Store;
use deliberate_toolkit::{ErrorCode, ScheduledCall, ScheduledWork, ToolError};
use futures::future::BoxFuture;
use serde_json::json;

use super::{QuestionRepository, VersionedQuestion};

/// The error code for a question that was not run because another run just finished.
pub(crate) const NOT_RUN: ErrorCode = ErrorCode::NotRun;

/// The saved questions and sources.
pub(crate) struct DueQuestions;

impl ScheduledWork for DueQuestions {
    type Item = VersionedQuestion;

    fn due<'a>(
        &'a self,
        store: &'a dyn Store,
        now: Timestamp,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<VersionedQuestion>, ToolError>> {
        Box::pin(QuestionRepository(store).list_due(now, limit))
    }

    fn postpone(&self, item: &VersionedQuestion, now: Timestamp, delay: Duration) -> Change {
        let mut postponed = item.clone();
        postponed.question.postpone(now, delay);
        postponed.put_change(now)
    }

    fn call(&self, item: &VersionedQuestion) -> ScheduledCall {
        let question = &item.question;
        let (tool, arguments) = if question.is_source {
            ("run_discovery", json!({ "source_name": question.name }))
        } else {
            let arguments = json!({ "question_id": question.id, "user_id": question.user });
            ("run_discovery_for_question", arguments)
        };
        ScheduledCall {
            item: question.id.clone(),
            tool,
            arguments,
        }
    }
}
