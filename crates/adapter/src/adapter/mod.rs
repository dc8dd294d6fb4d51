//! The tools of several servers as functions: listed, filtered, named, and called with fallback.
//!
//! `config` holds and validates the configuration, `function_names` assigns names, `functions`
//! lists the functions, `execute` calls one. Connections are the client's concern.

mod config;
mod execute;
mod function_names;
mod functions;
mod interceptor;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::join_all;
use tokio::time::Instant;

pub use config::{
    AdapterConfig, BeforeFallback, FallbackPolicy, ListingFailure, NamePrefix, ToolFilter,
    ToolPredicate,
};
pub use deliberate_mcp_client::{
    client::ToolCallResult,
    tool_name::{MAX_NAME, qualified_tool_name},
};
pub use functions::{Function, Functions};
pub use interceptor::{Interceptor, Next, ToolInvocation};

use crate::{
    ClientError, McpClient,
    client::{ClientStatus, ToolDef},
    config::{ConfigProblem, ServerConfigError},
    schema::Parameters,
};

/// Several servers, used as one. It is cheap to clone, and it connects to a server when needed.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use deliberate_adapter::{
///     Adapter, AdapterConfig, ServerConfig,
///     adapter::{ListingFailure, ToolFilter},
/// };
/// use serde_json::json;
///
/// let config = AdapterConfig {
///     // The second server is called if the first fails, unless an effect could be repeated.
///     fallbacks: [("local".to_owned(), "remote".to_owned())].into(),
///     filter: ToolFilter {
///         except: vec!["write_*".to_owned()],
///         ..ToolFilter::default()
///     },
///     on_listing_failure: ListingFailure::Open,
///     ..AdapterConfig::from_servers([
///         ServerConfig::stdio("local", "npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]),
///         ServerConfig::http("remote", "https://files.example.com/mcp")?,
///     ])
/// };
/// let adapter = Adapter::new(config)?;
/// let functions = adapter.to_functions().await?;
/// for failed in &functions.errors {
///     eprintln!("{failed}");
/// }
/// if let Some(read) = functions.get("local__read_text_file") {
///     println!("{}", read.call(json!({ "path": "Cargo.toml" })).await?.text());
/// }
/// # Ok(())
/// # }
/// ```
///
/// All problems of a configuration are reported:
///
/// ```
/// use deliberate_adapter::{Adapter, AdapterConfig, ServerConfig};
///
/// let servers = [
///     ServerConfig::stdio("a b", "npx", ["server"]),
///     ServerConfig::stdio("files", "", [""; 0]),
/// ];
/// let error = Adapter::new(AdapterConfig::from_servers(servers)).unwrap_err();
/// assert_eq!(error.problems.len(), 2);
/// ```
#[derive(Clone)]
pub struct Adapter(Arc<AdapterInner>);

struct AdapterInner {
    clients: BTreeMap<String, McpClient>,
    config: AdapterConfig,
    parameters: Mutex<ParameterCache>,
}

/// The parameters of each tool, by server and tool name, with the definition they were read from.
type ParameterCache = HashMap<(String, String), (Arc<ToolDef>, Arc<Parameters>)>;

impl Adapter {
    /// Creates an adapter and reports all problems of the configuration. Does not connect.
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

    /// Creates an adapter from existing clients; `config.servers` is ignored.
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
        Self(Arc::new(AdapterInner {
            clients,
            config,
            parameters: Mutex::default(),
        }))
    }

    /// Returns the client of a server.
    pub fn client(&self, server: &str) -> Option<&McpClient> {
        self.0.clients.get(server)
    }

    /// Returns all clients, ordered by name.
    pub fn clients(&self) -> impl Iterator<Item = &McpClient> {
        self.0.clients.values()
    }

    /// Returns the configuration.
    pub fn config(&self) -> &AdapterConfig {
        &self.0.config
    }

    /// Returns the status of each server without asking it.
    pub fn status(&self) -> Vec<ClientStatus> {
        self.clients().map(McpClient::status).collect()
    }

    /// Pings each server and returns its status.
    pub async fn health(&self) -> Vec<(ClientStatus, Result<Duration, ClientError>)> {
        let asked = self.clients().map(|client| async move {
            let answer = client.ping().await;
            (client.status(), answer)
        });
        join_all(asked).await
    }

    /// Waits until all servers answer; returns the errors of those that do not within this time.
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

    /// Closes all connections.
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
