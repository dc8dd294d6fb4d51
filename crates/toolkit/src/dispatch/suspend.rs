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

use super::ToolRun;
use crate::{
    ArgumentIssue, ClientPrompt, EntityKind, NeedsReply, Principal, Registry, ToolContext,
    ToolError, ToolHints, ToolLimits, ToolMeta,
    background::{self, CallHandle, StoredCall},
    schema,
    tool_context::Journal,
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
pub(crate) enum Resumption {
    /// The call had already ended with this answer.
    Ended(Value),
    /// The call continues with these replies.
    Continue {
        suspended: Box<SuspendedCall>,
        journal: Option<Journal>,
    },
}

impl Registry {
    pub(crate) async fn prepare_resume(
        &self,
        arguments: Value,
        principal: &Principal,
        hold: &CallHandle,
    ) -> Result<Resumption, ToolError> {
        let resume: ResumeArguments = serde_path_to_error::deserialize(arguments)
            .map_err(|error| ToolError::Invalid(vec![ArgumentIssue::unreadable(&error)]))?;
        let id = SuspensionId::from(resume.id.as_str());
        loop {
            let suspended = self.find_suspended(&id, principal).await?;
            if let Some(outcome) = suspended.outcome {
                if suspended.failed {
                    return Err(background::decode_failure(&outcome));
                }
                return Ok(Resumption::Ended(outcome));
            }
            if self.is_running(&suspended) || self.background_calls.contains(&id) {
                self.check_replies(&resume.replies, &[])?;
                hold.set_waiting_for(&id).await;
                self.background_calls.wait_for(&id).await;
                continue;
            }
            let keys: Vec<String> = serde_json::from_value(suspended.asks.clone())
                .map_err(|error| corrupt_journal(&error))?;
            self.check_replies(&resume.replies, &keys)?;
            // A call without open requests was run by a worker that did not end it.
            if keys.is_empty() && !self.registered_tool(&suspended.tool_name)?.is_replayable() {
                self.mark_lost(&suspended).await?;
                continue;
            }
            if keys.is_empty() && !self.take_over(&suspended, hold).await? {
                continue;
            }
            let journal = extend_journal(&suspended, keys, &resume.replies)?;
            return Ok(Resumption::Continue {
                suspended: Box::new(suspended),
                journal,
            });
        }
    }

    /// Returns the call if the principal owns it, it has not expired, and the principal may make
    /// it.
    pub(crate) async fn find_suspended(
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

    /// Tells whether a worker has a valid lease.
    pub(crate) fn is_running(&self, suspended: &SuspendedCall) -> bool {
        let now = self.deps.clock.now();
        suspended.running_until.is_some_and(|until| until > now)
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
    pub(crate) fn suspension_expiry(&self, now: Timestamp) -> Timestamp {
        let time = i64::try_from(self.deps.limits.suspension_time.as_micros()).unwrap_or(i64::MAX);
        now.plus_micros(time)
    }

    /// Returns the prompts for the client and the record to store for a call that waits for
    /// replies. There is nothing to store if it waits for the same replies as before.
    pub(crate) fn suspend(
        &self,
        run: &ToolRun<'_>,
        earlier: Option<StoredCall>,
        owner: Option<String>,
        call: &ToolContext,
    ) -> Result<(NeedsReply, Option<SuspendedCall>), ToolError> {
        let (pending, mut journal) = call.pending_requests().ok_or(ToolError::Internal)?;
        journal.called_with.clone_from(&run.called_with);
        let mut asks: Vec<ClientPrompt> = pending.into_iter().map(Into::into).collect();
        if asks.is_empty() {
            return Err(ToolError::Internal);
        }
        let now = self.deps.clock.now();
        let keys: Vec<&str> = asks.iter().map(|ask| ask.key.as_str()).collect();
        let (journal, keys) = (json!(journal), json!(keys));
        // No worker has a lease. The time identifies a further round: a worker that still runs an
        // earlier round has read another time, and can't commit its result.
        let round = earlier.as_ref().map(|_| now);
        let (id, created_at, changed) = match earlier {
            Some(earlier) => {
                let waited_for = earlier.pending.as_ref();
                let same = waited_for == Some(&(journal.clone(), keys.clone()));
                (earlier.id, earlier.started_at, !same)
            }
            None => (SuspensionId::from(self.deps.ids.new_id()), now, true),
        };
        // A client that fetches the same prompts again may have lost them.
        if changed {
            call.shorten_known_instructions(&mut asks);
        }
        let suspension = SuspendedCall {
            id: id.clone(),
            tool_name: run.entry.meta.name.to_owned(),
            arguments: run.arguments.clone(),
            journal,
            asks: keys,
            created_at,
            expires_at: self.suspension_expiry(now),
            owner,
            running_until: round,
            outcome: None,
            failed: false,
        };
        let needs = NeedsReply {
            next: format!(
                "{}, so you think: work out each ask, then call {RESUME_TOOL} with this id and your \
                 replies in order.{}",
                why_client_replies(call),
                if run.entry.takes_reply() {
                    REPLY_HINT
                } else {
                    ""
                },
            ),
            id: id.to_string(),
            asks,
        };
        Ok((needs, changed.then_some(suspension)))
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

/// Adds the replies to the journal in the order of their requests. The result is `None` if the call
/// never waited for a client, so that it uses a model again.
fn extend_journal(
    suspended: &SuspendedCall,
    keys: Vec<String>,
    replies: &[Value],
) -> Result<Option<Journal>, ToolError> {
    let mut journal: Journal = serde_json::from_value(suspended.journal.clone())
        .map_err(|error| corrupt_journal(&error))?;
    if keys.is_empty() && journal.is_empty() {
        return Ok(None);
    }
    for (key, reply) in keys.into_iter().zip(replies) {
        journal.replies.insert(key, reply_text(reply).into_owned());
    }
    Ok(Some(journal))
}
