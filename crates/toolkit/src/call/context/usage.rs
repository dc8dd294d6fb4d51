//! Adds up the cost of a call's model requests and records each in its trace span. The module does
//! not know calls.

use deliberate_core::{ModelUsage, truncate_chars};
use deliberate_llm::{ModelError, ModelReply, StructuredError, StructuredOutput};
use serde_json::Value;
use tracing::{Span, field::Empty};

use crate::{MODEL_SPAN, RAW_RESULT};

/// The field of an answer with the model that thought.
pub(crate) const MODEL_FIELD: &str = "model";

/// The field of an answer with what a reader should know about it.
const NOTE_FIELD: &str = "note";

/// The note of an answer that the token limit ended.
const CUT_NOTE: &str = "the model was stopped by its length limit, so its text is incomplete";

/// The longest name of a model in an answer.
const MAX_MODEL_CHARS: usize = 200;

/// The cost of a call's model requests so far, and the provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UsageTally {
    pub(crate) pipe: Option<String>,
    /// The model that gave the last answer, or its provider if the model is not known.
    pub(crate) thinker: Option<String>,
    pub(crate) usage: ModelUsage,
    /// Whether the token limit ended an answer before the model had finished it.
    pub(crate) has_cut_answer: bool,
}

impl UsageTally {
    /// Adds the cost of replies.
    pub(crate) fn add(&mut self, thinker: &str, replies: &[ModelReply]) {
        for reply in replies {
            let pipe = reply.pipe.clone().unwrap_or_else(|| thinker.to_owned());
            self.thinker = Some(reply.model.clone().unwrap_or_else(|| pipe.clone()));
            self.pipe = Some(pipe);
            add_reply(&mut self.usage, reply);
        }
    }

    /// Adds the model that thought to the answer of a call, unless no model replied or the answer
    /// has such a field or is the result of an upstream server.
    pub(crate) fn add_model(&self, output: &mut Value) {
        if let (Value::Object(fields), Some(model)) = (output, &self.thinker)
            && !fields.contains_key(RAW_RESULT)
        {
            let model = truncate_chars(model, MAX_MODEL_CHARS);
            fields.entry(MODEL_FIELD).or_insert_with(|| model.into());
        }
    }

    /// Adds a note to the answer of a call if the token limit ended what a model wrote for it.
    pub(crate) fn add_cut_note(&self, output: &mut Value) {
        let Value::Object(fields) = output else {
            return;
        };
        if !self.has_cut_answer || fields.contains_key(RAW_RESULT) {
            return;
        }
        let note = match fields.get(NOTE_FIELD).and_then(Value::as_str) {
            Some(note) => format!("{note}; {CUT_NOTE}"),
            None => CUT_NOTE.to_owned(),
        };
        fields.insert(NOTE_FIELD.to_owned(), note.into());
    }

    /// Counts a request without a reply. Three errors are not counted: after one of them a
    /// reply came, and with the others no request was sent.
    pub(crate) fn add_unanswered(&mut self, thinker: &str, error: &ModelError) {
        if matches!(
            error,
            ModelError::InvalidResponse { .. }
                | ModelError::BudgetExhausted { .. }
                | ModelError::Pending
        ) {
            return;
        }
        self.pipe.get_or_insert_with(|| thinker.to_owned());
        self.usage.model_calls += 1;
    }
}

/// Returns the total cost of replies.
pub(crate) fn total_usage(replies: &[ModelReply]) -> ModelUsage {
    let mut spent = ModelUsage::default();
    for reply in replies {
        add_reply(&mut spent, reply);
    }
    spent
}

/// Creates the span of a model request. It costs nothing unless traces are collected, and has no
/// content.
pub(crate) fn model_span(provider: &str) -> Span {
    tracing::info_span!(
        target: MODEL_SPAN,
        "chat",
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
    )
}

/// Records the result of a model request in its span.
pub(crate) fn record_answer<T>(span: &Span, answer: &Result<StructuredOutput<T>, StructuredError>) {
    if span.is_disabled() {
        return;
    }
    let replies = match answer {
        Ok(answer) => &answer.replies,
        Err(failed) => {
            span.record("error.type", failed.error.code());
            &failed.replies
        }
    };
    let spent = total_usage(replies);
    if let Some(model) = &spent.model {
        span.record("gen_ai.response.model", model.as_str());
    }
    if spent.model_calls > 0 {
        span.record("gen_ai.usage.input_tokens", spent.prompt_tokens);
        span.record("gen_ai.usage.output_tokens", spent.completion_tokens);
    }
}

fn add_reply(spent: &mut ModelUsage, reply: &ModelReply) {
    spent.model = reply.model.clone().or_else(|| spent.model.take());
    spent.model_calls += 1;
    spent.prompt_tokens += saturating_i64(reply.usage.prompt_tokens);
    spent.completion_tokens += saturating_i64(reply.usage.completion_tokens);
    if let Some(cost) = reply.usage.cost_usd {
        spent.cost_usd = Some(spent.cost_usd.unwrap_or(0.0) + cost);
    }
}

fn saturating_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_model_is_added_to_objects_that_do_not_name_one() {
        let mut tally = UsageTally::default();
        let add = |tally: &UsageTally, mut output: Value| {
            tally.add_model(&mut output);
            output
        };
        assert_eq!(add(&tally, json!({ "a": 1 })), json!({ "a": 1 }));
        tally.add_unanswered(
            "cloud",
            &ModelError::Timeout {
                provider: "cloud".to_owned(),
                after: std::time::Duration::ZERO,
            },
        );
        assert_eq!(add(&tally, json!({})), json!({}), "nobody answered");
        tally.add("cloud", &[ModelReply::default()]);
        for (output, wanted) in [
            (json!({ "a": 1 }), json!({ "a": 1, "model": "cloud" })),
            (json!({ "model": "mine" }), json!({ "model": "mine" })),
            (json!({ RAW_RESULT: {} }), json!({ RAW_RESULT: {} })),
            (json!("text"), json!("text")),
        ] {
            assert_eq!(add(&tally, output), wanted);
        }
    }
}
