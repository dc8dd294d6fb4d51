//! `tools/call`: passes the request to the dispatcher and its answer to the client.

use std::{sync::Arc, time::Instant};

use deliberate_json_schema::round_large_integers;
use deliberate_toolkit::{
    CallOutcome, CallProgress, CallerContext, ErrorCode, InputReply, RESUME_TOOL, StillRunning,
    TimedOutcome, ToolError, upstream_failure,
};
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
    McpHandler, call_result,
    client_info::ClientInfo,
    client_requests,
    external_tools::{self, CallReply},
    input_required,
    sampling::{self, DeclinedSampling},
    tasks,
};
use crate::trace;

/// The queue of progress notifications; further ones are dropped, because only the newest matters.
const PROGRESS_QUEUE: usize = 16;

/// The call that a request means.
struct ResolvedRequest {
    name: String,
    arguments: Value,
    input_reply: Option<InputReply>,
}

impl McpHandler {
    pub(super) async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallReply, ErrorData> {
        let client = ClientInfo::from_context(context);
        let tool = request.name.clone();
        let to_call = self.resolve_request(request, &client).await?;
        let (caller, progress) = caller_context(&client, context, &self.declined_sampling);
        let caller = CallerContext {
            client: client_requests::client_features(
                &client,
                context,
                &self.log_level,
                self.is_stateless(context),
            ),
            input_reply: to_call.input_reply,
            conversation: (!self.is_stateless(context)).then(|| self.conversation.clone()),
            ..caller
        };
        let patience = if client.tasks {
            self.options.task_after
        } else {
            self.options.background_after
        };
        let begun = Instant::now();
        let call = self.registry.call_with_timeout(
            &to_call.name,
            to_call.arguments.clone(),
            caller,
            patience,
        );
        let outcome = with_progress(call, progress, context).await;
        let code = match &outcome {
            Ok(TimedOutcome::Outcome(CallOutcome::Done(output))) => {
                upstream_failure(output).map(ErrorCode::as_str)
            }
            Ok(_) => None,
            Err(error) => Some(error.code()),
        };
        self.log_level
            .log_call(context, &client, &tool, begun.elapsed(), code)
            .await;
        let called = (to_call.name.as_str(), &to_call.arguments);
        self.to_reply(outcome, &tool, called, &client).await
    }

    /// Resolves the request to a new call, or to the resume of a call that was sent again with
    /// input.
    async fn resolve_request(
        &self,
        request: CallToolRequestParams,
        client: &ClientInfo,
    ) -> Result<ResolvedRequest, ErrorData> {
        let mut arguments = Value::Object(request.arguments.unwrap_or_default());
        let name = request.name.into_owned();
        if !self.is_for_upstream(&name, &arguments) {
            round_large_integers(&mut arguments);
        }
        let sent_again = request.request_state.is_some() || request.input_responses.is_some();
        if let Some(external) = self.registry.external_tools()
            && client.modern
            && sent_again
        {
            let again = InputReply {
                state: request.request_state.clone().unwrap_or_default(),
                responses: json!(request.input_responses),
            };
            if external.resolve(&name, &arguments, Some(&again)).is_some() {
                return Ok(ResolvedRequest {
                    name,
                    arguments,
                    input_reply: Some(again),
                });
            }
        }
        let Some(id) = request.request_state.filter(|_| client.modern) else {
            return Ok(ResolvedRequest {
                name,
                arguments,
                input_reply: None,
            });
        };
        let foreign = || {
            ErrorData::invalid_params(
                "requestState: does not belong to this call; call again without it",
                None,
            )
        };
        let left = self.registry.background_call(&id, &client.principal).await;
        let left = left.map_err(|error| match error {
            ToolError::NotFound { .. } => foreign(),
            error => ErrorData::internal_error(
                call_result::error_sentence(&client.visible_error(error)),
                None,
            ),
        })?;
        if !self.registry.matches_call(&left, &name, &arguments) {
            return Err(foreign());
        }
        let responses = request.input_responses.unwrap_or_default();
        Ok(ResolvedRequest {
            name: RESUME_TOOL.to_owned(),
            arguments: input_required::resume_arguments(&id, &left, &responses),
            input_reply: None,
        })
    }

    /// Tells whether a call goes to an upstream server, which gets every integer exactly.
    fn is_for_upstream(&self, name: &str, arguments: &Value) -> bool {
        let external = self.registry.external_tools();
        external.is_some_and(|external| {
            self.registry.get(name).is_none() || external.external_name(name, arguments).is_some()
        })
    }

    async fn to_reply(
        &self,
        outcome: Result<TimedOutcome, ToolError>,
        tool: &str,
        (called, arguments): (&str, &Value),
        client: &ClientInfo,
    ) -> Result<CallReply, ErrorData> {
        use deliberate_toolkit::CallOutcome::{Done, NeedsReply};
        let most = self.options.answer_bytes;
        match outcome {
            Ok(TimedOutcome::StillRunning(running)) if client.tasks => {
                let task = tasks::create(&self.registry, &running.id, client).await?;
                Ok(CallToolResponse::Task(task).into())
            }
            Ok(TimedOutcome::StillRunning(running)) => {
                let own = self.registry.get(tool).is_some();
                Ok(background_result(&running, own).into())
            }
            Ok(TimedOutcome::Outcome(NeedsReply(needs)))
                if client.asks_by_input() && self.options.ask_by_input =>
            {
                let state = needs.id.clone();
                let requests = input_required::input_requests(needs);
                let required = InputRequiredResult::new(Some(requests), Some(state));
                Ok(required.into())
            }
            Ok(TimedOutcome::Outcome(Done(mut output))) => {
                if let Some(result) = external_tools::take_raw_result(&mut output) {
                    return Ok(external_tools::to_raw_reply(result, client.modern, most));
                }
                let presented = self.registry.present(called, arguments, &output).await;
                Ok(call_result::success_result(output, presented, most).into())
            }
            Ok(TimedOutcome::Outcome(answered)) => {
                call_result::to_call_result(Ok(answered), most).map(Into::into)
            }
            Err(error) => {
                let error = client.visible_error(error);
                if let Some(opens) = external_tools::url_elicitation_error(&error, client) {
                    return Err(opens);
                }
                call_result::to_call_result(Err(error), usize::MAX).map(Into::into)
            }
        }
    }
}

/// The result for a background call. Clients validate a successful result against the tool's output
/// schema, and the schema of an external tool does not allow this one.
fn background_result(running: &StillRunning, own: bool) -> CallToolResult {
    let told = json!({ "still_running": running });
    let text = format!("Still running: {} Its id is {}.", running.next, running.id);
    let content = vec![ContentBlock::text(text)];
    let mut result = if own {
        CallToolResult::success(content)
    } else {
        CallToolResult::error(content)
    };
    result.structured_content = Some(told);
    result
}

/// The caller context of a call, with the channel for its progress.
fn caller_context(
    client: &ClientInfo,
    context: &RequestContext<RoleServer>,
    declined: &DeclinedSampling,
) -> (CallerContext, mpsc::Receiver<CallProgress>) {
    let (sender, receiver) = mpsc::channel(PROGRESS_QUEUE);
    let progress = context.meta.get_progress_token().map(|_| {
        let tell: Arc<dyn Fn(CallProgress) + Send + Sync> = Arc::new(move |update| {
            // A full channel already holds recent progress; a closed one has no reader.
            drop(sender.try_send(update));
        });
        tell
    });
    let caller = CallerContext {
        cancellation: context.ct.clone(),
        progress,
        client_model: sampling::client_model(context, declined),
        prompts_leave_conversation: client.asks_by_input(),
        principal: client.principal.clone(),
        trace: trace::trace_context(context),
        protocol: trace::protocol_version(context),
        ..CallerContext::default()
    };
    (caller, receiver)
}

/// Sends progress until the call is answered. A background call keeps its end of the channel, whose
/// messages are dropped.
async fn with_progress<T>(
    call: impl Future<Output = T>,
    mut progress: mpsc::Receiver<CallProgress>,
    context: &RequestContext<RoleServer>,
) -> T {
    let Some(token) = context.meta.get_progress_token() else {
        return call.await;
    };
    let send = async |update: CallProgress| {
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
