//! `tools/call`: from the request to the gate, and from its answer to the client.

use std::{sync::Arc, time::Instant};

use deliberate_toolkit::{Caller, Progress, RESUME, ToolError, Within};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, InputRequiredResult,
        ProgressNotificationParam,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Face, answer, client::Client, input, sampling, tasks};
use crate::trace;

/// Progress that waits to be sent; more than this is dropped, since the newest says it all.
const PROGRESS_QUEUE: usize = 16;

impl Face {
    pub(super) async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = Client::of(&context);
        let tool = request.name.clone();
        let (name, arguments) = self.what_to_call(request, &client).await?;
        let (caller, progress) = caller(&client, &context);
        let patience = if client.tasks {
            self.options.task_after
        } else {
            self.options.patience
        };
        let begun = Instant::now();
        let call = self
            .registry
            .call_within(&name, arguments, caller, patience);
        let outcome = with_progress(call, progress, &context).await;
        let code = outcome.as_ref().err().map(ToolError::code);
        self.log_level
            .tell_of_call(&context, &client, &tool, begun.elapsed(), code)
            .await;
        self.response(outcome, &client).await
    }

    /// The call itself, or the one that is resumed by sending it again with input.
    async fn what_to_call(
        &self,
        request: CallToolRequestParams,
        client: &Client,
    ) -> Result<(String, Value), ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let Some(id) = request.request_state.filter(|_| client.modern) else {
            return Ok((request.name.into_owned(), arguments));
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
        if !self.registry.is_call(&left, &request.name, &arguments) {
            return Err(foreign());
        }
        let responses = request.input_responses.unwrap_or_default();
        let arguments = input::resumption(&id, &left, &responses);
        Ok((RESUME.to_owned(), arguments))
    }

    async fn response(
        &self,
        outcome: Result<Within, ToolError>,
        client: &Client,
    ) -> Result<CallToolResponse, ErrorData> {
        use deliberate_toolkit::Answer::NeedsReply;
        match outcome {
            Ok(Within::StillRunning(running)) if client.tasks => {
                let task = tasks::created(&self.registry, &running.id, client).await?;
                Ok(CallToolResponse::Task(task))
            }
            Ok(Within::StillRunning(running)) => {
                let told = json!({ "still_running": running });
                Ok(CallToolResult::structured(told).into())
            }
            Ok(Within::Answered(NeedsReply(needs)))
                if client.modern && client.samples && self.options.ask_by_input =>
            {
                let state = needs.id.clone();
                let requests = input::requests(needs);
                let required = InputRequiredResult::new(Some(requests), Some(state));
                Ok(required.into())
            }
            Ok(Within::Answered(answered)) => {
                let most = self.options.answer_bytes;
                answer::result(Ok(answered), most).map(Into::into)
            }
            Err(error) => answer::result(Err(client.told(error)), usize::MAX).map(Into::into),
        }
    }
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
