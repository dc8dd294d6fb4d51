//! Tools of the Tasks extension: one that never becomes a task, some that may, and some that need a
//! client with task support.

use std::time::Duration;

use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult, InputRequest, Tool,
    },
    task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions},
};
use serde_json::{Value, json};

use super::multi_round;
use crate::tools::{FixtureCall, FixtureResult, build_tool, text_result};

const POLL_MS: u64 = 100;

/// The time before a failing job fails.
const FAILURE_DELAY: Duration = Duration::from_millis(200);

/// The maximum duration of a job.
const MAX_SECONDS: f64 = 120.0;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        build_tool(
            "greet",
            "Greets at once",
            &json!({ "name": { "type": "string" } }),
        ),
        build_tool(
            "slow_compute",
            "Takes the given number of seconds",
            &json!({ "seconds": { "type": "number" }, "label": { "type": "string" } }),
        ),
        build_tool("protocol_error_job", "Breaks", &json!({})),
        build_tool("failing_job", "Always fails", &json!({})),
        build_tool(
            "confirm_delete",
            "Asks before it deletes",
            &json!({ "filename": { "type": "string" } }),
        ),
        build_tool("multi_input", "Asks two things at once", &json!({})),
        build_tool(
            "test_tool_with_task",
            "Asks first, then becomes a task",
            &json!({}),
        ),
    ]
}

pub(crate) fn has_tool(name: &str) -> bool {
    tools().iter().any(|tool| tool.name == name)
}

pub(crate) async fn call_tool(call: &FixtureCall<'_>, name: &str) -> FixtureResult {
    let knows_tasks = call
        .context
        .client_capabilities()
        .is_some_and(|declared| declared.supports_tasks());
    match name {
        "greet" => text_result(format!("Hello, {}!", call.text_argument("name"))),
        "slow_compute" if !knows_tasks => compute_now(call).await,
        "protocol_error_job" if !knows_tasks => Err(internal_error()),
        _ if !knows_tasks => {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            Err(ErrorData::missing_required_client_capability(needed))
        }
        "test_tool_with_task" => ask_then_start(call),
        _ => {
            let job = build_task(call, name)?;
            start_task(call, job)
        }
    }
}

async fn compute_now(call: &FixtureCall<'_>) -> FixtureResult {
    tokio::select! {
        () = tokio::time::sleep(requested_duration(call)) => text_result(result_text(call)),
        () = call.context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
    }
}

fn ask_then_start(call: &FixtureCall<'_>) -> FixtureResult {
    let given = call.request.input_responses.clone().unwrap_or_default();
    let Some(name) = multi_round::accepted_text(&given, multi_round::NAME_KEY, "name") else {
        let question = multi_round::name_request("Whom is it for?")?;
        return Ok(multi_round::input_required([(multi_round::NAME_KEY, question)]).into());
    };
    let text = format!("Done for {name}.");
    start_task(
        call,
        Box::new(|_| Box::pin(async { Ok(text_tool_result(text)) })),
    )
}

type TaskBody = Box<dyn FnOnce(TaskContext) -> TaskFuture>;

fn build_task(call: &FixtureCall<'_>, name: &str) -> Result<TaskBody, ErrorData> {
    Ok(match name {
        "slow_compute" => {
            let (time, text) = (requested_duration(call), result_text(call));
            Box::new(move |task| {
                Box::pin(async move {
                    tokio::select! {
                        () = tokio::time::sleep(time) => Ok(text_tool_result(text)),
                        () = task.cancelled() => Err(TaskExit::Cancelled),
                    }
                })
            })
        }
        "protocol_error_job" => Box::new(|_| Box::pin(async { Err(internal_error().into()) })),
        "failing_job" => Box::new(|_| {
            Box::pin(async {
                tokio::time::sleep(FAILURE_DELAY).await;
                let text = ContentBlock::text("The job went wrong.");
                Ok(CallToolResult::error(vec![text]))
            })
        }),
        "confirm_delete" => {
            let question =
                confirmation_request(&format!("Delete {}?", call.text_argument("filename")))?;
            Box::new(move |task| {
                Box::pin(async move {
                    let reply = task.request_input("confirm", question).await?;
                    let sure = reply.pointer("/content/confirm") == Some(&Value::Bool(true));
                    Ok(text_tool_result(if sure { "Deleted." } else { "Kept." }))
                })
            })
        }
        _ => {
            let first = confirmation_request("Is the first right?")?;
            let second = confirmation_request("Is the second right?")?;
            Box::new(move |task| {
                Box::pin(async move {
                    tokio::try_join!(
                        task.request_input("first", first),
                        task.request_input("second", second),
                    )?;
                    Ok(text_tool_result("Both were answered."))
                })
            })
        }
    })
}

#[expect(clippy::unnecessary_wraps, reason = "every tool returns this type")]
fn start_task(call: &FixtureCall<'_>, job: TaskBody) -> FixtureResult {
    let options = TaskOptions::new().with_poll_interval_ms(POLL_MS);
    let task = call.state.tasks.spawn(options, job);
    Ok(CreateTaskResult::new(task).into())
}

fn confirmation_request(question: &str) -> Result<InputRequest, ErrorData> {
    multi_round::elicitation_request(
        question,
        &json!({ "confirm": { "type": "boolean" } }),
        "confirm",
    )
}

fn requested_duration(call: &FixtureCall<'_>) -> Duration {
    let seconds = call.argument("seconds").and_then(Value::as_f64);
    Duration::from_secs_f64(seconds.unwrap_or_default().clamp(0.0, MAX_SECONDS))
}

fn result_text(call: &FixtureCall<'_>) -> String {
    format!("Computed {}.", call.text_argument("label"))
}

fn text_tool_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn internal_error() -> ErrorData {
    ErrorData::internal_error("The job broke.", None)
}
