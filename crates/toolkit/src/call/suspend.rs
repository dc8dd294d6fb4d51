//! Suspending calls that wait for their client's model, and resuming stored calls.
//!
//! A call that has no model to ask is suspended: its arguments and the replies so far are stored,
//! the client gets the prompts, and `reasoning_resume` brings the replies. The call is then run
//! again from its start, and its model requests are answered from the replies; it may be suspended
//! again. A call that has ended returns the same answer whenever it is resumed.

use std::borrow::Cow;

use deliberate_core::{SuspendedCall, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    background::{BackgroundMove, CallHandle, decode_failure},
    context::Journal,
    running_calls::RunningGuard,
    status::lost_error,
    task::CallTask,
};
use crate::{
    ArgumentIssue, ClientPrompt, EntityKind, NeedsReply, Principal, Registry, ToolContext,
    ToolError, ToolHints, ToolLimits, ToolMeta, schema,
};

/// The name of the tool that resumes calls.
pub const RESUME_TOOL: &str = "reasoning_resume";

/// The most characters of a client's reason that are repeated to it.
const MAX_REASON_CHARS: usize = 200;

/// How a caller saves a call, for tools that take its reply.
const REPLY_HINT: &str = " To save a call, bring your thought as `reply` in the first call.";

/// The arguments of [`RESUME_TOOL`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumeArguments {
    #[schemars(length(min = 1))]
    id: String,
    /// One per ask, in order
    #[serde(default)]
    replies: Vec<Value>,
}

pub(crate) fn input_schema() -> Value {
    schema::input_schema::<ResumeArguments>()
}

/// Returns the output schema, which covers the answer of any tool.
pub(crate) fn output_schema() -> Value {
    json!({ "type": "object" })
}

impl ResumeArguments {
    pub(crate) fn meta() -> ToolMeta {
        ToolMeta {
            name: RESUME_TOOL,
            title: "Resume a suspended call",
            description: "Continues a call that answered needs_reply: think about each ask, then \
                          pass its id and your replies. After still_running pass the id alone.",
            hints: ToolHints::IDEMPOTENT,
            asks_model: true,
            limits: ToolLimits::default(),
        }
    }
}

/// The result of resuming a call.
pub(super) enum Resumption {
    /// The call had already ended with this answer.
    Ended(Value),
    /// The call goes on.
    Continue(Box<ContinuedCall>),
}

/// A stored call that this worker continues.
pub(super) struct ContinuedCall {
    pub(super) row: Box<SuspendedCall>,
    /// What the call keeps from its earlier runs, with the replies.
    pub(super) journal: Journal,
    /// Whether the client's model has replied before; otherwise the call asks the model at hand.
    pub(super) asks_client: bool,
    /// Whether this worker took the lease of an abandoned call.
    pub(super) is_leased: bool,
    pub(super) registration: Option<RunningGuard>,
}

impl Registry {
    pub(super) async fn prepare_resume(
        &self,
        arguments: Value,
        principal: &Principal,
        handle: &CallHandle,
    ) -> Result<Resumption, ToolError> {
        let resume: ResumeArguments = serde_path_to_error::deserialize(arguments)
            .map_err(|error| ToolError::Invalid(vec![ArgumentIssue::unreadable(&error)]))?;
        let id = SuspensionId::from(resume.id.as_str());
        loop {
            let mut row = self.find_suspended(&id, principal).await?;
            if let Some(outcome) = row.outcome {
                if row.failed {
                    return Err(decode_failure(&outcome));
                }
                return Ok(Resumption::Ended(outcome));
            }
            if self.is_running(&row) || self.background_calls.contains(&id) {
                self.check_replies(&resume.replies, &[])?;
                let moved = BackgroundMove::WaitingFor(id.clone());
                let other = self.background_calls.wait_for(&id);
                handle.answer_while(&moved, other).await;
                continue;
            }
            let keys: Vec<String> = serde_json::from_value(row.asks.clone())
                .map_err(|error| corrupt_journal(&error))?;
            self.check_replies(&resume.replies, &keys)?;
            // A call without open requests was run by a worker that did not end it.
            let is_leased = keys.is_empty();
            let mut registration = None;
            if is_leased {
                if !self.registered_tool(&row.tool_name)?.is_replayable() {
                    self.end_stored(&row, &lost_error()).await?;
                    continue;
                }
                if !self.take_over(&mut row).await? {
                    continue;
                }
                registration = self.register_running(&row, handle);
            }
            let journal = extend_journal(&row, keys, &resume.replies)?;
            return Ok(Resumption::Continue(Box::new(ContinuedCall {
                asks_client: !is_leased || !journal.is_empty(),
                row: Box::new(row),
                journal,
                is_leased,
                registration,
            })));
        }
    }

    /// Returns the call if the principal owns it, it has not expired, and the principal may make
    /// it.
    pub(super) async fn find_suspended(
        &self,
        id: &SuspensionId,
        principal: &Principal,
    ) -> Result<SuspendedCall, ToolError> {
        let suspended = self.deps.store.suspended_call(id).await?;
        let theirs = |it: &SuspendedCall| {
            it.expires_at > self.deps.clock.now()
                && it.owner == principal.owner()
                && self.tools.allows(principal, &it.tool_name, &it.arguments)
        };
        let suspended = suspended.map(|call| self.tools.restore_stored_call(call));
        suspended.filter(theirs).ok_or_else(|| ToolError::NotFound {
            what: EntityKind::SUSPENDED_CALL,
            id: deliberate_core::truncate_chars(id.as_str(), 80),
        })
    }

    fn check_replies(&self, replies: &[Value], keys: &[String]) -> Result<(), ToolError> {
        let invalid = |issue| Err(ToolError::Invalid(vec![issue]));
        if replies.len() > keys.len() {
            let rule = match keys.len() {
                0 => "must be omitted: the call waits for no reply".to_owned(),
                count => format!("must have at most {count} item(s), one for each ask"),
            };
            return invalid(ArgumentIssue::new("replies", rule).with_value(&json!(replies.len())));
        }
        let limit = self.deps.limits.content_chars;
        let too_long = |reply: &Value| {
            let text = reply_text(reply);
            text.len() > limit && text.chars().count() > limit
        };
        if replies.iter().any(too_long) {
            let rule = format!("must have at most {limit} characters each");
            return invalid(ArgumentIssue::new("replies", rule));
        }
        Ok(())
    }

    /// Returns the expiry of a call that is stored now.
    pub(super) fn suspension_expiry(&self, now: Timestamp) -> Timestamp {
        let time = i64::try_from(self.deps.limits.suspension_time.as_micros()).unwrap_or(i64::MAX);
        now.plus_micros(time)
    }
}

impl CallTask<'_> {
    /// Returns the replies and the memo of the current step, if it waits for its client's model.
    pub(super) fn pending_journal(&self, call: &ToolContext) -> Option<Journal> {
        let (_, mut journal) = call.pending_requests()?;
        journal.called_with.clone_from(&self.called_with);
        journal.used = self.used;
        Some(journal)
    }

    /// Returns the prompts for the client and the row to store for a call that waits for replies.
    /// There is nothing to store if it waits for the same replies as before.
    pub(super) fn suspend(
        &self,
        call: &ToolContext,
    ) -> Result<(NeedsReply, Option<SuspendedCall>), ToolError> {
        let (pending, _) = call.pending_requests().ok_or(ToolError::Internal)?;
        let journal = json!(self.pending_journal(call));
        let mut asks: Vec<ClientPrompt> = pending.into_iter().map(Into::into).collect();
        if asks.is_empty() {
            return Err(ToolError::Internal);
        }
        let deps = &self.registry.deps;
        let now = deps.clock.now();
        let keys = asks.iter().map(|ask| ask.key.as_str());
        let keys = json!(keys.collect::<Vec<_>>());
        let stored = self.row.as_deref();
        let is_same = |row: &SuspendedCall| row.journal == journal && row.asks == keys;
        let changed = !stored.is_some_and(is_same);
        // A client that fetches the same prompts again may have lost them.
        if changed {
            call.shorten_known_instructions(&mut asks);
        }
        let id = stored.map_or_else(|| SuspensionId::from(deps.ids.new_id()), |it| it.id.clone());
        let needs = NeedsReply {
            next: format!(
                "{}, so you think: work out each ask, then call {RESUME_TOOL} with this id and your \
                 replies in order.{}",
                why_client_replies(call),
                if self.entry.takes_reply() {
                    REPLY_HINT
                } else {
                    ""
                },
            ),
            id: id.to_string(),
            asks,
        };
        let row = changed.then(|| SuspendedCall {
            id,
            tool_name: self.entry.meta.name.to_owned(),
            arguments: self.arguments.clone(),
            journal,
            asks: keys,
            created_at: stored.map_or(now, |it| it.created_at),
            expires_at: self.registry.suspension_expiry(now),
            owner: self.start.principal.owner(),
            // No worker has a lease.
            running_until: None,
            outcome: None,
            failed: false,
            // A worker that still runs an earlier round can't commit its result.
            fence: stored.map_or(0, |it| it.fence + 1),
            notes: self.notes.clone(),
            progress: self.handle.progress.stored(),
        });
        Ok((needs, row))
    }
}

/// Tells why the client's model has to reply, as the first half of a sentence.
fn why_client_replies(call: &ToolContext) -> String {
    match call.sampling_declined() {
        None => "No model is set up here".to_owned(),
        Some(reason) => {
            let reason = deliberate_core::truncate_chars(reason.trim(), MAX_REASON_CHARS);
            format!("This client declined sampling (\"{reason}\")")
        }
    }
}

fn corrupt_journal(error: &serde_json::Error) -> ToolError {
    ToolError::Store(StoreError::Corrupt {
        what: "a suspended call".to_owned(),
        reason: error.to_string(),
    })
}

/// Returns a reply as the text that a model would have written.
pub(crate) fn reply_text(reply: &Value) -> Cow<'_, str> {
    match reply {
        Value::String(text) => Cow::Borrowed(text),
        reply => Cow::Owned(reply.to_string()),
    }
}

/// Returns the journal of a stored call with the replies, in the order of their requests.
fn extend_journal(
    row: &SuspendedCall,
    keys: Vec<String>,
    replies: &[Value],
) -> Result<Journal, ToolError> {
    let mut journal: Journal =
        serde_json::from_value(row.journal.clone()).map_err(|error| corrupt_journal(&error))?;
    for (key, reply) in keys.into_iter().zip(replies) {
        journal.replies.insert(key, reply_text(reply).into_owned());
    }
    Ok(journal)
}
