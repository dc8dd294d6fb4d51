//! Calls that wait for their client's model.
//!
//! A call that finds no model to ask is suspended: its arguments and the replies so far are
//! kept in the store, the client is told what to think about, and `reasoning_resume` brings the
//! replies. The call is then run again from its start, each of its asks answered from the
//! replies; it may be suspended again. A call that has ended gives the same answer to everyone
//! who resumes it again.

use deliberate_core::{Suspension, SuspensionId};
use deliberate_store::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    About, Annotations, AskForClient, Call, Issue, Kind, Limits, NeedsReply, Registry, ToolError,
    call::Journal, registry::Entry, schema,
};

/// The tool that brings replies.
pub const RESUME: &str = "reasoning_resume";

/// The arguments of [`RESUME`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resume {
    /// The id in `needs_reply`
    #[schemars(length(min = 1))]
    id: String,
    /// One reply per ask, in their order: an object that fits the ask's schema
    #[schemars(length(min = 1))]
    replies: Vec<Value>,
}

pub(crate) fn input_schema() -> Value {
    schema::of_input::<Resume>()
}

/// What the suspended tool answers, whichever that is.
pub(crate) fn output_schema() -> Value {
    json!({ "type": "object" })
}

impl Resume {
    pub(crate) fn about() -> About {
        About {
            name: RESUME,
            title: "Resume a suspended call",
            description: "Continues a call that answered needs_reply: think about each ask, then \
                          pass its id and your replies. Gives that call's answer.",
            annotations: Annotations::MARKS,
            thinks: true,
            limits: Limits::default(),
        }
    }
}

/// What resuming comes to.
pub(crate) enum Resumption {
    /// The call had ended with this.
    Ended(Value),
    /// The call goes on with these replies.
    Goes {
        suspended: Box<Suspension>,
        journal: Journal,
    },
}

impl Registry {
    pub(crate) async fn resumption(&self, arguments: Value) -> Result<Resumption, ToolError> {
        let resume: Resume = serde_json::from_value(arguments)
            .map_err(|error| ToolError::Invalid(vec![Issue::unreadable(&error)]))?;
        let id = SuspensionId::from(resume.id);
        let suspended = self.parts.store.suspension(&id).await?;
        let Some(suspended) = suspended.filter(|it| it.expires_at > self.parts.clock.now()) else {
            return Err(ToolError::NotFound {
                what: Kind::Suspension,
                id: deliberate_core::cut_to_chars(id.as_str(), 80),
            });
        };
        if let Some(outcome) = suspended.outcome {
            return Ok(Resumption::Ended(outcome));
        }
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            what: "a suspended call".to_owned(),
            reason: error.to_string(),
        };
        let mut journal: Journal =
            serde_json::from_value(suspended.journal.clone()).map_err(damaged)?;
        let keys: Vec<String> = serde_json::from_value(suspended.asks.clone()).map_err(damaged)?;
        if resume.replies.len() > keys.len() {
            let rule = format!("must have at most {} item(s), one for each ask", keys.len());
            let issue = Issue::new("replies", rule).given(&json!(resume.replies.len()));
            return Err(ToolError::Invalid(vec![issue]));
        }
        for (key, reply) in keys.into_iter().zip(resume.replies) {
            let text = match reply {
                Value::String(text) => text,
                reply => reply.to_string(),
            };
            let limit = self.parts.bounds.content_chars;
            if text.len() > limit && text.chars().count() > limit {
                let rule = format!("must have at most {limit} characters each");
                return Err(ToolError::Invalid(vec![Issue::new("replies", rule)]));
            }
            journal.replies.insert(key, text);
        }
        Ok(Resumption::Goes {
            suspended: Box::new(suspended),
            journal,
        })
    }

    /// What to tell the client, and what to keep, of a call that waits for replies.
    pub(crate) fn suspend(
        &self,
        entry: &Entry,
        arguments: Value,
        earlier: Option<Box<Suspension>>,
        call: &Call,
    ) -> Result<(NeedsReply, Suspension), ToolError> {
        let (pending, journal) = call.waits_for().ok_or(ToolError::Internal)?;
        let asks: Vec<AskForClient> = pending.into_iter().map(Into::into).collect();
        if asks.is_empty() {
            return Err(ToolError::Internal);
        }
        let now = self.parts.clock.now();
        let time = i64::try_from(self.parts.bounds.suspension_time.as_micros()).unwrap_or(i64::MAX);
        let keys: Vec<&str> = asks.iter().map(|ask| ask.key.as_str()).collect();
        let (id, created_at) = match earlier {
            Some(earlier) => (earlier.id, earlier.created_at),
            None => (SuspensionId::from(self.parts.ids.fresh()), now),
        };
        let suspension = Suspension {
            id: id.clone(),
            tool_name: entry.about.name.to_owned(),
            arguments,
            journal: json!(journal),
            asks: json!(keys),
            created_at,
            expires_at: now.plus_micros(time),
            outcome: None,
        };
        let needs = NeedsReply {
            next: format!(
                "No model is set up here, so you think: answer each ask with one JSON object that \
                 fits its schema, then call {RESUME} with this id and your replies in order."
            ),
            id: id.to_string(),
            asks,
        };
        Ok((needs, suspension))
    }
}
