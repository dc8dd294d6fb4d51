//! The client for one source's API: base address, rate limit, API key, and responses parsed as JSON
//! or XML. It must not know any source by name.

use std::time::Duration;

use deliberate_core::first_chars;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::{
    json,
    xml::{self, XmlElement},
};
use crate::{
    http::{FetchRequest, FetchResponse, HttpClient, HttpClientError, SourceRateLimit},
    prompt_fence::strip_markup_chars,
    sources::SourceSettings,
};

/// The wait when a response reports a rate limit without saying for how long.
const DEFAULT_RETRY_WAIT: Duration = Duration::from_secs(10);

/// The most papers one search returns.
pub(crate) const MAX_RESULTS: usize = 500;

/// The part of a request that carries the API key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ApiKeyLocation {
    /// A header, by its name and the prefix of its value.
    Header(&'static str, &'static str),
    /// A query parameter.
    Query(&'static str),
}

/// A client for the API of one source.
#[derive(Clone)]
pub(crate) struct SourceApiClient {
    http_client: HttpClient,
    settings: SourceSettings,
    base_url: Option<Url>,
    rate_limit: SourceRateLimit,
    accept: &'static str,
    throttle_statuses: &'static [u16],
    key: Option<(ApiKeyLocation, SecretString)>,
    contact: Option<(&'static str, SecretString)>,
}

/// A parsed response with the request it answers.
pub(crate) struct ApiResponse<T> {
    pub(crate) body: T,
    pub(crate) from_cache: bool,
    pub(crate) request: FetchRequest,
}

impl SourceApiClient {
    /// Creates a client for the address in the settings, or else for the default address.
    pub(crate) fn new(
        http_client: HttpClient,
        settings: SourceSettings,
        usual: &str,
        rate_limit: SourceRateLimit,
    ) -> Self {
        Self {
            http_client,
            base_url: settings.base_url.clone().or_else(|| Url::parse(usual).ok()),
            settings,
            rate_limit,
            accept: "application/json",
            throttle_statuses: &[],
            key: None,
            contact: None,
        }
    }

    /// Requests XML, and treats these statuses as a rate limit.
    pub(crate) fn for_xml(mut self, throttled: &'static [u16]) -> Self {
        self.accept = "application/atom+xml, application/xml, text/xml;q=0.9, */*;q=0.1";
        self.throttle_statuses = throttled;
        self
    }

    /// Sends the API key of the settings, if there is one.
    pub(crate) fn with_key(mut self, place: ApiKeyLocation) -> Self {
        self.key = self.settings.key.clone().map(|it| (place, it));
        self
    }

    /// Sends the contact address of the settings, if there is one.
    pub(crate) fn with_contact(mut self, name: &'static str) -> Self {
        let contact = self.settings.contact.clone();
        self.contact = contact.map(|it| (name, SecretString::from(it)));
        self
    }

    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Sends a request and parses the response as JSON.
    pub(crate) async fn get_json(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<ApiResponse<Value>, HttpClientError> {
        self.get(path, query, parse_json).await
    }

    /// Sends a request and parses the response as XML.
    pub(crate) async fn get_xml(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<ApiResponse<XmlElement>, HttpClientError> {
        self.get(path, query, parse_xml).await
    }

    async fn get<T>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        read: fn(&FetchResponse) -> Result<T, HttpClientError>,
    ) -> Result<ApiResponse<T>, HttpClientError> {
        let request = self.build_request(path, query)?;
        let mut reply = self.http_client.get(request.clone()).await?;
        let mut read_so = read(&reply);
        // An unreadable response must not stay in the cache. If this one came from the cache, the
        // source may answer properly now.
        if read_so.is_err() && reply.from_cache {
            self.http_client.forget_response(&request).await;
            reply = self.http_client.get(request.clone()).await?;
            read_so = read(&reply);
        }
        if read_so.is_err() {
            self.http_client.forget_response(&request).await;
        }
        Ok(ApiResponse {
            body: read_so?,
            from_cache: reply.from_cache,
            request,
        })
    }

    /// The error for a JSON response without the expected content: the source's own message or else
    /// `reason`. The response is removed from the cache.
    pub(crate) async fn response_error(
        &self,
        response: &ApiResponse<Value>,
        reason: &str,
    ) -> HttpClientError {
        self.discard_responses(&[&response.request], &response.body, reason)
            .await
    }

    /// The error for unusable responses. They are removed from the cache.
    pub(crate) async fn discard_responses(
        &self,
        requests: &[&FetchRequest],
        answer: &Value,
        reason: &str,
    ) -> HttpClientError {
        for request in requests {
            self.http_client.forget_response(request).await;
        }
        self.unreadable_error(answer, reason)
    }

    fn build_request(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<FetchRequest, HttpClientError> {
        let local = |reason: &str| HttpClientError::Local {
            what: "building a URL",
            reason: reason.to_owned(),
        };
        let mut url = self
            .base_url
            .clone()
            .ok_or_else(|| local("the base address is missing"))?;
        // URL normalization would drop these segments, and the URL would name another paper.
        if path.iter().any(|it| matches!(*it, "." | "..")) {
            let address = url.to_string();
            return Err(HttpClientError::NotFound { url: address });
        }
        url.path_segments_mut()
            .map_err(|()| local("the base address can't have a path"))?
            .pop_if_empty()
            .extend(path);
        for (name, value) in query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let mut request = FetchRequest::new(url, self.rate_limit.clone());
        request.accept = self.accept;
        request.cache_ttl = self.settings.cache_ttl;
        request.throttle_statuses = self.throttle_statuses;
        request.max_bytes = 32 * 1024 * 1024;
        request.secret_query.extend(self.contact.clone());
        match self.key.clone() {
            Some((ApiKeyLocation::Header(name, prefix), key)) => {
                let value = secrecy::ExposeSecret::expose_secret(&key);
                let value = SecretString::from(format!("{prefix}{value}"));
                request.secret_headers.push((name, value));
            }
            Some((ApiKeyLocation::Query(name), key)) => request.secret_query.push((name, key)),
            None => {}
        }
        Ok(request)
    }

    fn unreadable_error(&self, value: &Value, reason: &str) -> HttpClientError {
        let host = self
            .base_url
            .as_ref()
            .and_then(Url::host_str)
            .unwrap_or_default();
        let said = json::error_message(value).map(|it| strip_markup_chars(&it));
        let lower = said.as_deref().unwrap_or_default().to_lowercase();
        if lower.contains("rate limit") || lower.contains("too many requests") {
            return HttpClientError::RateLimited {
                host: host.to_owned(),
                wait: DEFAULT_RETRY_WAIT,
            };
        }
        HttpClientError::Unreadable {
            host: host.to_owned(),
            reason: said.map_or_else(
                || reason.to_owned(),
                |it| format!("{reason}; its message: {it}"),
            ),
        }
    }

    /// The list at a JSON pointer. A missing list is an error, never an empty list.
    pub(crate) async fn list_at<'a>(
        &self,
        response: &'a ApiResponse<Value>,
        pointer: &str,
    ) -> Result<&'a [Value], HttpClientError> {
        match response.body.pointer(pointer).and_then(Value::as_array) {
            Some(all) => Ok(all),
            None => Err(self
                .response_error(response, "it holds no list of papers")
                .await),
        }
    }
}

/// Limits the number of requested papers to between 1 and [`MAX_RESULTS`].
pub(crate) fn clamp_limit(limit: usize) -> usize {
    limit.clamp(1, MAX_RESULTS)
}

/// Turns the error `NotFound` into `None`.
pub(crate) fn not_found_as_none<T>(
    result: Result<T, HttpClientError>,
) -> Result<Option<T>, HttpClientError> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(HttpClientError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse_json(reply: &FetchResponse) -> Result<Value, HttpClientError> {
    reply.json()
}

fn parse_xml(reply: &FetchResponse) -> Result<XmlElement, HttpClientError> {
    if reply.is_html() {
        return Err(reply.unreadable_error("it is a web page, not XML"));
    }
    let text = String::from_utf8_lossy(&reply.body);
    let read = xml::parse_document(text.trim_start_matches('\u{feff}'));
    read.map_err(|it| reply.unreadable_error(strip_markup_chars(first_chars(&it, 300))))
}
