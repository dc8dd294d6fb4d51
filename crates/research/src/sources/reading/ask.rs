//! Asking one API: where it is, how fast it may be asked, with which key; and its answers as JSON
//! or XML, or the reason why they are neither.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use crate::{
    sources::SourceSettings,
    web::{Pace, Reply, Request, Web, WebError, unmarked},
};

use super::{
    clean, json,
    xml::{self, Element},
};

/// How long to wait if an answer says "slower" without saying until when.
const A_WHILE: Duration = Duration::from_secs(10);

/// The most papers of one question.
pub(crate) const MOST: usize = 500;

/// Where a key goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyPlace {
    /// Into a header, with this in front of it.
    Header(&'static str, &'static str),
    /// Into the query.
    Query(&'static str),
}

/// One API.
#[derive(Clone)]
pub(crate) struct Api {
    web: Web,
    settings: SourceSettings,
    base: Option<Url>,
    pace: Pace,
    accept: &'static str,
    throttled: &'static [u16],
    key: Option<(KeyPlace, SecretString)>,
    contact: Option<(&'static str, SecretString)>,
}

/// An answer, whether it was kept from before, and what it answers.
pub(crate) struct Got<T> {
    pub(crate) it: T,
    pub(crate) kept: bool,
    pub(crate) request: Request,
}

impl Api {
    /// An API at its usual address, or where the settings say.
    pub(crate) fn new(web: Web, settings: SourceSettings, usual: &str, pace: Pace) -> Self {
        Self {
            web,
            base: settings.base_url.clone().or_else(|| Url::parse(usual).ok()),
            settings,
            pace,
            accept: "application/json",
            throttled: &[],
            key: None,
            contact: None,
        }
    }

    /// Asks for XML.
    pub(crate) fn for_xml(mut self, throttled: &'static [u16]) -> Self {
        self.accept = "application/atom+xml, application/xml, text/xml;q=0.9, */*;q=0.1";
        self.throttled = throttled;
        self
    }

    /// Sends the key of the settings there, if there is one.
    pub(crate) fn with_key(mut self, place: KeyPlace) -> Self {
        self.key = self.settings.key.clone().map(|it| (place, it));
        self
    }

    /// Says whom to write to, if the settings know.
    pub(crate) fn with_contact(mut self, name: &'static str) -> Self {
        let contact = self.settings.contact.clone();
        self.contact = contact.map(|it| (name, SecretString::from(it)));
        self
    }

    /// Whether a key is sent.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// An answer in JSON.
    pub(crate) async fn json(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<Got<Value>, WebError> {
        self.ask(path, query, read_json).await
    }

    /// An answer in XML.
    pub(crate) async fn xml(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<Got<Element>, WebError> {
        self.ask(path, query, read_xml).await
    }

    async fn ask<T>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        read: fn(&Reply) -> Result<T, WebError>,
    ) -> Result<Got<T>, WebError> {
        let request = self.request(path, query)?;
        let mut reply = self.web.get(request.clone()).await?;
        let mut read_so = read(&reply);
        // What can't be read is not kept; the source may have come to its senses.
        if read_so.is_err() && reply.kept {
            self.web.forget(&request).await;
            reply = self.web.get(request.clone()).await?;
            read_so = read(&reply);
        }
        if read_so.is_err() {
            self.web.forget(&request).await;
        }
        Ok(Got {
            it: read_so?,
            kept: reply.kept,
            request,
        })
    }

    /// The error of an answer in JSON that is none: what it complains of, or the reason. It is
    /// not used again.
    pub(crate) async fn refused(&self, got: &Got<Value>, reason: &str) -> WebError {
        self.disowned(&[&got.request], &got.it, reason).await
    }

    /// The error of answers that are none. They are not used again.
    pub(crate) async fn disowned(
        &self,
        asked: &[&Request],
        answer: &Value,
        reason: &str,
    ) -> WebError {
        for request in asked {
            self.web.forget(request).await;
        }
        self.unreadable(answer, reason)
    }

    fn request(&self, path: &[&str], query: &[(&str, String)]) -> Result<Request, WebError> {
        let local = |reason: &str| WebError::Local {
            what: "making an address",
            reason: reason.to_owned(),
        };
        let mut url = self.base.clone().ok_or_else(|| local("there is none"))?;
        // They would be left out, and the address be that of another paper.
        if path.iter().any(|it| matches!(*it, "." | "..")) {
            let address = url.to_string();
            return Err(WebError::NotThere { address });
        }
        url.path_segments_mut()
            .map_err(|()| local("it has no path"))?
            .pop_if_empty()
            .extend(path);
        for (name, value) in query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let mut request = Request::new(url, self.pace.clone());
        request.accept = self.accept;
        request.keep = self.settings.keep;
        request.throttled = self.throttled;
        request.most_bytes = 32 * 1024 * 1024;
        request.secret_query.extend(self.contact.clone());
        match self.key.clone() {
            Some((KeyPlace::Header(name, prefix), key)) => {
                let value = secrecy::ExposeSecret::expose_secret(&key);
                let value = SecretString::from(format!("{prefix}{value}"));
                request.secrets.push((name, value));
            }
            Some((KeyPlace::Query(name), key)) => request.secret_query.push((name, key)),
            None => {}
        }
        Ok(request)
    }

    fn unreadable(&self, value: &Value, reason: &str) -> WebError {
        let host = self
            .base
            .as_ref()
            .and_then(Url::host_str)
            .unwrap_or_default();
        let said = json::complaint(value).map(|it| unmarked(&it));
        let lower = said.as_deref().unwrap_or_default().to_lowercase();
        if lower.contains("rate limit") || lower.contains("too many requests") {
            return WebError::RateLimited {
                host: host.to_owned(),
                wait: A_WHILE,
            };
        }
        WebError::Unreadable {
            host: host.to_owned(),
            reason: said.map_or_else(
                || reason.to_owned(),
                |it| format!("{reason}; it says: {it}"),
            ),
        }
    }

    /// The list at a pointer. One that is not there is an error, never an empty list.
    pub(crate) async fn list<'a>(
        &self,
        got: &'a Got<Value>,
        pointer: &str,
    ) -> Result<&'a [Value], WebError> {
        match got.it.pointer(pointer).and_then(Value::as_array) {
            Some(all) => Ok(all),
            None => Err(self.refused(got, "there is no list of papers in it").await),
        }
    }
}

/// How many are asked for: some, but not without end.
pub(crate) fn bounded(limit: usize) -> usize {
    limit.clamp(1, MOST)
}

/// A thing that is not there, if that is what the error says.
pub(crate) fn or_none<T>(result: Result<T, WebError>) -> Result<Option<T>, WebError> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(WebError::NotThere { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_json(reply: &Reply) -> Result<Value, WebError> {
    reply.json()
}

fn read_xml(reply: &Reply) -> Result<Element, WebError> {
    if reply.is_html() {
        return Err(reply.unreadable("a web page, not XML"));
    }
    let text = String::from_utf8_lossy(&reply.body);
    let read = xml::read(text.trim_start_matches('\u{feff}'));
    read.map_err(|it| reply.unreadable(unmarked(clean::cut(&it, 300))))
}
