//! Vendors whose endpoints speak the `OpenAI` chat completions format, as data. Which vendors there
//! are is in `providers/table.rs`.

use serde::Deserialize;

/// A vendor with an OpenAI-compatible endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// Name in settings, logs and the invocation log; that of its file in `endpoints/`.
    #[serde(skip)]
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Usual base URL, without `/chat/completions`.
    pub base_url: String,
    /// Environment variable that usually holds the API key. Local servers need no key.
    pub key_env: Option<String>,
    /// Model to use if none is set. Local servers are asked for the models they have.
    pub default_model: Option<String>,
    /// How the endpoint is asked for JSON.
    pub json: JsonMode,
    /// Whether it runs on this machine.
    pub local: bool,
    /// Whether discovery looks for it on this machine.
    #[serde(default)]
    pub discover: bool,
    /// Name of the request field that limits the tokens of the reply.
    #[serde(default)]
    pub max_tokens: TokenLimit,
}

/// How an endpoint is asked for JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonMode {
    /// With the JSON Schema of the answer.
    #[default]
    Schema,
    /// With `json_object`, which asks for any object.
    Object,
    /// Only in the prompt.
    None,
}

/// Name of the request field that limits the tokens of the reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenLimit {
    /// `max_tokens`, which nearly all vendors use.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which `OpenAI` uses now.
    MaxCompletionTokens,
}

impl Vendor {
    /// Parses the file of the vendor called `name`.
    pub(crate) fn parse(name: &str, file: &str) -> Result<Self, toml::de::Error> {
        let vendor: Self = toml::from_str(file)?;
        Ok(Self {
            name: name.to_owned(),
            ..vendor
        })
    }
}
