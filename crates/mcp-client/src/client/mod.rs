//! A client for one MCP server: it connects on demand, reconnects, and is shared by all its
//! callers.
//!
//! `connection` opens, negotiates and reads one connection; `request` sends requests;
//! `listing_cache` lists tools, resources and prompts. The byte format is the transport's concern.

mod call_options;
mod checked_call;
mod connection;
mod handler;
mod listing_cache;
mod param_headers;
mod request;
mod result_form;
mod status;
mod tool_def;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicBool},
};

use connection::McpConnection;
use connection::reconnect::Reconnector;
use deliberate_core::{FairPermits, PermitHolder};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use listing_cache::ListingCache;
use serde_json::Value;
use status::ClientMetrics;
use tokio_util::sync::CancellationToken;

pub use call_options::{
    CallOptions, CheckRunner, InputMode, McpProgress, ProgressListener, ResumedInput,
};
pub use checked_call::{FailedCall, ToolCallResult};
pub use handler::{ClientCapabilities, ClientHandler, NoClientHandler, ServerEvent};
pub use listing_cache::{CachePolicy, ToolList};
pub use status::{ClientState, ClientStatus};
pub use tool_def::ToolDef;

use crate::{
    ClientError, ClientErrorKind, ServerConfig,
    transport::{self, Connector, McpEra, http::Authorizer},
};

/// A client for one server. It is cheap to clone, and all clones share the connection, which opens
/// with the first request and closes when the last clone is dropped.
///
/// ```no_run
/// # async fn example() -> Result<(), deliberate_mcp_client::ClientError> {
/// use std::{sync::Arc, time::Duration};
///
/// use deliberate_mcp_client::{
///     CallOptions, McpClient, ServerConfig,
///     client::{CachePolicy, NoClientHandler},
/// };
/// use serde_json::json;
///
/// let config = ServerConfig::stdio("clock", "uvx", ["mcp-server-time"]);
/// let client = McpClient::new(config, Arc::new(NoClientHandler))?;
/// for tool in &client.tools(CachePolicy::Cached).await?.tools {
///     println!("{}: {}", tool.name, tool.description().unwrap_or_default());
/// }
/// let options = CallOptions {
///     response_timeout: Some(Duration::from_secs(5)),
///     progress: Some(Arc::new(|progress| println!("{}", progress.done))),
///     ..CallOptions::default()
/// };
/// let result = client
///     .call("get_current_time", json!({ "timezone": "Europe/Berlin" }), options)
///     .await?;
/// println!("{}", result["content"][0]["text"]);
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpClient {
    inner: Arc<McpClientInner>,
    /// Absent in the client's own background tasks, which do not keep it open.
    user: Option<Arc<ShutdownOnDrop>>,
    /// The principal whose requests these are.
    holder: PermitHolder,
}

/// Cancels the client's background work when the last clone of the client is dropped.
struct ShutdownOnDrop(CancellationToken);

impl Drop for ShutdownOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct McpClientInner {
    config: ServerConfig,
    connector: Arc<dyn Connector>,
    /// The transport to try if the server rejects this one, and whether it is in use.
    fallback_connector: Option<Arc<dyn Connector>>,
    uses_fallback_connector: AtomicBool,
    handler: Arc<dyn ClientHandler>,
    connection: RwLock<Option<Arc<McpConnection>>>,
    reconnector: Reconnector,
    listing_cache: ListingCache,
    request_slots: Arc<FairPermits>,
    /// Limits the requests that wait for a slot.
    queue_slots: Arc<FairPermits>,
    rate_limiter: Option<DefaultDirectRateLimiter>,
    metrics: ClientMetrics,
    shutdown: CancellationToken,
}

/// What a server reported about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerInfo {
    /// The protocol era of the connection.
    pub era: McpEra,
    /// The protocol revision.
    pub version: String,
    /// The server's name and version.
    pub info: Value,
    /// The server's capabilities.
    pub capabilities: Value,
    /// The server's instructions for a model.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// Returns true if the server declares this capability.
    pub fn has_capability(&self, capability: &str) -> bool {
        self.capabilities
            .get(capability)
            .is_some_and(|value| !value.is_null())
    }

    /// Returns true if the server reports changes of this list.
    pub(crate) fn supports_list_changed(&self, capability: &str) -> bool {
        let place = format!("/{capability}/listChanged");
        self.capabilities.pointer(&place) == Some(&Value::Bool(true))
    }
}

impl McpClient {
    /// Creates a client for a server; `handler` answers the server's requests. Does not connect.
    pub fn new(config: ServerConfig, handler: Arc<dyn ClientHandler>) -> Result<Self, ClientError> {
        let auth = transport::build_authorizer(&config);
        Self::build_with_authorizer(config, auth, handler)
    }

    /// Creates a client that logs in with the given authorizer.
    pub fn with_authorizer(
        config: ServerConfig,
        auth: Arc<dyn Authorizer>,
        handler: Arc<dyn ClientHandler>,
    ) -> Result<Self, ClientError> {
        Self::build_with_authorizer(config, Some(auth), handler)
    }

    fn build_with_authorizer(
        config: ServerConfig,
        auth: Option<Arc<dyn Authorizer>>,
        handler: Arc<dyn ClientHandler>,
    ) -> Result<Self, ClientError> {
        config.check().map_err(|error| {
            ClientError::new(config.name.as_str(), ClientErrorKind::Config(error))
        })?;
        let unusable =
            |error| ClientError::new(config.name.as_str(), ClientErrorKind::Transport(error));
        let connector = transport::build_connector(&config, auth.clone()).map_err(unusable)?;
        let older = transport::build_fallback_connector(&config, auth).map_err(unusable)?;
        Ok(Self::build(config, connector, older, handler))
    }

    /// Creates a client with the given transport.
    pub fn with_connector(
        config: ServerConfig,
        connector: Arc<dyn Connector>,
        handler: Arc<dyn ClientHandler>,
    ) -> Self {
        Self::build(config, connector, None, handler)
    }

    fn build(
        config: ServerConfig,
        connector: Arc<dyn Connector>,
        older: Option<Arc<dyn Connector>>,
        handler: Arc<dyn ClientHandler>,
    ) -> Self {
        let limits = &config.limits;
        let per_minute = limits.per_minute.and_then(std::num::NonZeroU32::new);
        let stopped = CancellationToken::new();
        let user = Arc::new(ShutdownOnDrop(stopped.clone()));
        let slots = |most| FairPermits::new(most, limits.principal_share);
        let inner = McpClientInner {
            request_slots: slots(limits.max_concurrent),
            queue_slots: slots(limits.max_concurrent.saturating_mul(2)),
            rate_limiter: per_minute.map(|most| RateLimiter::direct(Quota::per_minute(most))),
            config,
            connector,
            fallback_connector: older,
            uses_fallback_connector: AtomicBool::new(false),
            handler,
            connection: RwLock::default(),
            reconnector: Reconnector::default(),
            listing_cache: ListingCache::default(),
            metrics: ClientMetrics::default(),
            shutdown: stopped,
        };
        Self {
            inner: Arc::new(inner),
            user: Some(user),
            holder: None,
        }
    }

    /// Returns a clone whose requests count for this principal, who takes at most its share of the
    /// requests that are sent or wait at the same time.
    pub fn for_principal(&self, principal: Option<&str>) -> Self {
        Self {
            holder: principal.map(Arc::from),
            ..self.clone()
        }
    }

    /// Returns the server's name.
    pub fn name(&self) -> &str {
        &self.inner.config.name
    }

    /// Returns the server's configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.inner.config
    }

    /// Returns true if there are other clones of this client.
    pub fn has_other_users(&self) -> bool {
        let user = self.user.as_ref();
        user.is_some_and(|user| Arc::strong_count(user) > 1)
    }

    /// Returns what the server reported about itself. Connects if there is no connection.
    pub async fn server_info(&self) -> Result<Arc<ServerInfo>, ClientError> {
        let connection = self.connection().await?;
        connection
            .server_info()
            .cloned()
            .ok_or_else(|| self.stopped_error())
    }

    /// Closes the connection; a program that was started is terminated. Later requests fail.
    pub async fn close(&self) {
        self.inner.shutdown.cancel();
        if let Some(connection) = self.take_connection() {
            connection.state.end("the client was closed", true);
            connection.transport.close().await;
        }
    }

    fn stopped_error(&self) -> ClientError {
        ClientError::new(self.name(), ClientErrorKind::Stopped)
    }
}

impl Drop for McpClientInner {
    fn drop(&mut self) {
        // The task that listens for changes keeps the connection alive until it ends.
        let live = self
            .connection
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.take() {
            live.state.end("the last client was dropped", true);
        }
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient")
            .field("server", &self.name())
            .finish_non_exhaustive()
    }
}
