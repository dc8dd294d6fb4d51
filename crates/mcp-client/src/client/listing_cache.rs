//! What a server has: its tools, resources and prompts, page by page, and for tools kept until the
//! server says that they changed or that its answer is no longer fresh.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{CallOptions, McpClient, ServerEvent, ToolDef, param_headers};
use crate::{ClientError, ClientErrorKind, config::TransportConfig, transport::McpEra};

/// Pages that are read of one list.
const MAX_PAGES: usize = 200;
/// How long tools are kept of a server that does not say when they change.
const DEFAULT_TTL: Duration = Duration::from_mins(5);

/// The tools of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolList {
    /// In the server's order.
    pub tools: Vec<Arc<ToolDef>>,
    /// What could not be taken, and why.
    pub warnings: Vec<String>,
    by_name: BTreeMap<String, usize>,
}

impl ToolList {
    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolDef>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }
}

/// Whether what is known will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// What is known will do, if it is fresh.
    Cached,
    /// The server is asked.
    Refresh,
}

/// What is kept.
#[derive(Default)]
pub(super) struct ListingCache {
    cached: Mutex<CachedToolList>,
    /// One asks, the others wait and take what it got.
    fetch_lock: tokio::sync::Mutex<()>,
    /// How often it was asked, and how that failed the last time, if it did.
    last_fetch: Mutex<(u64, Option<ClientError>)>,
}

#[derive(Default)]
struct CachedToolList {
    list: Option<(Arc<ToolList>, Instant)>,
    /// Counts what was forgotten, so that what was asked before is not kept after.
    invalidations: u64,
}

impl ListingCache {
    pub(super) fn invalidate(&self, changed: &ServerEvent) {
        if *changed == ServerEvent::ToolsChanged {
            let mut kept = self.cached();
            kept.list = None;
            kept.invalidations += 1;
        }
    }

    /// The tools, if what is known of them is fresh.
    pub(super) fn fresh_tools(&self) -> Option<Arc<ToolList>> {
        let kept = self.cached();
        let (list, until) = kept.list.as_ref()?;
        (Instant::now() < *until).then(|| list.clone())
    }

    /// The tools as they were last seen, fresh or not.
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

/// What the pages of a list hold together.
struct ListPages {
    items: Vec<Value>,
    /// How long the server says that it is fresh.
    ttl: Option<Duration>,
    warnings: Vec<String>,
}

impl McpClient {
    /// The tools of the server.
    pub async fn tools(&self, fresh: CachePolicy) -> Result<Arc<ToolList>, ClientError> {
        let known = || {
            (fresh == CachePolicy::Cached)
                .then(|| self.0.listing_cache.fresh_tools())
                .flatten()
        };
        if let Some(known) = known() {
            return Ok(known);
        }
        let before = self.0.listing_cache.last_fetch().0;
        let _asking = self.0.listing_cache.fetch_lock.lock().await;
        if let Some(known) = known() {
            return Ok(known);
        }
        // Who waited for a server that does not answer need not wait once more.
        if let (asked, Some(failed)) = &*self.0.listing_cache.last_fetch()
            && *asked != before
        {
            return Err(failed.clone());
        }
        let outcome = self.fetch_tools().await;
        let mut asked = self.0.listing_cache.last_fetch();
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
        let changes = self.0.listing_cache.cached().invalidations;
        let pages = self.fetch_pages("tools/list", "tools").await?;
        let checks_headers = side.era == McpEra::Stateless;
        let list = Arc::new(ToolList::from_items(
            pages.items,
            pages.warnings,
            checks_headers,
        ));
        // Over HTTP the stream on which an older server would tell may not be there.
        let may_be_deaf = side.era == McpEra::Handshake
            && matches!(self.config().transport, TransportConfig::Http(_));
        let told = side.supports_list_changed("tools") && !may_be_deaf;
        let ttl = pages.ttl.unwrap_or(if told {
            Duration::from_hours(24)
        } else {
            DEFAULT_TTL
        });
        let mut kept = self.0.listing_cache.cached();
        if kept.invalidations == changes {
            kept.list = Some((list.clone(), Instant::now() + ttl));
        }
        Ok(list)
    }

    /// The tools, if they are known; the server is not asked.
    pub(crate) fn cached_tools(&self) -> Option<Arc<ToolList>> {
        self.0.listing_cache.fresh_tools()
    }

    /// The resources of the server.
    pub async fn resources(&self) -> Result<Vec<Value>, ClientError> {
        self.require_capability("resources").await?;
        Ok(self.fetch_pages("resources/list", "resources").await?.items)
    }

    /// The templates of its resources.
    pub async fn resource_templates(&self) -> Result<Vec<Value>, ClientError> {
        self.require_capability("resources").await?;
        let pages = self.fetch_pages("resources/templates/list", "resourceTemplates");
        Ok(pages.await?.items)
    }

    /// The prompts of the server.
    pub async fn prompts(&self) -> Result<Vec<Value>, ClientError> {
        self.require_capability("prompts").await?;
        Ok(self.fetch_pages("prompts/list", "prompts").await?.items)
    }

    /// Fails if the server does not say that it has this.
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

    /// Reads a list to its end. A server that never ends is stopped.
    async fn fetch_pages(&self, method: &str, field: &str) -> Result<ListPages, ClientError> {
        let most = self.config().limits.max_items;
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
            let page = self.request(method, Value::Object(params), CallOptions::default());
            let mut page = page.await?;
            if let Some(ttl) = page.get("ttlMs").and_then(Value::as_u64) {
                let ttl = Duration::from_millis(ttl.min(86_400_000));
                pages.ttl = Some(pages.ttl.map_or(ttl, |known| known.min(ttl)));
            }
            let Some(Value::Array(items)) = page.get_mut(field).map(Value::take) else {
                let reason = format!("{method} answered without {field:?}");
                return Err(ClientError::new(
                    self.name(),
                    ClientErrorKind::Malformed { reason },
                ));
            };
            pages.items.extend(items);
            if pages.items.len() > most {
                pages.items.truncate(most);
                pages
                    .warnings
                    .push(format!("it has more than {most}; the rest is left out"));
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
                        .push("its pages go round in a circle".to_owned());
                    return Ok(pages);
                }
            }
        }
        pages.warnings.push(format!(
            "it has more than {MAX_PAGES} pages; the rest is left out"
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

    /// Fills in a prompt.
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

    /// What an argument may be: `reference` is `{"type": "ref/prompt", "name": …}` or
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

    /// Wants to be told when this resource changes ([`ServerEvent::Resource`]).
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        self.request_handshake_only("resources/subscribe", json!({ "uri": uri }))
            .await
    }

    /// No longer wants to be.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ClientError> {
        self.request_handshake_only("resources/unsubscribe", json!({ "uri": uri }))
            .await
    }

    /// How much the server should log.
    pub async fn set_log_level(&self, level: &str) -> Result<(), ClientError> {
        self.request_handshake_only("logging/setLevel", json!({ "level": level }))
            .await
    }

    /// Tells the server that its roots changed.
    pub async fn notify_roots_changed(&self) -> Result<(), ClientError> {
        let connection = self.connection().await?;
        if connection.is_stateless() {
            return Ok(());
        }
        let told = connection.notify("notifications/roots/list_changed", &Value::Null);
        told.await
            .map_err(|error| ClientError::new(self.name(), ClientErrorKind::Transport(error)))
    }

    /// A request that later revisions no longer have.
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
                warnings.push(format!(
                    "there are two tools named {shown:?}; the first counts"
                ));
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
