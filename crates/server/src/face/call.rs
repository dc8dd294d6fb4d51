//! `tools/call`: from the request to the gate, and from its answer to the client.

use std::{sync::Arc, time::Instant};

use deliberate_toolkit::{Again, Caller, Progress, RESUME, StillRunning, ToolError, Within};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InputRequiredResult,
        ProgressNotificationParam,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Face, answer, asking,
    client::Client,
    guests::{self, Told},
    input, sampling, tasks,
};
use crate::trace;

/// Progress that waits to be sent; more than this is dropped, since the newest says it all.
const PROGRESS_QUEUE: usize = 16;

/// What a request comes to.
struct ToCall {
    name: String,
    arguments: Value,
    again: Option<Again>,
}

impl Face {
    pub(super) async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Told, ErrorData> {
        let client = Client::of(context);
        let tool = request.name.clone();
        let to_call = self.what_to_call(request, &client).await?;
        let (caller, progress) = caller(&client, context);
        let caller = Caller {
            client: asking::side(&client, context, self.is_deaf(context)),
            again: to_call.again,
            ..caller
        };
        let patience = if client.tasks {
            self.options.task_after
        } else {
            self.options.patience
        };
        let begun = Instant::now();
        let call = self
            .registry
            .call_within(&to_call.name, to_call.arguments, caller, patience);
        let outcome = with_progress(call, progress, context).await;
        let code = outcome.as_ref().err().map(ToolError::code);
        self.log_level
            .tell_of_call(context, &client, &tool, begun.elapsed(), code)
            .await;
        self.told(outcome, &tool, &client).await
    }

    /// The call itself, or the one that is resumed by sending it again with input.
    async fn what_to_call(
        &self,
        request: CallToolRequestParams,
        client: &Client,
    ) -> Result<ToCall, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let name = request.name.into_owned();
        let sent_again = request.request_state.is_some() || request.input_responses.is_some();
        if let Some(guests) = self.registry.guests()
            && client.modern
            && sent_again
        {
            let again = Again {
                state: request.request_state.clone().unwrap_or_default(),
                responses: json!(request.input_responses),
            };
            if guests.stands_for(&name, &arguments, Some(&again)).is_some() {
                return Ok(ToCall {
                    name,
                    arguments,
                    again: Some(again),
                });
            }
        }
        let Some(id) = request.request_state.filter(|_| client.modern) else {
            return Ok(ToCall {
                name,
                arguments,
                again: None,
            });
        };
        let foreign = || {
            ErrorData::invalid_params(
                "requestState: is not one this server gave for this call; call again without it",
                None,
            )
        };
        let left = self.registry.left_call(&id, &client.principal).await;
        let left = left.map_err(|error| match error {
            ToolError::NotFound { .. } => foreign(),
            error => ErrorData::internal_error(answer::sentence(&client.told(error)), None),
        })?;
        if !self.registry.is_call(&left, &name, &arguments) {
            return Err(foreign());
        }
        let responses = request.input_responses.unwrap_or_default();
        Ok(ToCall {
            name: RESUME.to_owned(),
            arguments: input::resumption(&id, &left, &responses),
            again: None,
        })
    }

    async fn told(
        &self,
        outcome: Result<Within, ToolError>,
        tool: &str,
        client: &Client,
    ) -> Result<Told, ErrorData> {
        use deliberate_toolkit::Answer::{Done, NeedsReply};
        let most = self.options.answer_bytes;
        match outcome {
            Ok(Within::StillRunning(running)) if client.tasks => {
                let task = tasks::created(&self.registry, &running.id, client).await?;
                Ok(CallToolResponse::Task(task).into())
            }
            Ok(Within::StillRunning(running)) => {
                let own = self.registry.get(tool).is_some();
                Ok(still_running(&running, own).into())
            }
            Ok(Within::Answered(NeedsReply(needs)))
                if client.modern && client.samples && self.options.ask_by_input =>
            {
                let state = needs.id.clone();
                let requests = input::requests(needs);
                let required = InputRequiredResult::new(Some(requests), Some(state));
                Ok(required.into())
            }
            Ok(Within::Answered(Done(mut output))) => match guests::handed_on(&mut output) {
                Some(result) => Ok(guests::told(result, client.modern, most)),
                None => answer::result(Ok(Done(output)), most).map(Into::into),
            },
            Ok(Within::Answered(answered)) => answer::result(Ok(answered), most).map(Into::into),
            Err(error) => {
                let error = client.told(error);
                if let Some(opens) = guests::opens_first(&error, client) {
                    return Err(opens);
                }
                answer::result(Err(error), usize::MAX).map(Into::into)
            }
        }
    }
}

/// That a call runs on. A client holds what is no error to the schema of the tool, and that of a
/// tool of another server does not know this.
fn still_running(running: &StillRunning, own: bool) -> CallToolResult {
    let told = json!({ "still_running": running });
    if own {
        return CallToolResult::structured(told);
    }
    let text = format!("Still running: {} Its id is {}.", running.next, running.id);
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(told);
    result
}

/// The call's side of the client, and the progress it will want sent.
fn caller(
    client: &Client,
    context: &RequestContext<RoleServer>,
) -> (Caller, mpsc::Receiver<Progress>) {
    let (sender, receiver) = mpsc::channel(PROGRESS_QUEUE);
    let progress = context.meta.get_progress_token().map(|_| {
        let tell: Arc<dyn Fn(Progress) + Send + Sync> = Arc::new(move |update| {
            // Full means that newer news is on its way; closed, that nobody listens.
            drop(sender.try_send(update));
        });
        tell
    });
    let caller = Caller {
        cancelled: context.ct.clone(),
        progress,
        mind: sampling::offered(context),
        principal: client.principal.clone(),
        trace: trace::context(context),
        protocol: trace::protocol(context),
        ..Caller::default()
    };
    (caller, receiver)
}

/// Sends progress until the call is answered, and what was told by then. A call that runs on keeps
/// its end of the channel, and tells nobody.
async fn with_progress<T>(
    call: impl Future<Output = T>,
    mut progress: mpsc::Receiver<Progress>,
    context: &RequestContext<RoleServer>,
) -> T {
    let Some(token) = context.meta.get_progress_token() else {
        return call.await;
    };
    let send = async |update: Progress| {
        let mut params =
            ProgressNotificationParam::new(token.clone(), update.done).with_message(update.message);
        params.total = update.total;
        // A client that has gone is noticed by the transport.
        drop(context.peer.notify_progress(params).await);
    };
    tokio::pin!(call);
    let outcome = loop {
        tokio::select! {
            biased;
            update = progress.recv() => match update {
                Some(update) => send(update).await,
                None => break call.await,
            },
            outcome = &mut call => break outcome,
        }
    };
    while let Ok(update) = progress.try_recv() {
        send(update).await;
    }
    outcome
}
