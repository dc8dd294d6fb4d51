//! Sends one HTTP request with the common headers and the bearer token, and follows redirects
//! within the server's origin only. It does not know what messages mean.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use deliberate_http_client::{ClientBuildError, LazyClient, client_builder};
use reqwest::{
    Client, ClientBuilder, Method, Request, Response, StatusCode,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
        WWW_AUTHENTICATE,
    },
};
use secrecy::{ExposeSecret as _, SecretString};
use url::{Origin, Url};

use super::{authorizer::Authorizer, error};
use crate::{
    config::{HttpConfig, ServerLimits},
    transport::TransportError,
};

const MAX_REDIRECTS: usize = 3;

/// How often a request is repeated with another token.
const MAX_CHALLENGES: u32 = 3;

/// Small servers close idle connections after five seconds. A request that is sent at that moment
/// cannot be repeated safely, so this client closes them earlier.
const IDLE_PLAIN: Duration = Duration::from_secs(4);

/// Public servers keep idle connections for a minute or more, and a new one costs several round
/// trips.
const IDLE_TLS: Duration = Duration::from_secs(50);

/// The TCP keep-alive interval, which detects peers that vanished.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The number of recent tokens that are remembered, so that they are never shown.
const MAX_TOKENS: usize = 4;

/// The longest path segment that is shown; longer ones may be keys.
const MAX_SEGMENT: usize = 20;

/// The HTTP client of one server.
pub(crate) struct HttpSender {
    /// Built with the first request.
    client: LazyClient,
    origin: Origin,
    post_headers: HeaderMap,
    get_headers: HeaderMap,
    secrets: Vec<SecretString>,
    auth: Option<Arc<dyn Authorizer>>,
    tokens: Mutex<Vec<SecretString>>,
    pub(crate) url: Url,
    pub(crate) limits: ServerLimits,
}

pub(crate) struct OutgoingHttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    /// Whether the user may be asked to log in for this request.
    pub(crate) may_log_in: bool,
}

impl HttpSender {
    pub(crate) fn new(
        config: HttpConfig,
        limits: &ServerLimits,
        auth: Option<Arc<dyn Authorizer>>,
    ) -> Result<Self, TransportError> {
        let mut listening = HeaderMap::new();
        let mut secrets = Vec::new();
        for (name, value) in &config.headers {
            let (name, value) = parse_header(name, value)?;
            listening.insert(name, value);
        }
        for value in config.headers.into_values() {
            if let Some((_, token)) = value.expose_secret().split_once(' ') {
                secrets.push(SecretString::from(token.trim()));
            }
            secrets.push(value);
        }
        let auth = auth.filter(|_| !listening.contains_key(AUTHORIZATION));
        let mut posting = listening.clone();
        listening.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        posting.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        posting.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            client: LazyClient::default(),
            origin: config.url.origin(),
            post_headers: posting,
            get_headers: listening,
            secrets,
            auth,
            tokens: Mutex::default(),
            url: config.url,
            limits: limits.clone(),
        })
    }

    fn client(&self) -> Result<&Client, TransportError> {
        let client = (self.client).get_or_build(|| connection_options(&self.url, &self.limits));
        client.map_err(|error| TransportError::Unreachable {
            reason: format!("the HTTP client could not be created: {error}"),
        })
    }

    /// Returns the server's URL for people, without the query and long path segments, which may be
    /// keys.
    pub(crate) fn display_url(&self) -> String {
        let path: Vec<&str> = (self.url.path().split('/'))
            .map(|segment| {
                if segment.len() > MAX_SEGMENT {
                    "…"
                } else {
                    segment
                }
            })
            .collect();
        format!("{}{}", self.origin.ascii_serialization(), path.join("/"))
    }

    /// Returns true if a URL belongs to the server's origin.
    pub(crate) fn is_same_origin(&self, url: &Url) -> bool {
        url.origin() == self.origin
    }

    /// Returns the texts that must not be shown.
    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        self.secrets.iter().chain(tokens.iter()).cloned().collect()
    }

    fn remember_token(&self, token: SecretString) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &SecretString| known.expose_secret() == token.expose_secret();
        if !tokens.iter().any(is_it) {
            tokens.insert(0, token);
            tokens.truncate(MAX_TOKENS);
        }
    }

    /// Posts a message to the server.
    pub(crate) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, TransportError> {
        self.send(OutgoingHttpRequest {
            method: Method::POST,
            url: url.clone(),
            headers,
            body: Some(body),
            may_log_in: true,
        })
        .await
    }

    /// Sends a request with the current token, and repeats it with another token if the server asks
    /// for one. `Ok` is an answer with any status.
    pub(crate) async fn send(
        &self,
        mut call: OutgoingHttpRequest,
    ) -> Result<Response, TransportError> {
        let mut headers = match call.method {
            Method::POST => self.post_headers.clone(),
            _ => self.get_headers.clone(),
        };
        headers.extend(std::mem::take(&mut call.headers));
        call.headers = headers;
        let Some(auth) = &self.auth else {
            return self.send_with_redirects(&call).await;
        };
        let mut attempt = 0;
        loop {
            attempt += 1;
            if let Some(token) = auth.token().await? {
                call.headers.insert(AUTHORIZATION, bearer_header(&token)?);
                self.remember_token(token);
            }
            let response = self.send_with_redirects(&call).await?;
            let status = response.status();
            let challenged = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            if !challenged || !call.may_log_in || attempt > MAX_CHALLENGES {
                return Ok(response);
            }
            let said = www_authenticate(response.headers());
            if !auth
                .handle_challenge(status.as_u16(), said.as_deref(), attempt)
                .await?
            {
                return Ok(response);
            }
        }
    }

    async fn send_with_redirects(
        &self,
        call: &OutgoingHttpRequest,
    ) -> Result<Response, TransportError> {
        let client = self.client()?;
        let mut url = call.url.clone();
        let mut status = StatusCode::TEMPORARY_REDIRECT;
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(call.method.clone(), url.clone());
            request.headers_mut().clone_from(&call.headers);
            *request.body_mut() = call.body.clone().map(Into::into);
            let response = (client.execute(request).await)
                .map_err(|error| error::from_reqwest(&error, self.limits.connect_timeout))?;
            status = response.status();
            match self.redirect_target(&call.method, &url, &response)? {
                Some(next) => url = next,
                None => return Ok(response),
            }
        }
        Err(TransportError::Http {
            status: status.as_u16(),
            message: Some(format!(
                "the server redirects more than {MAX_REDIRECTS} times"
            )),
            retry_after: None,
        })
    }

    /// Returns the target of a redirect, if it may be followed.
    fn redirect_target(
        &self,
        method: &Method,
        here: &Url,
        response: &Response,
    ) -> Result<Option<Url>, TransportError> {
        let follows = match response.status().as_u16() {
            307 | 308 => true,
            // These statuses turn a POST into a GET, which would lose the message.
            301..=303 => method == Method::GET,
            _ => false,
        };
        let location = response.headers().get(LOCATION).filter(|_| follows);
        let Some(next) = location
            .and_then(|location| location.to_str().ok())
            .and_then(|location| here.join(location).ok())
        else {
            return Ok(None);
        };
        if self.is_same_origin(&next) {
            return Ok(Some(next));
        }
        Err(TransportError::Http {
            status: response.status().as_u16(),
            message: Some(format!(
                "the server redirects to {}, which is not followed; correct `url` if the target is right",
                next.origin().ascii_serialization()
            )),
            retry_after: None,
        })
    }
}

fn parse_header(
    name: &str,
    value: &SecretString,
) -> Result<(HeaderName, HeaderValue), TransportError> {
    let unsendable = || TransportError::Unsendable {
        reason: format!("the header {name:?} cannot be sent"),
    };
    let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| unsendable())?;
    value.set_sensitive(true);
    let name = HeaderName::try_from(name).map_err(|_| unsendable())?;
    Ok((name, value))
}

fn bearer_header(token: &SecretString) -> Result<HeaderValue, TransportError> {
    let (_, value) = parse_header(
        AUTHORIZATION.as_str(),
        &SecretString::from(format!("Bearer {}", token.expose_secret())),
    )?;
    Ok(value)
}

fn www_authenticate(headers: &HeaderMap) -> Option<String> {
    let said: Vec<&str> = (headers.get_all(WWW_AUTHENTICATE).iter())
        .filter_map(|value| value.to_str().ok())
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn connection_options(url: &Url, limits: &ServerLimits) -> Result<ClientBuilder, ClientBuildError> {
    let idle = match url.scheme() {
        "https" => IDLE_TLS,
        _ => IDLE_PLAIN,
    };
    let builder = client_builder(url)?
        .http1_only()
        .connect_timeout(limits.connect_timeout)
        .pool_idle_timeout(idle)
        .tcp_keepalive(KEEP_ALIVE);
    Ok(builder)
}
