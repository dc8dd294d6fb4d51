//! Capabilities of an OpenAI-compatible endpoint, learned from its refusals.
//!
//! Endpoints differ in what they accept, by model and by version, and no table stays correct. If a
//! refusal names a field, the field is omitted or sent in another form from then on in this
//! process.

use serde_json::{Map, Value, json};

use crate::{JsonMode, ModelRequest, TokenLimit};

/// The form of requests that an endpoint accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate field that is sent or omitted"
)]
pub(crate) struct EndpointCapabilities {
    pub(crate) json: JsonMode,
    pub(crate) token_limit: TokenLimit,
    /// Whether the temperature is sent; reasoning models accept none.
    pub(crate) temperature: bool,
    /// Whether tools are sent natively.
    pub(crate) tools: bool,
    /// Whether `tool_choice` is sent.
    pub(crate) tool_choice: bool,
    /// Whether `parallel_tool_calls` is sent.
    pub(crate) parallel_tool_calls: bool,
    /// Whether a stream is asked to end with its usage.
    pub(crate) stream_usage: bool,
}

/// Properties of one request beyond its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestShape {
    /// Whether tools are sent natively.
    pub(crate) native_tools: bool,
    /// Whether the answer is requested as a stream.
    pub(crate) streaming: bool,
    /// The tokens that are added to the limit of the answer, for the model's reasoning.
    pub(crate) reasoning_room: u32,
}

impl EndpointCapabilities {
    /// Maximum number of downgrades: schema to object to none; the name of the token limit; the
    /// temperature; the tools, and one request with the tools in the prompt; the options of tool
    /// calls; the usage of a stream.
    pub(crate) const MAX_DOWNGRADES: usize = 9;

    /// Returns the capabilities assumed for an unknown endpoint.
    pub(crate) fn assume_all(json: JsonMode, token_limit: TokenLimit) -> Self {
        Self {
            json,
            token_limit,
            temperature: true,
            tools: true,
            tool_choice: true,
            parallel_tool_calls: true,
            stream_usage: true,
        }
    }

    /// Returns whether the request's tools can be sent natively.
    pub(crate) fn supports_request_tools(self, ask: &ModelRequest) -> bool {
        !ask.functions.is_empty() && self.tools && (self.tool_choice || !ask.answer_now)
    }

    /// Returns the next simpler form if the refusal concerns something that has one.
    pub(crate) fn downgrade(self, status: u16, refusal: &str, shape: RequestShape) -> Option<Self> {
        if status != 400 && status != 422 {
            return None;
        }
        let refusal = refusal.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| refusal.contains(word));
        if names(&["max_completion_tokens"]) && self.token_limit == TokenLimit::MaxTokens {
            return Some(Self {
                token_limit: TokenLimit::MaxCompletionTokens,
                ..self
            });
        }
        if names(&["max_completion_tokens"]) {
            return Some(Self {
                token_limit: TokenLimit::MaxTokens,
                ..self
            });
        }
        if shape.streaming && self.stream_usage && names(&["stream_options", "include_usage"]) {
            return Some(Self {
                stream_usage: false,
                ..self
            });
        }
        if shape.native_tools && self.parallel_tool_calls && names(&["parallel_tool_calls"]) {
            return Some(Self {
                parallel_tool_calls: false,
                ..self
            });
        }
        if shape.native_tools && self.tool_choice && names(&["tool_choice"]) {
            return Some(Self {
                tool_choice: false,
                ..self
            });
        }
        let about_json = !shape.native_tools
            && names(&[
                "response_format",
                "json_schema",
                "json_object",
                "json mode",
                "json schema",
                "structured output",
                "grammar",
            ]);
        if about_json {
            let json = match self.json {
                JsonMode::Schema => JsonMode::Object,
                JsonMode::Object => JsonMode::None,
                JsonMode::None => return None,
            };
            return Some(Self { json, ..self });
        }
        (self.temperature && names(&["temperature"])).then_some(Self {
            temperature: false,
            ..self
        })
    }

    /// Adds the fields that depend on the capabilities to a request.
    pub(crate) fn apply(
        self,
        ask: &ModelRequest,
        shape: RequestShape,
        body: &mut Map<String, Value>,
    ) {
        let name = match self.token_limit {
            TokenLimit::MaxTokens => "max_tokens",
            TokenLimit::MaxCompletionTokens => "max_completion_tokens",
        };
        let limit = ask.max_tokens.saturating_add(shape.reasoning_room);
        body.insert(name.to_owned(), json!(limit));
        if self.temperature {
            body.insert("temperature".to_owned(), json!(ask.temperature));
        }
        if shape.streaming && self.stream_usage {
            body.insert(
                "stream_options".to_owned(),
                json!({ "include_usage": true }),
            );
        }
        // Many endpoints accept either tools or a response format, not both.
        if shape.native_tools {
            self.apply_tools(ask, body);
            return;
        }
        if ask.schema.is_null() {
            return;
        }
        let format = match self.json {
            // Not strict: strict mode requires every field and forbids unknown ones, which excludes
            // optional fields. The answer is validated here anyway.
            JsonMode::Schema => json!({
                "type": "json_schema",
                "json_schema": {
                    "name": schema_name(ask.purpose.as_str()),
                    "schema": ask.schema,
                    "strict": false,
                },
            }),
            JsonMode::Object => json!({"type": "json_object"}),
            JsonMode::None => return,
        };
        body.insert("response_format".to_owned(), format);
    }

    fn apply_tools(self, ask: &ModelRequest, body: &mut Map<String, Value>) {
        body.insert(
            "tools".to_owned(),
            crate::providers::chat_tool_calls::tools_json(ask),
        );
        if self.tool_choice {
            let choice = if ask.answer_now { "none" } else { "auto" };
            body.insert("tool_choice".to_owned(), json!(choice));
        }
        if self.parallel_tool_calls && !ask.answer_now {
            body.insert("parallel_tool_calls".to_owned(), json!(true));
        }
    }
}

/// Returns a name in the allowed form: letters, digits, `_` and `-`, at most 64.
fn schema_name(purpose: &str) -> String {
    let name: String = purpose
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .take(64)
        .collect();
    if name.is_empty() {
        "answer".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: EndpointCapabilities = EndpointCapabilities {
        json: JsonMode::Schema,
        token_limit: TokenLimit::MaxTokens,
        temperature: true,
        tools: true,
        tool_choice: true,
        parallel_tool_calls: true,
        stream_usage: true,
    };

    const PLAIN: RequestShape = RequestShape {
        native_tools: false,
        streaming: false,
        reasoning_room: 0,
    };

    #[test]
    fn a_refusal_is_taken_at_its_word() {
        let object = EndpointCapabilities {
            json: JsonMode::Object,
            ..FULL
        };
        let none = EndpointCapabilities {
            json: JsonMode::None,
            ..FULL
        };
        let about_format = "'response_format.type' must be text";
        assert_eq!(FULL.downgrade(400, about_format, PLAIN), Some(object));
        assert_eq!(
            object.downgrade(422, "json_object is not supported", PLAIN),
            Some(none)
        );
        assert_eq!(none.downgrade(400, about_format, PLAIN), None);
        assert_eq!(FULL.downgrade(401, about_format, PLAIN), None);
        assert_eq!(FULL.downgrade(400, "the model does not exist", PLAIN), None);
        let limit = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
        assert_eq!(
            FULL.downgrade(400, limit, PLAIN)
                .map(|dialect| dialect.token_limit),
            Some(TokenLimit::MaxCompletionTokens)
        );
        let cold = FULL
            .downgrade(400, "Unsupported value: 'temperature' must be 1", PLAIN)
            .unwrap();
        assert!(!cold.temperature);
        assert_eq!(cold.downgrade(400, "temperature", PLAIN), None);
    }

    #[test]
    fn names_of_schemas_are_plain() {
        assert_eq!(schema_name("got_score"), "got_score");
        assert_eq!(schema_name("größe 1"), "gr__e_1");
        assert_eq!(schema_name(""), "answer");
    }
}
