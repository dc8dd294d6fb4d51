//! The tool definitions of each server as it last listed them. Most clients list tools once, at their
//! start: with stored definitions they see exposed tools before the servers are connected. Calls
//! always use a fresh list, and definitions are compared with their pins as usual.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Change, Clock};
use deliberate_mcp_client::client::ToolList;
use deliberate_store::Store;
use futures::future::join_all;
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

use super::{Gateway, Upstream, tool_catalog::UpstreamListing};
use crate::pins::canonical;

/// The maximum bytes of a server's definitions; more are not stored.
const MAX_BYTES: usize = 1 << 20;

/// How long the first list of tools waits for servers that were never listed before.
const FIRST_LIST_WAIT: Duration = Duration::from_secs(3);

/// How long the start of the program waits for the stored definitions.
const LOAD_WAIT: Duration = Duration::from_secs(1);

/// The stored definitions of one server.
pub(super) struct DefinitionStore {
    key: String,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// The digest of what is stored, as far as it is known.
    stored: Mutex<Option<String>>,
}

impl DefinitionStore {
    pub(super) fn new(server: &str, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            key: format!("gateway/definitions/{server}"),
            store,
            clock,
            stored: Mutex::default(),
        }
    }

    async fn read(&self) -> Option<ToolList> {
        let mut stored = self.stored.lock().await;
        let mut state = self.store.settings(&[&self.key]).await.ok()?;
        let definitions = state.remove(&self.key)?;
        *stored = Some(canonical::digest(&definitions));
        match definitions {
            Value::Array(items) => Some(ToolList::from_definitions(items)),
            _ => None,
        }
    }

    /// Stores the definitions if they changed. A failure costs only the next early list.
    pub(super) async fn write(&self, list: &ToolList) {
        let definitions: Value = list.tools.iter().map(|tool| (*tool.raw).clone()).collect();
        let digest = canonical::digest(&definitions);
        let mut stored = self.stored.lock().await;
        if stored.as_ref() == Some(&digest) {
            return;
        }
        let fits = definitions.to_string().len() <= MAX_BYTES;
        let change = Change::SetState {
            key: self.key.clone(),
            value: fits.then_some(definitions),
            at: self.clock.now(),
        };
        match self.store.commit(vec![change]).await {
            Ok(()) => *stored = Some(digest),
            Err(error) => tracing::debug!(%error, key = self.key, "could not store definitions"),
        }
    }
}

impl Gateway {
    /// Fills the catalogs with the definitions that the servers listed last.
    pub async fn load_stored_definitions(&self) {
        let upstreams = self.upstreams();
        let loads = upstreams.iter().map(|upstream| self.load_stored(upstream));
        if tokio::time::timeout(LOAD_WAIT, join_all(loads))
            .await
            .is_err()
        {
            tracing::warn!("the stored tool definitions could not be read in time");
        }
    }

    pub(super) async fn load_stored(&self, upstream: &Arc<Upstream>) {
        let Some(list) = upstream.definitions.read().await else {
            return;
        };
        let _judging = upstream.evaluation_lock.lock().await;
        if upstream.catalog().is_some() {
            return;
        }
        let listing = UpstreamListing {
            list: Arc::new(list),
            fetched_at: Instant::now(),
            change_count: 0,
            is_stored: true,
        };
        if self.evaluate(upstream, listing, None).await.is_ok() {
            upstream.listed_once.send_replace(true);
        }
    }

    /// Waits until every server with exposed tools has been listed or tried once, a short time after
    /// the start at the most.
    pub(crate) async fn wait_first_listing(&self) {
        let Some(started_at) = self.started_at.get() else {
            return;
        };
        let upstreams = self.upstreams();
        let exposed = upstreams
            .iter()
            .filter(|upstream| upstream.settings.expose.exposes_any());
        let listed = exposed.map(|upstream| {
            let mut listed_once = upstream.listed_once.subscribe();
            async move {
                // The sender lives as long as the server.
                let _ = listed_once.wait_for(|listed| *listed).await;
            }
        });
        let _ = tokio::time::timeout_at(*started_at + FIRST_LIST_WAIT, join_all(listed)).await;
    }
}
