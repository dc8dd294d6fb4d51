//! The model that answers a call, chosen by the settings: the provider that is named; else the
//! first one that has a key or a base URL; else a model server found on this machine; else the
//! client's own model.

mod overrides;
mod selection;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use deliberate_llm::{ChatModel, LocalServer, ModelError, ProbeTarget, find_local};
use deliberate_toolkit::ModelSelector;
use futures::future::BoxFuture;
use tokio::sync::Mutex;

use crate::config::{AppSettings, LoadedConfig};

/// Time limit for probing local ports, which answer at once or not at all.
const PROBE_TIMEOUT: Duration = Duration::from_millis(400);

/// Time after which local ports are probed again: a model server may start or stop at any time.
const DISCOVERY_TTL: Duration = Duration::from_secs(30);

/// The provider choice from the settings.
enum ProviderChoice {
    Provider(SelectedProvider),
    /// A model server on this machine, or else the client's model.
    DiscoverLocal,
    /// The client's model, through MCP sampling.
    ClientModel,
    /// No model: each call is suspended until the client replies.
    Client,
}

/// A provider's model with a description for people.
#[derive(Clone)]
pub(crate) struct SelectedProvider {
    pub(crate) model: Arc<dyn ChatModel>,
    /// Such as `langbase at https://api.langbase.com`.
    pub(crate) description: String,
}

/// Chooses the model of each call.
pub(crate) struct ProviderSelector {
    choice: ProviderChoice,
    settings: AppSettings,
    discovery: Mutex<Option<DiscoveryCache>>,
}

struct DiscoveryCache {
    checked_at: Instant,
    server: Option<LocalServer>,
    provider: Option<SelectedProvider>,
}

impl ProviderSelector {
    /// Chooses by the settings and reports invalid ones at once instead of at the first call.
    pub(crate) fn new(loaded: &LoadedConfig) -> Result<Self, ModelError> {
        Ok(Self {
            choice: selection::choose_provider(loaded)?,
            settings: loaded.settings.clone(),
            discovery: Mutex::default(),
        })
    }

    /// Returns the provider that works without a client, if there is one.
    pub(crate) async fn own_provider(&self) -> Option<SelectedProvider> {
        match &self.choice {
            ProviderChoice::Provider(provider) => Some(provider.clone()),
            ProviderChoice::DiscoverLocal => self.discover_local().await,
            ProviderChoice::ClientModel | ProviderChoice::Client => None,
        }
    }

    async fn discover_local(&self) -> Option<SelectedProvider> {
        let mut cache = self.discovery.lock().await;
        if let Some(cached) = cache.as_ref()
            && cached.checked_at.elapsed() < DISCOVERY_TTL
        {
            return cached.provider.clone();
        }
        let server = find_local(&ProbeTarget::defaults(), PROBE_TIMEOUT).await;
        let provider = match (cache.take(), &server) {
            // The same server keeps its model, which has learned the server's capabilities.
            (Some(cached), server) if cached.server == *server => cached.provider,
            (_, Some(server)) => self.build_discovered(server),
            (_, None) => None,
        };
        *cache = Some(DiscoveryCache {
            checked_at: Instant::now(),
            server,
            provider: provider.clone(),
        });
        provider
    }

    fn build_discovered(&self, server: &LocalServer) -> Option<SelectedProvider> {
        tracing::info!(
            provider = server.vendor,
            model = server.model,
            url = server.base_url,
            "found a model server on this machine"
        );
        let provider = selection::provider_named(&server.vendor).ok()?;
        let model = self.settings.model.clone();
        let model = model.unwrap_or_else(|| server.model.clone());
        let base_url = Some(server.base_url.clone());
        selection::from_endpoint(&self.settings, provider, None, base_url, Some(model)).ok()
    }
}

impl ModelSelector for ProviderSelector {
    fn choose(
        &self,
        offered: Option<Arc<dyn ChatModel>>,
    ) -> BoxFuture<'_, Option<Arc<dyn ChatModel>>> {
        Box::pin(async move {
            match self.choice {
                ProviderChoice::Client => None,
                ProviderChoice::ClientModel => offered,
                ProviderChoice::Provider(_) | ProviderChoice::DiscoverLocal => {
                    let own = self.own_provider().await;
                    own.map(|provider| provider.model).or(offered)
                }
            }
        })
    }
}
