//! Asking one API: where it is, how fast it may be asked, with which key; and its answers as JSON
//! or XML, or the reason why they are neither.

use std::time::Duration;

use deliberate_core::Article;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use crate::{
    sources::{SourceFound, SourceSettings},
    web::{Pace, Reply, Request, Web, WebError},
};

use super::{
    clean, json,
    xml::{self, Element},
};

/// How long to wait if an answer says "slower" without saying until when.
const A_WHILE: Duration = Duration::from_secs(10);

/// The most papers of one question.
pub(crate) const MOST: usize = 500;

/// The most pages of one question, whatever is on them.
pub(crate) const PAGES: usize = 10;

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

/// An answer, and whether it was kept from before.
pub(crate) struct Got<T> {
    pub(crate) it: T,
    pub(crate) kept: bool,
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
        let mut request = self.request(path, query)?;
        let reply = self.web.get(request.clone()).await?;
        match read(&reply) {
            Ok(it) => Ok(Got {
                it,
                kept: reply.kept,
            }),
            Err(error) if !reply.kept => Err(error),
            // What can't be read should not be kept; the source may have come to its senses.
            Err(_) => {
                request.keep = Duration::ZERO;
                let it = read(&self.web.get(request).await?)?;
                Ok(Got { it, kept: false })
            }
        }
    }

    fn request(&self, path: &[&str], query: &[(&str, String)]) -> Result<Request, WebError> {
        let local = |reason: &str| WebError::Local {
            what: "making an address",
            reason: reason.to_owned(),
        };
        let mut url = self.base.clone().ok_or_else(|| local("there is none"))?;
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

    /// The error of an answer that is not what it should be: what it complains of, or the reason.
    pub(crate) fn unreadable(&self, value: &Value, reason: &str) -> WebError {
        let host = self
            .base
            .as_ref()
            .and_then(Url::host_str)
            .unwrap_or_default();
        let said = json::complaint(value);
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
    pub(crate) fn list<'a>(
        &self,
        value: &'a Value,
        pointer: &str,
    ) -> Result<&'a [Value], WebError> {
        match value.pointer(pointer).and_then(Value::as_array) {
            Some(all) => Ok(all),
            None => Err(self.unreadable(value, "there is no list of papers in it")),
        }
    }
}

/// What was read of a list of records.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) found: SourceFound,
    seen: usize,
}

impl Gathered {
    /// Takes in a page of records; those that can't be read are counted.
    pub(crate) fn add(&mut self, records: impl IntoIterator<Item = Option<Article>>) -> usize {
        let before = self.seen;
        for record in records {
            self.seen += 1;
            match record {
                Some(article) => self.found.articles.push(article),
                None => self.found.skipped += 1,
            }
        }
        self.seen - before
    }

    /// Takes note of where a page came from.
    pub(crate) fn came(&mut self, kept: bool) {
        let first = self.seen == 0;
        self.found.kept = kept && (first || self.found.kept);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.found.articles.len()
    }

    /// What was found. Records of which none can be read are no empty result.
    pub(crate) fn done(mut self, limit: usize, api: &Api) -> Result<SourceFound, WebError> {
        let said = self.found.total.unwrap_or(0);
        if self.found.articles.is_empty() && (self.seen > 0 || said > 0) {
            let reason = format!("it speaks of {} papers, and none can be read", said.max(1));
            return Err(api.unreadable(&Value::Null, &reason));
        }
        self.found.articles.truncate(limit);
        Ok(self.found)
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
    if is_page(reply) {
        return Err(unreadable(reply, "it is a page of HTML, not JSON"));
    }
    serde_json::from_slice(&reply.body)
        .map_err(|it| unreadable(reply, &format!("malformed JSON at line {}", it.line())))
}

fn read_xml(reply: &Reply) -> Result<Element, WebError> {
    if is_page(reply) {
        return Err(unreadable(reply, "it is a page of HTML, not XML"));
    }
    let text = String::from_utf8_lossy(&reply.body);
    xml::read(text.trim_start_matches('\u{feff}')).map_err(|it| unreadable(reply, &it))
}

fn is_page(reply: &Reply) -> bool {
    let start = String::from_utf8_lossy(reply.body.get(..200).unwrap_or(&reply.body));
    let start = start
        .trim_start_matches('\u{feff}')
        .trim_start()
        .to_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

fn unreadable(reply: &Reply, reason: &str) -> WebError {
    WebError::Unreadable {
        host: reply.url.host_str().unwrap_or_default().to_owned(),
        reason: clean::cut(reason, 300).to_owned(),
    }
}
