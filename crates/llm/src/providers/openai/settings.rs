//! Settings of an OpenAI-compatible endpoint.

use secrecy::SecretString;

use crate::{HttpSettings, JsonMode, TokenLimit, TokenPrices, vendors::Vendor};

/// Settings of an OpenAI-compatible endpoint.
#[derive(Debug, Clone)]
pub struct OpenAiSettings {
    /// Name for logs and the invocation log: the vendor's, or `openai-compatible`.
    pub name: String,
    /// Base URL, without `/chat/completions`.
    pub base_url: String,
    /// API key; without one no `Authorization` header is sent.
    pub api_key: Option<SecretString>,
    /// Model name; without one the endpoint's first model is used.
    pub model: Option<String>,
    /// How JSON is requested at first.
    pub json: JsonMode,
    /// Name of the token-limit field at first.
    pub max_tokens: TokenLimit,
    /// Timeouts, retries and rate limits.
    pub http: HttpSettings,
    /// Token prices, used if the endpoint reports no cost.
    pub prices: Option<TokenPrices>,
}

impl OpenAiSettings {
    /// Returns the settings of a known vendor.
    pub fn for_vendor(vendor: &Vendor, api_key: Option<SecretString>) -> Self {
        Self {
            name: vendor.name.clone(),
            base_url: vendor.base_url.clone(),
            api_key,
            model: vendor.default_model.clone(),
            json: vendor.json,
            max_tokens: vendor.max_tokens,
            http: HttpSettings::default(),
            prices: None,
        }
    }

    /// Returns the settings of an endpoint of which only the URL is known.
    pub fn for_url(base_url: impl Into<String>) -> Self {
        Self {
            name: "openai-compatible".to_owned(),
            base_url: base_url.into(),
            api_key: None,
            model: None,
            json: JsonMode::default(),
            max_tokens: TokenLimit::default(),
            http: HttpSettings::default(),
            prices: None,
        }
    }
}
