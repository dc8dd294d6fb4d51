//! The Tasks extension: a long call of a client that knows it is a task, whose id is that of the
//! call that runs on. Tasks outlive the connection and the process, like all that is left.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Clock, SystemClock};
use deliberate_toolkit::{Answer, Caller, Left, LeftCall, RESUME, Registry, ToolError};
use rmcp::{
    ErrorData,
    model::{
        CreateTaskResult, DetailedTask, GetTaskResult, InputResponses, Task, TaskPayload,
        TaskStatus,
    },
};
use serde_json::{Map, Value, json};

use super::{
    answer,
    client::Client,
    guests::{self, Told},
    input,
};

/// How often a client should ask.
const POLL_EVERY_MS: u64 = 1_000;

/// The task that a call which runs on has become.
pub(super) async fn created(
    registry: &Registry,
    id: &str,
    client: &Client,
) -> Result<CreateTaskResult, ErrorData> {
    let left = find(registry, id, client).await?;
    Ok(CreateTaskResult::new(task(id, &left, TaskStatus::Working)))
}

/// How a task stands.
pub(super) async fn get(
    registry: &Arc<Registry>,
    id: &str,
    client: &Client,
    answer_bytes: usize,
) -> Result<GetTaskResult, ErrorData> {
    let left = find(registry, id, client).await?;
    let payload = match left.left.clone() {
        Left::Running(_) => TaskPayload::Working,
        // Whoever ran it died; it runs again, without anyone waiting.
        Left::Abandoned => {
            let arguments = json!({ "id": id });
            let again = registry.call_within(RESUME, arguments, caller(client), Duration::ZERO);
            if let Err(error) = Box::pin(again).await {
                tracing::debug!(code = error.code(), "a task that was run again failed");
            }
            TaskPayload::Working
        }
        Left::Waiting => waiting(registry, id, client, answer_bytes).await,
        Left::Ended(Err(ToolError::Told { code, .. })) if code == "Cancelled" => {
            TaskPayload::Cancelled
        }
        Left::Ended(outcome) => {
            let outcome = outcome.map_err(|error| client.told(error));
            completed(outcome.map(Answer::Done), answer_bytes)
        }
    };
    let task = task(id, &left, payload.status());
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// Takes replies to what a task asked. Those to asks that are not open are ignored.
pub(super) async fn update(
    registry: &Arc<Registry>,
    id: &str,
    responses: &InputResponses,
    client: &Client,
) -> Result<(), ErrorData> {
    let left = find(registry, id, client).await?;
    if left.left != Left::Waiting || !left.asks.iter().any(|key| responses.contains_key(key)) {
        return Ok(());
    }
    let arguments = input::resumption(id, &left, responses);
    // What it comes to is seen by who gets the task; that the replies were not taken, here.
    let resumed = registry.call_within(RESUME, arguments, caller(client), Duration::ZERO);
    match Box::pin(resumed).await {
        Err(error) if !is_an_end(&error) => Err(failed(&error)),
        _ => Ok(()),
    }
}

/// Stops a task.
pub(super) async fn cancel(
    registry: &Registry,
    id: &str,
    client: &Client,
) -> Result<(), ErrorData> {
    let stopped = registry.stop_left_call(id, &client.principal).await;
    stopped.map_err(|error| unknown(&error))
}

/// Whether a call failed by itself, rather than was not let in.
fn is_an_end(error: &ToolError) -> bool {
    matches!(
        error,
        ToolError::Think(_)
            | ToolError::Timeout { .. }
            | ToolError::CutShort { .. }
            | ToolError::Cancelled
    )
}

async fn find(registry: &Registry, id: &str, client: &Client) -> Result<LeftCall, ErrorData> {
    let left = registry.left_call(id, &client.principal).await;
    left.map_err(|error| unknown(&error))
}

fn unknown(error: &ToolError) -> ErrorData {
    match error {
        ToolError::NotFound { .. } => {
            ErrorData::invalid_params("there is no task of this id; it may have expired", None)
        }
        error => failed(error),
    }
}

fn failed(error: &ToolError) -> ErrorData {
    ErrorData::internal_error(answer::sentence(&error.clone().outward()), None)
}

fn caller(client: &Client) -> Caller {
    Caller {
        principal: client.principal.clone(),
        ..Caller::default()
    }
}

async fn waiting(
    registry: &Arc<Registry>,
    id: &str,
    client: &Client,
    answer_bytes: usize,
) -> TaskPayload {
    let asked = registry
        .call(RESUME, json!({ "id": id }), caller(client))
        .await;
    match asked {
        Ok(Answer::NeedsReply(needs)) if client.samples => TaskPayload::InputRequired {
            input_requests: input::requests(needs),
        },
        // That says nothing of the task: it stands as it stood, and can be asked for again.
        Err(ToolError::Overloaded { .. } | ToolError::Stopping) => TaskPayload::Working,
        // A client whose model can't be asked replies by calling the tool for it.
        outcome => completed(outcome, answer_bytes),
    }
}

fn completed(mut outcome: Result<Answer, ToolError>, answer_bytes: usize) -> TaskPayload {
    if let Ok(Answer::Done(output)) = &mut outcome
        && let Some(result) = guests::handed_on(output)
    {
        // Who knows tasks is of the later era.
        let result = match guests::told(result, true, answer_bytes) {
            Told::HandedOn(result) => result,
            Told::Ours(response) => guests::written(response),
        };
        return TaskPayload::Completed {
            result: object(&result),
        };
    }
    match answer::result(outcome, answer_bytes) {
        Ok(result) => TaskPayload::Completed {
            result: object(&result),
        },
        Err(error) => TaskPayload::Failed {
            error: object(&error),
        },
    }
}

fn object(value: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn task(id: &str, left: &LeftCall, status: TaskStatus) -> Task {
    let now = SystemClock.now().to_string();
    let lives = left.forgotten.as_micros() - left.begun.as_micros();
    let task = Task::new(id, status, left.begun.to_string(), now)
        .with_ttl_ms(u64::try_from(lives / 1_000).unwrap_or(0))
        .with_poll_interval_ms(POLL_EVERY_MS);
    match &left.left {
        Left::Running(doing) if !doing.is_empty() => task.with_status_message(doing.as_str()),
        _ => task,
    }
}
