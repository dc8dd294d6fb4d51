//! The Tasks extension: for a client that supports it, a background call is a task with the same
//! id. Tasks outlive the connection and the process, like all background calls.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Clock, SystemClock};
use deliberate_toolkit::{
    BackgroundCall, BackgroundStatus, CallOutcome, CallerContext, ErrorCode, RESUME_TOOL, Registry,
    ToolError,
};
use rmcp::{
    ErrorData,
    model::{
        CreateTaskResult, DetailedTask, GetTaskResult, InputResponses, Task, TaskPayload,
        TaskStatus,
    },
};
use serde_json::{Map, Value, json};

use super::{
    call_result,
    client_info::ClientInfo,
    external_tools::{self, CallReply},
    input_required,
};

const POLL_INTERVAL_MS: u64 = 1_000;

/// Creates the task for a background call.
pub(super) async fn create(
    registry: &Registry,
    id: &str,
    client: &ClientInfo,
) -> Result<CreateTaskResult, ErrorData> {
    let left = find_background_call(registry, id, client).await?;
    Ok(CreateTaskResult::new(build_task(
        id,
        &left,
        TaskStatus::Working,
    )))
}

/// The state of a task.
pub(super) async fn get(
    registry: &Arc<Registry>,
    id: &str,
    client: &ClientInfo,
    answer_bytes: usize,
) -> Result<GetTaskResult, ErrorData> {
    let left = find_background_call(registry, id, client).await?;
    let payload = match left.status.clone() {
        BackgroundStatus::Running(_) => TaskPayload::Working,
        // The worker died; the call is run again, and nobody waits for it.
        BackgroundStatus::Abandoned => {
            let arguments = json!({ "id": id });
            let again = registry.call_with_timeout(
                RESUME_TOOL,
                arguments,
                caller_context(client),
                Duration::ZERO,
            );
            if let Err(error) = Box::pin(again).await {
                tracing::debug!(code = error.code(), "a task that was run again failed");
            }
            TaskPayload::Working
        }
        BackgroundStatus::Waiting => waiting_payload(registry, id, client, answer_bytes).await,
        BackgroundStatus::Ended(Err(ToolError::Custom {
            code: ErrorCode::Cancelled,
            ..
        })) => TaskPayload::Cancelled,
        BackgroundStatus::Ended(outcome) => {
            let outcome = outcome.map_err(|error| client.visible_error(error));
            completed_payload(registry, id, outcome.map(CallOutcome::Done), answer_bytes).await
        }
    };
    let task = build_task(id, &left, payload.status());
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// Accepts replies to the requests of a task. Replies to requests that are not open are ignored.
pub(super) async fn update(
    registry: &Arc<Registry>,
    id: &str,
    responses: &InputResponses,
    client: &ClientInfo,
) -> Result<(), ErrorData> {
    let left = find_background_call(registry, id, client).await?;
    if left.status != BackgroundStatus::Waiting
        || !left.asks.iter().any(|key| responses.contains_key(key))
    {
        return Ok(());
    }
    let arguments = input_required::resume_arguments(id, &left, responses);
    // The outcome is read with the task; only the rejection of replies is an error here.
    let resumed = registry.call_with_timeout(
        RESUME_TOOL,
        arguments,
        caller_context(client),
        Duration::ZERO,
    );
    match Box::pin(resumed).await {
        Err(error) if !is_call_failure(&error) => Err(internal_error(&error)),
        _ => Ok(()),
    }
}

pub(super) async fn cancel(
    registry: &Registry,
    id: &str,
    client: &ClientInfo,
) -> Result<(), ErrorData> {
    let stopped = registry.cancel_background_call(id, &client.principal).await;
    stopped.map_err(|error| task_error(&error))
}

/// Tells whether the call itself failed, rather than its admission.
fn is_call_failure(error: &ToolError) -> bool {
    matches!(
        error,
        ToolError::Model(_)
            | ToolError::Timeout { .. }
            | ToolError::TimeoutUnknownEffect { .. }
            | ToolError::Cancelled
    )
}

async fn find_background_call(
    registry: &Registry,
    id: &str,
    client: &ClientInfo,
) -> Result<BackgroundCall, ErrorData> {
    let left = registry.background_call(id, &client.principal).await;
    left.map_err(|error| task_error(&error))
}

fn task_error(error: &ToolError) -> ErrorData {
    match error {
        ToolError::NotFound { .. } => {
            ErrorData::invalid_params("there is no task with this id; it may have expired", None)
        }
        error => internal_error(error),
    }
}

fn internal_error(error: &ToolError) -> ErrorData {
    ErrorData::internal_error(call_result::error_sentence(&error.clone().redacted()), None)
}

fn caller_context(client: &ClientInfo) -> CallerContext {
    CallerContext {
        prompts_leave_conversation: client.asks_by_input(),
        principal: client.principal.clone(),
        ..CallerContext::default()
    }
}

async fn waiting_payload(
    registry: &Arc<Registry>,
    id: &str,
    client: &ClientInfo,
    answer_bytes: usize,
) -> TaskPayload {
    let asked = registry
        .call(RESUME_TOOL, json!({ "id": id }), caller_context(client))
        .await;
    match asked {
        Ok(CallOutcome::NeedsReply(needs)) if client.supports_sampling => {
            TaskPayload::InputRequired {
                input_requests: input_required::input_requests(needs),
            }
        }
        // This says nothing about the task, which is unchanged and can be queried again.
        Err(ToolError::Overloaded { .. } | ToolError::Stopping) => TaskPayload::Working,
        // A client without sampling replies by calling the tool for it.
        outcome => completed_payload(registry, id, outcome, answer_bytes).await,
    }
}

async fn completed_payload(
    registry: &Registry,
    id: &str,
    mut outcome: Result<CallOutcome, ToolError>,
    answer_bytes: usize,
) -> TaskPayload {
    if let Ok(CallOutcome::Done(output)) = &mut outcome
        && let Some(result) = external_tools::take_raw_result(output)
    {
        // A client that supports tasks speaks a stateless revision.
        let result = match external_tools::to_raw_reply(result, true, answer_bytes) {
            CallReply::Raw(result) => result,
            CallReply::Typed(response) => external_tools::to_json(response),
        };
        return TaskPayload::Completed {
            result: to_object(&result),
        };
    }
    let result = match outcome {
        Ok(CallOutcome::Done(output)) => {
            let arguments = json!({ "id": id });
            let presented = registry.present(RESUME_TOOL, &arguments, &output).await;
            Ok(call_result::success_result(output, presented, answer_bytes))
        }
        outcome => call_result::to_call_result(outcome, answer_bytes),
    };
    match result {
        Ok(result) => TaskPayload::Completed {
            result: to_object(&result),
        },
        Err(error) => TaskPayload::Failed {
            error: to_object(&error),
        },
    }
}

fn to_object(value: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn build_task(id: &str, left: &BackgroundCall, status: TaskStatus) -> Task {
    let now = SystemClock.now().to_string();
    let lives = left.expires_at.as_micros() - left.started_at.as_micros();
    let task = Task::new(id, status, left.started_at.to_string(), now)
        .with_ttl_ms(u64::try_from(lives / 1_000).unwrap_or(0))
        .with_poll_interval_ms(POLL_INTERVAL_MS);
    match &left.status {
        BackgroundStatus::Running(doing) if !doing.is_empty() => {
            task.with_status_message(doing.as_str())
        }
        _ => task,
    }
}
