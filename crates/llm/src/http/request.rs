//! Requests to providers and their responses.

use bytes::Bytes;
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{HttpSettings, RateHeaders};
use crate::ModelError;

/// Authentication at a provider.
#[derive(Debug)]
pub(crate) enum ProviderAuth {
    None,
    /// Sends `Authorization: Bearer …`.
    Bearer(SecretString),
    /// Sends the key in the provider's own header.
    Header(&'static str, SecretString),
}

/// Address, authentication and headers of a provider.
#[derive(Debug)]
pub(crate) struct ProviderEndpoint {
    pub(crate) provider: String,
    pub(crate) base_url: String,
    pub(crate) auth: ProviderAuth,
    /// Headers of every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) rate_headers: RateHeaders,
    pub(crate) settings: HttpSettings,
}

/// A request; its path is relative to the base URL.
#[derive(Debug)]
pub(crate) struct ProviderRequest {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) body: Option<Vec<u8>>,
    /// Returns which failures (status and body) are refusals, so that a retry is useless.
    refusals: fn(u16, &str) -> bool,
}

impl ProviderRequest {
    pub(crate) fn get(path: &'static str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: None,
            refusals: |_, _| false,
        }
    }

    pub(crate) fn post(path: &'static str, body: &Value) -> Self {
        Self {
            method: Method::POST,
            path,
            body: Some(body.to_string().into_bytes()),
            refusals: |_, _| false,
        }
    }

    /// Sets which failures are refusals; these are returned to the caller instead of being retried.
    pub(crate) fn with_refusal_check(self, refusals: fn(u16, &str) -> bool) -> Self {
        Self { refusals, ..self }
    }

    pub(super) fn is_refused(&self, status: u16, body: &[u8]) -> bool {
        (self.refusals)(status, &String::from_utf8_lossy(body))
    }
}

/// A response that a retry would not change: a success or a refusal.
#[derive(Debug)]
pub(crate) struct ProviderResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl ProviderResponse {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the body as text, for searching in it.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl ProviderEndpoint {
    /// Returns the headers of every request, including the key.
    pub(super) fn header_map(&self) -> Result<HeaderMap, ModelError> {
        let wrong = |reason: &str| ModelError::Misconfigured {
            provider: self.provider.clone(),
            reason: reason.to_owned(),
        };
        let mut headers: HeaderMap = self
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        let (name, prefix, key) = match &self.auth {
            ProviderAuth::None => return Ok(headers),
            ProviderAuth::Bearer(key) => ("authorization", "Bearer ", key),
            ProviderAuth::Header(name, key) => (*name, "", key),
        };
        let key = key.expose_secret().trim();
        if key.is_empty() {
            return Err(wrong("the API key is empty"));
        }
        let mut value = HeaderValue::from_str(&format!("{prefix}{key}"))
            .map_err(|_| wrong("the API key contains characters that cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
        Ok(headers)
    }
}
