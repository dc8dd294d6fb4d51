//! Several servers' tools as functions: discovered, filtered, named, called with fallback.
//!
//! `config` says what is wanted and checks it, `names` gives each function a name of its own,
//! `functions` lists them, `execute` runs one. A connection is the client's business.

mod config;
mod execute;
mod functions;
mod interceptor;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::join_all;
use tokio::time::Instant;

pub use config::{
    AdapterConfig, BeforeFallback, FallbackPolicy, ListingFailure, NamePrefix, ToolFilter,
    ToolPredicate,
};
pub use execute::ToolCallResult;
pub use functions::{Function, Functions};
pub use interceptor::{Interceptor, Next, ToolInvocation};

use crate::{
    ClientError, McpClient,
    client::ClientStatus,
    config::{ConfigProblem, ServerConfigError},
};

/// Several servers, used as one. Cheap to clone; nothing is connected before it is needed.
///
/// ```no_run
/// # async fn shown() -> Result<(), Box<dyn std::error::Error>> {
/// use deliberate_adapter::{
///     Adapter, AdapterConfig, ServerConfig,
///     adapter::{Failing, Filter},
/// };
/// use serde_json::json;
///
/// let config = AdapterConfig {
///     // Should the first not be there, the second is asked, unless something could happen twice.
///     fallbacks: [("near".to_owned(), "far".to_owned())].into(),
///     filter: Filter {
///         except: vec!["write_*".to_owned()],
///         ..Filter::default()
///     },
///     failing: Failing::Open,
///     ..AdapterConfig::of([
///         ServerConfig::stdio("near", "npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]),
///         ServerConfig::http("far", "https://files.example.com/mcp")?,
///     ])
/// };
/// let adapter = Adapter::new(config)?;
/// let functions = adapter.to_functions().await?;
/// for failed in &functions.failed {
///     eprintln!("{failed}");
/// }
/// if let Some(read) = functions.get("near__read_text_file") {
///     println!("{}", read.call(json!({ "path": "Cargo.toml" })).await?.text());
/// }
/// # Ok(())
/// # }
/// ```
///
/// Every mistake in a configuration is named:
///
/// ```
/// use deliberate_adapter::{Adapter, AdapterConfig, ServerConfig};
///
/// let servers = [
///     ServerConfig::stdio("a b", "npx", ["server"]),
///     ServerConfig::stdio("files", "", [""; 0]),
/// ];
/// let error = Adapter::new(AdapterConfig::of(servers)).unwrap_err();
/// assert_eq!(error.mistakes.len(), 2);
/// ```
#[derive(Clone)]
pub struct Adapter(Arc<AdapterInner>);

struct AdapterInner {
    clients: BTreeMap<String, McpClient>,
    config: AdapterConfig,
}

impl Adapter {
    /// An adapter of these servers. Every mistake in the configuration is named.
    pub fn new(config: AdapterConfig) -> Result<Self, ServerConfigError> {
        let mut mistakes = config.problems();
        let mut clients = BTreeMap::new();
        for server in &config.servers {
            match McpClient::new(server.clone(), config.handler.clone()) {
                Ok(client) => {
                    clients.insert(server.name.clone(), client);
                }
                Err(error) => match error.kind {
                    crate::ClientErrorKind::Config(error) => mistakes.extend(error.problems),
                    _ => mistakes.push(ConfigProblem::new(server.name.as_str(), error.to_string())),
                },
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes.into());
        }
        Ok(Self::from_clients(clients, config))
    }

    /// An adapter of clients that are there already; `config.servers` is not looked at.
    pub fn with_clients(
        clients: impl IntoIterator<Item = McpClient>,
        config: AdapterConfig,
    ) -> Self {
        let clients = clients
            .into_iter()
            .map(|client| (client.name().to_owned(), client))
            .collect();
        Self::from_clients(clients, config)
    }

    fn from_clients(clients: BTreeMap<String, McpClient>, config: AdapterConfig) -> Self {
        Self(Arc::new(AdapterInner { clients, config }))
    }

    /// The client of that server.
    pub fn client(&self, server: &str) -> Option<&McpClient> {
        self.0.clients.get(server)
    }

    /// All clients, by name.
    pub fn clients(&self) -> impl Iterator<Item = &McpClient> {
        self.0.clients.values()
    }

    /// What was configured.
    pub fn config(&self) -> &AdapterConfig {
        &self.0.config
    }

    /// How the servers do; asks none of them.
    pub fn status(&self) -> Vec<ClientStatus> {
        self.clients().map(McpClient::status).collect()
    }

    /// How the servers do, each asked now.
    pub async fn health(&self) -> Vec<(ClientStatus, Result<Duration, ClientError>)> {
        let asked = self.clients().map(|client| async move {
            let answer = client.ping().await;
            (client.status(), answer)
        });
        join_all(asked).await
    }

    /// Waits until all servers answer, or says which do not within that time.
    pub async fn wait_ready(&self, within: Duration) -> Result<(), Vec<ClientError>> {
        let deadline = Instant::now() + within;
        let each = self.clients().map(|client| async move {
            loop {
                let waiting = tokio::time::timeout_at(deadline, client.server_info());
                let error = match waiting.await {
                    Ok(Ok(_)) => return Ok(()),
                    Ok(Err(error)) => error,
                    Err(_) => {
                        let kind = crate::ClientErrorKind::Timeout { after: within };
                        return Err(ClientError::new(client.name(), kind));
                    }
                };
                let wait = client
                    .backoff_remaining()
                    .unwrap_or(Duration::from_millis(50));
                if !error.is_transient() || Instant::now() + wait >= deadline {
                    return Err(error);
                }
                tokio::time::sleep(wait).await;
            }
        });
        let failed: Vec<ClientError> = join_all(each)
            .await
            .into_iter()
            .filter_map(Result::err)
            .collect();
        if failed.is_empty() {
            Ok(())
        } else {
            Err(failed)
        }
    }

    /// Ends all connections in good order.
    pub async fn close(&self) {
        join_all(self.clients().map(McpClient::close)).await;
    }
}

impl std::fmt::Debug for Adapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let servers: Vec<_> = self.0.clients.keys().collect();
        f.debug_struct("Adapter")
            .field("servers", &servers)
            .finish_non_exhaustive()
    }
}
