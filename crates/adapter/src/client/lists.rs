//! What a server has: its tools, resources and prompts, page by page, and for tools kept until the
//! server says that they changed or that its answer is no longer fresh.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{CallOptions, Changed, Client, ToolDef, headers};
use crate::{Error, ErrorKind, config::Reach, transport::Era};

/// Pages that are read of one list.
const MAX_PAGES: usize = 200;
/// How long tools are kept of a server that does not say when they change.
const UNTOLD: Duration = Duration::from_mins(5);

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
pub enum Fresh {
    /// What is known will do, if it is fresh.
    Cached,
    /// The server is asked.
    Anew,
}

/// What is kept.
#[derive(Default)]
pub(super) struct Lists {
    tools: Mutex<Kept>,
    /// One asks, the others wait and take what it got.
    asking: tokio::sync::Mutex<()>,
    /// How often it was asked, and how that failed the last time, if it did.
    asked: Mutex<(u64, Option<Error>)>,
}

#[derive(Default)]
struct Kept {
    list: Option<(Arc<ToolList>, Instant)>,
    /// Counts what was forgotten, so that what was asked before is not kept after.
    changes: u64,
}

impl Lists {
    pub(super) fn forget(&self, changed: &Changed) {
        if *changed == Changed::Tools {
            let mut kept = self.kept();
            kept.list = None;
            kept.changes += 1;
        }
    }

    /// The tools, if what is known of them is fresh.
    pub(super) fn tools(&self) -> Option<Arc<ToolList>> {
        let kept = self.kept();
        let (list, until) = kept.list.as_ref()?;
        (Instant::now() < *until).then(|| list.clone())
    }

    /// The tools as they were last seen, fresh or not.
    pub(super) fn last_seen(&self) -> Option<Arc<ToolList>> {
        self.kept().list.as_ref().map(|(list, _)| list.clone())
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, (u64, Option<Error>)> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the pages of a list hold together.
struct Pages {
    items: Vec<Value>,
    /// How long the server says that it is fresh.
    ttl: Option<Duration>,
    warnings: Vec<String>,
}

impl Client {
    /// The tools of the server.
    pub async fn tools(&self, fresh: Fresh) -> Result<Arc<ToolList>, Error> {
        let known = || {
            (fresh == Fresh::Cached)
                .then(|| self.0.lists.tools())
                .flatten()
        };
        if let Some(known) = known() {
            return Ok(known);
        }
        let before = self.0.lists.asked().0;
        let _asking = self.0.lists.asking.lock().await;
        if let Some(known) = known() {
            return Ok(known);
        }
        // Who waited for a server that does not answer need not wait once more.
        if let (asked, Some(failed)) = &*self.0.lists.asked()
            && *asked != before
        {
            return Err(failed.clone());
        }
        let outcome = self.ask_for_tools().await;
        let mut asked = self.0.lists.asked();
        *asked = (asked.0 + 1, outcome.as_ref().err().cloned());
        outcome
    }

    async fn ask_for_tools(&self) -> Result<Arc<ToolList>, Error> {
        let side = self.server().await?;
        if !side.has("tools") {
            return Ok(Arc::new(ToolList::of(Vec::new(), Vec::new(), false)));
        }
        let changes = self.0.lists.kept().changes;
        let pages = self.pages("tools/list", "tools").await?;
        let checks_headers = side.era == Era::Stateless;
        let list = Arc::new(ToolList::of(pages.items, pages.warnings, checks_headers));
        // Over HTTP the stream on which an older server would tell may not be there.
        let may_be_deaf =
            side.era == Era::Handshake && matches!(self.config().reach, Reach::Http(_));
        let told = side.tells_changes("tools") && !may_be_deaf;
        let ttl = pages.ttl.unwrap_or(if told {
            Duration::from_hours(24)
        } else {
            UNTOLD
        });
        let mut kept = self.0.lists.kept();
        if kept.changes == changes {
            kept.list = Some((list.clone(), Instant::now() + ttl));
        }
        Ok(list)
    }

    /// The tools, if they are known; the server is not asked.
    pub(crate) fn known_tools(&self) -> Option<Arc<ToolList>> {
        self.0.lists.tools()
    }

    /// The resources of the server.
    pub async fn resources(&self) -> Result<Vec<Value>, Error> {
        self.needs("resources").await?;
        Ok(self.pages("resources/list", "resources").await?.items)
    }

    /// The templates of its resources.
    pub async fn resource_templates(&self) -> Result<Vec<Value>, Error> {
        self.needs("resources").await?;
        let pages = self.pages("resources/templates/list", "resourceTemplates");
        Ok(pages.await?.items)
    }

    /// The prompts of the server.
    pub async fn prompts(&self) -> Result<Vec<Value>, Error> {
        self.needs("prompts").await?;
        Ok(self.pages("prompts/list", "prompts").await?.items)
    }

    /// Fails if the server does not say that it has this.
    pub(super) async fn needs(&self, capability: &'static str) -> Result<(), Error> {
        if self.server().await?.has(capability) {
            return Ok(());
        }
        let kind = ErrorKind::Unsupported { capability };
        Err(Error::new(self.name(), kind))
    }

    /// Reads a list to its end. A server that never ends is stopped.
    async fn pages(&self, method: &str, field: &str) -> Result<Pages, Error> {
        let most = self.config().limits.items;
        let mut pages = Pages {
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
                return Err(Error::new(self.name(), ErrorKind::Malformed { reason }));
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
    pub async fn read_resource(&self, uri: &str) -> Result<Value, Error> {
        self.needs("resources").await?;
        self.request(
            "resources/read",
            json!({ "uri": uri }),
            CallOptions::default(),
        )
        .await
        .map_err(|error| error.about(uri))
    }

    /// Fills in a prompt.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<Value, Error> {
        self.needs("prompts").await?;
        let mut params = json!({ "name": name });
        if let (Some(fields), false) = (params.as_object_mut(), arguments.is_null()) {
            fields.insert("arguments".to_owned(), arguments);
        }
        self.request("prompts/get", params, CallOptions::default())
            .await
            .map_err(|error| error.about(name))
    }

    /// What an argument may be: `reference` is `{"type": "ref/prompt", "name": …}` or
    /// `{"type": "ref/resource", "uri": …}`.
    pub async fn complete(
        &self,
        reference: Value,
        argument: &str,
        value: &str,
        context: Option<Value>,
    ) -> Result<Value, Error> {
        self.needs("completions").await?;
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

    /// Wants to be told when this resource changes ([`Changed::Resource`]).
    pub async fn subscribe(&self, uri: &str) -> Result<(), Error> {
        self.handshake_only("resources/subscribe", json!({ "uri": uri }))
            .await
    }

    /// No longer wants to be.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), Error> {
        self.handshake_only("resources/unsubscribe", json!({ "uri": uri }))
            .await
    }

    /// How much the server should log.
    pub async fn set_log_level(&self, level: &str) -> Result<(), Error> {
        self.handshake_only("logging/setLevel", json!({ "level": level }))
            .await
    }

    /// Tells the server that its roots changed.
    pub async fn roots_changed(&self) -> Result<(), Error> {
        let connection = self.connection().await?;
        if connection.is_stateless() {
            return Ok(());
        }
        let told = connection.notify("notifications/roots/list_changed", &Value::Null);
        told.await
            .map_err(|error| Error::new(self.name(), ErrorKind::Transport(error)))
    }

    /// A request that later revisions no longer have.
    async fn handshake_only(&self, method: &str, params: Value) -> Result<(), Error> {
        if self.server().await?.era == Era::Stateless {
            let capability = "requests of the handshake revisions";
            return Err(Error::new(
                self.name(),
                ErrorKind::Unsupported { capability },
            ));
        }
        self.request(method, params, CallOptions::default())
            .await
            .map(drop)
    }
}

impl ToolList {
    fn of(items: Vec<Value>, mut warnings: Vec<String>, checks_headers: bool) -> Self {
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
            if let Some(fault) = tool.fault() {
                warnings.push(format!("the tool {shown:?} is left out: {fault}"));
                continue;
            }
            if let Some(fault) = headers::fault(tool.input_schema()).filter(|_| checks_headers) {
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
