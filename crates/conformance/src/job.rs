//! Tools of the Tasks extension: one that never becomes a task, some that may, and some that only
//! a client that knows tasks can call.

use std::time::Duration;

use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult, InputRequest, Tool,
    },
    task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions},
};
use serde_json::{Value, json};

use crate::{
    rounds,
    tools::{Answer, Call, says, tool},
};

const POLL_MS: u64 = 100;

/// What a failing job takes before it fails.
const SOON: Duration = Duration::from_millis(200);

/// The longest a job may be asked to take.
const LONGEST_SECONDS: f64 = 120.0;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "greet",
            "Greets at once",
            &json!({ "name": { "type": "string" } }),
        ),
        tool(
            "slow_compute",
            "Takes so many seconds",
            &json!({ "seconds": { "type": "number" }, "label": { "type": "string" } }),
        ),
        tool("protocol_error_job", "Breaks", &json!({})),
        tool("failing_job", "Goes wrong", &json!({})),
        tool(
            "confirm_delete",
            "Asks before it deletes",
            &json!({ "filename": { "type": "string" } }),
        ),
        tool("multi_input", "Asks two things at once", &json!({})),
        tool(
            "test_tool_with_task",
            "Asks first, then becomes a task",
            &json!({}),
        ),
    ]
}

pub(crate) fn has(name: &str) -> bool {
    tools().iter().any(|tool| tool.name == name)
}

pub(crate) async fn call(call: &Call<'_>, name: &str) -> Answer {
    let knows_tasks = call
        .context
        .client_capabilities()
        .is_some_and(|declared| declared.supports_tasks());
    match name {
        "greet" => says(format!("Hello, {}!", call.text("name"))),
        "slow_compute" if !knows_tasks => compute_now(call).await,
        "protocol_error_job" if !knows_tasks => Err(broken()),
        _ if !knows_tasks => {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            Err(ErrorData::missing_required_client_capability(needed))
        }
        "test_tool_with_task" => asks_then_works(call),
        _ => {
            let job = job(call, name)?;
            start(call, job)
        }
    }
}

async fn compute_now(call: &Call<'_>) -> Answer {
    tokio::select! {
        () = tokio::time::sleep(seconds(call)) => says(computed(call)),
        () = call.context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
    }
}

fn asks_then_works(call: &Call<'_>) -> Answer {
    let given = call.request.input_responses.clone().unwrap_or_default();
    let Some(name) = rounds::accepted(&given, rounds::NAME_KEY, "name") else {
        let question = rounds::name_of("Whom is it for?")?;
        return Ok(rounds::asking([(rounds::NAME_KEY, question)]).into());
    };
    let text = format!("Done for {name}.");
    start(call, Box::new(|_| Box::pin(async { Ok(told(text)) })))
}

type Job = Box<dyn FnOnce(TaskContext) -> TaskFuture>;

fn job(call: &Call<'_>, name: &str) -> Result<Job, ErrorData> {
    Ok(match name {
        "slow_compute" => {
            let (time, text) = (seconds(call), computed(call));
            Box::new(move |task| {
                Box::pin(async move {
                    tokio::select! {
                        () = tokio::time::sleep(time) => Ok(told(text)),
                        () = task.cancelled() => Err(TaskExit::Cancelled),
                    }
                })
            })
        }
        "protocol_error_job" => Box::new(|_| Box::pin(async { Err(broken().into()) })),
        "failing_job" => Box::new(|_| {
            Box::pin(async {
                tokio::time::sleep(SOON).await;
                let text = ContentBlock::text("The job went wrong.");
                Ok(CallToolResult::error(vec![text]))
            })
        }),
        "confirm_delete" => {
            let question = confirmation(&format!("Delete {}?", call.text("filename")))?;
            Box::new(move |task| {
                Box::pin(async move {
                    let reply = task.request_input("confirm", question).await?;
                    let sure = reply.pointer("/content/confirm") == Some(&Value::Bool(true));
                    Ok(told(if sure { "Deleted." } else { "Kept." }))
                })
            })
        }
        _ => {
            let first = confirmation("Is the first right?")?;
            let second = confirmation("Is the second right?")?;
            Box::new(move |task| {
                Box::pin(async move {
                    tokio::try_join!(
                        task.request_input("first", first),
                        task.request_input("second", second),
                    )?;
                    Ok(told("Both were answered."))
                })
            })
        }
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what every tool answers")]
fn start(call: &Call<'_>, job: Job) -> Answer {
    let options = TaskOptions::new().with_poll_interval_ms(POLL_MS);
    let task = call.state.tasks.spawn(options, job);
    Ok(CreateTaskResult::new(task).into())
}

fn confirmation(question: &str) -> Result<InputRequest, ErrorData> {
    rounds::elicitation(
        question,
        &json!({ "confirm": { "type": "boolean" } }),
        "confirm",
    )
}

fn seconds(call: &Call<'_>) -> Duration {
    let seconds = call.argument("seconds").and_then(Value::as_f64);
    Duration::from_secs_f64(seconds.unwrap_or_default().clamp(0.0, LONGEST_SECONDS))
}

fn computed(call: &Call<'_>) -> String {
    format!("Computed {}.", call.text("label"))
}

fn told(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn broken() -> ErrorData {
    ErrorData::internal_error("The job broke.", None)
}
