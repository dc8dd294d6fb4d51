//! Replies that a caller brings with the arguments of a call, so that no model is asked.

use std::{collections::BTreeMap, sync::PoisonError};

use deliberate_llm::{ClientDriven, ModelError, ModelRequest, ask_structured};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::model::CallModel;
use crate::{
    ArgumentIssue, ModelAnswer, REPLY_FIELD, ToolContext, ToolError, call::suspend::reply_text,
};

impl ToolContext {
    /// Stores the reply that the caller brought.
    pub(crate) fn set_reply(&self, reply: Option<Value>) -> Result<(), ToolError> {
        let Some(reply) = reply else { return Ok(()) };
        self.check_content(REPLY_FIELD, &reply_text(&reply))?;
        let supplied = self.shared.supplied_replies.lock();
        let mut supplied = supplied.unwrap_or_else(PoisonError::into_inner);
        supplied.insert(self.prefix.clone(), reply);
        Ok(())
    }

    /// Takes the reply that the caller brought, if it is not used yet.
    pub fn take_reply(&self) -> Option<Value> {
        let supplied = self.shared.supplied_replies.lock();
        let mut supplied = supplied.unwrap_or_else(PoisonError::into_inner);
        supplied.remove(&self.prefix)
    }

    /// Tells whether the caller brought a reply that is not used yet.
    pub fn has_reply(&self) -> bool {
        let supplied = self.shared.supplied_replies.lock();
        let supplied = supplied.unwrap_or_else(PoisonError::into_inner);
        supplied.contains_key(&self.prefix)
    }

    /// Tells whether the caller's own model has written all answers of this call, between calls, and
    /// the feature that presents the call leaves them out.
    pub(crate) fn is_answered_by_caller(&self) -> bool {
        let env = &self.shared.env;
        let presenter = env.tools.presenter.as_ref();
        let is_presented = presenter.is_some_and(|it| it.presents(env.tool));
        let replied = match self.shared.model.get() {
            Some(CallModel::Client(client)) => {
                !client.replies().is_empty() || self.has_known_answers()
            }
            _ => false,
        };
        let is_in_conversation = !env.caller.prompts_leave_conversation;
        is_presented && replied && self.prefix.is_empty() && is_in_conversation
    }

    /// Reads a reply that the caller brought as the answer to `ask`. No model is asked: what the
    /// reply lacks is an error about the argument.
    pub async fn read_reply<T: DeserializeOwned>(
        &self,
        ask: ModelRequest,
        reply: Value,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<ModelAnswer<T>, ToolError> {
        let text = reply_text(&reply).into_owned();
        let fields = field_names(&ask);
        let takes_text = from_plain.is_some();
        let replies = BTreeMap::from([(ask.key.clone(), text)]);
        let model = ClientDriven::new(replies);
        // A list or a number is no text.
        let from_plain = from_plain.filter(|_| reply.is_string());
        let failed = match ask_structured(&model, ask, from_plain, self.shared.deadline).await {
            Ok(answer) => {
                return Ok(ModelAnswer {
                    value: answer.value,
                    thread: None,
                    usage: deliberate_core::ModelUsage::default(),
                });
            }
            Err(failed) => failed.error,
        };
        let mut rule = if takes_text {
            format!("must be the text of the thought, or an object with {fields}")
        } else {
            format!("must be an object with {fields}")
        };
        if let ModelError::InvalidResponse { reason, .. } = failed {
            rule = format!("{rule}; {reason}");
        }
        let issue = ArgumentIssue::new(REPLY_FIELD, rule).with_value(&reply);
        Err(ToolError::Invalid(vec![issue]))
    }
}

/// The fields of the answer that a request asks for, in words.
fn field_names(ask: &ModelRequest) -> String {
    let properties = ask.schema.get("properties").and_then(Value::as_object);
    let text = ask.text_field.as_deref();
    let names = text.into_iter().chain(
        properties
            .into_iter()
            .flat_map(|known| known.keys().map(String::as_str)),
    );
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
