//! Lists a server's tools, resources and prompts page by page, and caches the tools until the
//! server reports a change or their time to live is over.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{CallOptions, McpClient, ServerEvent, ToolDef, param_headers};
use crate::{
    ClientError, ClientErrorKind,
    config::TransportConfig,
    transport::{McpEra, TransportError},
};

/// The maximum number of pages that are read of one list.
const MAX_PAGES: usize = 200;
/// How long tools are cached if the server does not report changes.
const DEFAULT_TTL: Duration = Duration::from_mins(5);

/// The tools of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolList {
    /// The tools in the server's order.
    pub tools: Vec<Arc<ToolDef>>,
    /// The tools that were left out, with the reasons.
    pub warnings: Vec<String>,
    by_name: BTreeMap<String, usize>,
}

impl ToolList {
    /// Creates a list from definitions that were stored.
    pub fn from_definitions(definitions: Vec<Value>) -> Self {
        Self::from_items(definitions, Vec::new(), false)
    }

    /// Returns the tool with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolDef>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }
}

/// Decides whether a cached list is acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// Use the cached list if it is fresh.
    Cached,
    /// Ask the server.
    Refresh,
}

#[derive(Default)]
pub(super) struct ListingCache {
    cached: Mutex<CachedToolList>,
    /// Only one caller fetches the list; the others wait and take its result.
    fetch_lock: tokio::sync::Mutex<()>,
    /// The number of fetches, and the error of the last one if it failed.
    last_fetch: Mutex<(u64, Option<ClientError>)>,
}

#[derive(Default)]
struct CachedToolList {
    list: Option<(Arc<ToolList>, Instant)>,
    /// Counts the invalidations, so that a list that was requested before one is not cached after
    /// it.
    invalidations: u64,
}

impl ListingCache {
    pub(super) fn invalidate(&self, changed: &ServerEvent) {
        if *changed == ServerEvent::ToolsChanged {
            let mut list = self.cached();
            list.list = None;
            list.invalidations += 1;
        }
    }

    /// Returns the cached tools if they are fresh.
    pub(super) fn fresh_tools(&self) -> Option<Arc<ToolList>> {
        let tool_list = self.cached();
        let (list, until) = tool_list.list.as_ref()?;
        (Instant::now() < *until).then(|| list.clone())
    }

    /// Returns the tools as they were last listed, fresh or not.
    pub(super) fn last_tools(&self) -> Option<Arc<ToolList>> {
        self.cached().list.as_ref().map(|(list, _)| list.clone())
    }

    fn last_fetch(&self) -> std::sync::MutexGuard<'_, (u64, Option<ClientError>)> {
        self.last_fetch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, CachedToolList> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The items of all pages of a list.
struct ListPages {
    items: Vec<Value>,
    /// The time to live that the server reported.
    ttl: Option<Duration>,
    warnings: Vec<String>,
}

impl McpClient {
    /// Returns the tools of the server.
    pub async fn tools(&self, fresh: CachePolicy) -> Result<Arc<ToolList>, ClientError> {
        let known = || {
            (fresh == CachePolicy::Cached)
                .then(|| self.inner.listing_cache.fresh_tools())
                .flatten()
        };
        if let Some(known) = known() {
            return Ok(known);
        }
        let before = self.inner.listing_cache.last_fetch().0;
        let _asking = self.inner.listing_cache.fetch_lock.lock().await;
        if let Some(known) = known() {
            return Ok(known);
        }
        // A caller that has waited for an unresponsive server need not wait a second time.
        if let (asked, Some(failed)) = &*self.inner.listing_cache.last_fetch()
            && *asked != before
        {
            return Err(failed.clone());
        }
        let outcome = self.fetch_tools().await;
        let mut asked = self.inner.listing_cache.last_fetch();
        *asked = (asked.0 + 1, outcome.as_ref().err().cloned());
        outcome
    }

    async fn fetch_tools(&self) -> Result<Arc<ToolList>, ClientError> {
        let side = self.server_info().await?;
        if !side.has_capability("tools") {
            return Ok(Arc::new(ToolList::from_items(
                Vec::new(),
                Vec::new(),
                false,
            )));
        }
        let changes = self.inner.listing_cache.cached().invalidations;
        let pages = self.fetch_pages("tools/list", "tools").await?;
        let checks_headers = side.era == McpEra::Stateless;
        let list = Arc::new(ToolList::from_items(
            pages.items,
            pages.warnings,
            checks_headers,
        ));
        // Over HTTP, an older server may have no stream on which it could report changes.
        let may_be_deaf = side.era == McpEra::Handshake
            && matches!(self.config().transport, TransportConfig::Http(_));
        let told = side.supports_list_changed("tools") && !may_be_deaf;
        let ttl = pages.ttl.unwrap_or(if told {
            Duration::from_hours(24)
        } else {
            DEFAULT_TTL
        });
        let mut tool_list = self.inner.listing_cache.cached();
        if tool_list.invalidations == changes {
            tool_list.list = Some((list.clone(), Instant::now() + ttl));
        }
        Ok(list)
    }

    /// Returns the cached tools without asking the server.
    pub fn cached_tools(&self) -> Option<Arc<ToolList>> {
        self.inner.listing_cache.fresh_tools()
    }

    /// Lists the resources of the server.
    pub async fn resources(&self) -> Result<Vec<Value>, ClientError> {
        self.require_capability("resources").await?;
        Ok(self.fetch_pages("resources/list", "resources").await?.items)
    }

    /// Lists the resource templates of the server.
    pub async fn resource_templates(&self) -> Result<Vec<Value>, ClientError> {
        self.require_capability("resources").await?;
        let pages = self.fetch_pages("resources/templates/list", "resourceTemplates");
        Ok(pages.await?.items)
    }

    /// Lists the prompts of the server.
    pub async fn prompts(&self) -> Result<Vec<Value>, ClientError> {
        self.require_capability("prompts").await?;
        Ok(self.fetch_pages("prompts/list", "prompts").await?.items)
    }

    /// Returns an error if the server does not declare this capability.
    pub(super) async fn require_capability(
        &self,
        capability: &'static str,
    ) -> Result<(), ClientError> {
        if self.server_info().await?.has_capability(capability) {
            return Ok(());
        }
        let kind = ClientErrorKind::Unsupported { capability };
        Err(ClientError::new(self.name(), kind))
    }

    /// Reads a list to its end, up to the limits on pages and items. All pages together may be as
    /// large as one message: in memory they are one list.
    async fn fetch_pages(&self, method: &str, field: &str) -> Result<ListPages, ClientError> {
        let most = self.config().limits.max_items;
        let mut bytes_left = self.config().limits.message_bytes;
        let options = CallOptions::default();
        let mut pages = ListPages {
            items: Vec::new(),
            ttl: None,
            warnings: Vec::new(),
        };
        let mut cursor: Option<Value> = None;
        let mut seen = HashSet::new();
        for _ in 0..MAX_PAGES {
            let mut params = Map::new();
            if let Some(cursor) = &cursor {
                params.insert("cursor".to_owned(), cursor.clone());
            }
            let answer = self.send_request(method, params, &options).await?;
            let Some(left) = bytes_left.checked_sub(answer.bytes) else {
                let limit = self.config().limits.message_bytes;
                let kind = ClientErrorKind::Transport(TransportError::TooLarge { limit });
                return Err(ClientError::new(self.name(), kind).with_subject(method));
            };
            bytes_left = left;
            let mut page = answer.result;
            if let Some(ttl) = page.get("ttlMs").and_then(Value::as_u64) {
                let ttl = Duration::from_millis(ttl.min(86_400_000));
                pages.ttl = Some(pages.ttl.map_or(ttl, |known| known.min(ttl)));
            }
            let Some(Value::Array(items)) = page.get_mut(field).map(Value::take) else {
                let reason = format!("the answer to {method} has no {field:?}");
                return Err(ClientError::new(
                    self.name(),
                    ClientErrorKind::Malformed { reason },
                ));
            };
            pages.items.extend(items);
            if pages.items.len() > most {
                pages.items.truncate(most);
                pages.warnings.push(format!(
                    "the list has more than {most} items; the rest is left out"
                ));
                return Ok(pages);
            }
            cursor = page
                .get("nextCursor")
                .filter(|next| next.is_string())
                .cloned();
            match &cursor {
                None => return Ok(pages),
                Some(next) if seen.insert(next.to_string()) => {}
                Some(_) => {
                    pages
                        .warnings
                        .push("the pages of the list repeat".to_owned());
                    return Ok(pages);
                }
            }
        }
        pages.warnings.push(format!(
            "the list has more than {MAX_PAGES} pages; the rest is left out"
        ));
        Ok(pages)
    }

    /// Reads a resource.
    pub async fn read_resource(&self, uri: &str) -> Result<Value, ClientError> {
        self.require_capability("resources").await?;
        self.request(
            "resources/read",
            json!({ "uri": uri }),
            CallOptions::default(),
        )
        .await
        .map_err(|error| error.with_subject(uri))
    }

    /// Gets a prompt with these arguments.
    pub async fn get_prompt(&self, name: &str, arguments: Value) -> Result<Value, ClientError> {
        self.require_capability("prompts").await?;
        let mut params = json!({ "name": name });
        if let (Some(fields), false) = (params.as_object_mut(), arguments.is_null()) {
            fields.insert("arguments".to_owned(), arguments);
        }
        self.request("prompts/get", params, CallOptions::default())
            .await
            .map_err(|error| error.with_subject(name))
    }

    /// Completes an argument: `reference` is `{"type": "ref/prompt", "name": …}` or
    /// `{"type": "ref/resource", "uri": …}`.
    pub async fn complete(
        &self,
        reference: Value,
        argument: &str,
        value: &str,
        context: Option<Value>,
    ) -> Result<Value, ClientError> {
        self.require_capability("completions").await?;
        let mut params = json!({
            "ref": reference,
            "argument": { "name": argument, "value": value },
        });
        if let (Some(fields), Some(context)) = (params.as_object_mut(), context) {
            fields.insert("context".to_owned(), context);
        }
        self.request("completion/complete", params, CallOptions::default())
            .await
    }

    /// Subscribes to changes of a resource ([`ServerEvent::ResourceUpdated`]).
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        self.request_handshake_only("resources/subscribe", json!({ "uri": uri }))
            .await
    }

    /// Ends the subscription to a resource.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ClientError> {
        self.request_handshake_only("resources/unsubscribe", json!({ "uri": uri }))
            .await
    }

    /// Sets the minimum level of the server's log messages.
    pub async fn set_log_level(&self, level: &str) -> Result<(), ClientError> {
        self.request_handshake_only("logging/setLevel", json!({ "level": level }))
            .await
    }

    /// Notifies the server that the roots changed.
    pub async fn notify_roots_changed(&self) -> Result<(), ClientError> {
        let connection = self.connection().await?;
        if connection.is_stateless() {
            return Ok(());
        }
        let told = connection.notify("notifications/roots/list_changed", &Value::Null);
        told.await
            .map_err(|error| ClientError::new(self.name(), ClientErrorKind::Transport(error)))
    }

    /// Sends a request that only the handshake revisions have.
    async fn request_handshake_only(&self, method: &str, params: Value) -> Result<(), ClientError> {
        if self.server_info().await?.era == McpEra::Stateless {
            let capability = "requests of the handshake revisions";
            return Err(ClientError::new(
                self.name(),
                ClientErrorKind::Unsupported { capability },
            ));
        }
        self.request(method, params, CallOptions::default())
            .await
            .map(drop)
    }
}

impl ToolList {
    fn from_items(items: Vec<Value>, mut warnings: Vec<String>, checks_headers: bool) -> Self {
        let mut tools: Vec<Arc<ToolDef>> = Vec::with_capacity(items.len());
        let mut by_name = BTreeMap::new();
        for item in items {
            let Some(tool) = ToolDef::new(item) else {
                warnings.push("a tool without a name is left out".to_owned());
                continue;
            };
            let shown: String = tool.name.chars().take(80).collect();
            if by_name.contains_key(&tool.name) {
                warnings.push(format!("two tools are named {shown:?}; the first is used"));
                continue;
            }
            if let Some(fault) = tool.definition_problem() {
                warnings.push(format!("the tool {shown:?} is left out: {fault}"));
                continue;
            }
            if let Some(fault) =
                param_headers::annotation_problem(tool.input_schema()).filter(|_| checks_headers)
            {
                warnings.push(format!("the tool {shown:?} is left out: {fault}"));
                continue;
            }
            by_name.insert(tool.name.clone(), tools.len());
            tools.push(Arc::new(tool));
        }
        Self {
            tools,
            warnings,
            by_name,
        }
    }
}
