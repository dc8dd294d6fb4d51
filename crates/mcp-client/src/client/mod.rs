//! One server, as its callers see it: connected when it is needed, kept alive, shared by all.
//!
//! The rooms: `connect` makes and remakes the connection, `handshake` finds out how the server
//! speaks, `connection` is one live connection, `hearing` what the server says on it, `pending`
//! what waits, `lists` what the server has, `call` the requests. What bytes look like on the way is
//! the transport's business.

mod call_options;
mod connection;
mod handler;
mod listing_cache;
mod param_headers;
mod request;
mod status;
mod tool_def;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicBool},
};

use connection::McpConnection;
use connection::reconnect::Reconnector;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use listing_cache::ListingCache;
use serde_json::Value;
use status::ClientMetrics;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use call_options::{CallOptions, InputMode, McpProgress, ProgressListener, ResumedInput};
pub use handler::{ClientCapabilities, ClientHandler, NoClientHandler, ServerEvent};
pub use listing_cache::{CachePolicy, ToolList};
pub use status::{ClientState, ClientStatus};
pub use tool_def::ToolDef;

use crate::{
    ClientError, ClientErrorKind, ServerConfig,
    transport::{self, Connector, McpEra, http::Authorizer},
};

/// One server. Cheap to clone; all clones share the connection. Nothing is connected before the
/// first request; the connection ends when the last clone is dropped.
///
/// ```no_run
/// # async fn shown() -> Result<(), deliberate_adapter::Error> {
/// use std::{sync::Arc, time::Duration};
///
/// use deliberate_adapter::{
///     CallOptions, Client, ServerConfig,
///     client::{Fresh, NoHandler},
/// };
/// use serde_json::json;
///
/// let config = ServerConfig::stdio("clock", "uvx", ["mcp-server-time"]);
/// let client = Client::new(config, Arc::new(NoHandler))?;
/// for tool in &client.tools(Fresh::Cached).await?.tools {
///     println!("{}: {}", tool.name, tool.description().unwrap_or_default());
/// }
/// let options = CallOptions {
///     answer: Some(Duration::from_secs(5)),
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
pub struct McpClient(
    Arc<McpClientInner>,
    #[expect(dead_code, reason = "it is there to be dropped")] Option<Arc<ShutdownOnDrop>>,
);

/// Those who use a client. When the last has gone, what is under way for them ends.
struct ShutdownOnDrop(CancellationToken);

impl Drop for ShutdownOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct McpClientInner {
    config: ServerConfig,
    connector: Arc<dyn Connector>,
    /// The transport to try if the server refuses this one, and whether it is the one.
    fallback_connector: Option<Arc<dyn Connector>>,
    uses_fallback_connector: AtomicBool,
    handler: Arc<dyn ClientHandler>,
    connection: RwLock<Option<Arc<McpConnection>>>,
    reconnector: Reconnector,
    listing_cache: ListingCache,
    request_slots: Semaphore,
    /// Those that wait for one.
    queue_slots: Semaphore,
    rate_limiter: Option<DefaultDirectRateLimiter>,
    metrics: ClientMetrics,
    shutdown: CancellationToken,
}

/// What a server said of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerInfo {
    /// The era it is spoken to in.
    pub era: McpEra,
    /// The revision.
    pub version: String,
    /// Its name and version.
    pub info: Value,
    /// What it can do.
    pub capabilities: Value,
    /// What a model should know before it uses it.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// Whether it says that it has this.
    pub fn has_capability(&self, capability: &str) -> bool {
        self.capabilities
            .get(capability)
            .is_some_and(|value| !value.is_null())
    }

    /// Whether it tells when this list changes.
    pub(crate) fn supports_list_changed(&self, capability: &str) -> bool {
        let place = format!("/{capability}/listChanged");
        self.capabilities.pointer(&place) == Some(&Value::Bool(true))
    }
}

impl McpClient {
    /// A client for that server; `handler` answers what the server asks. Connects nothing.
    pub fn new(config: ServerConfig, handler: Arc<dyn ClientHandler>) -> Result<Self, ClientError> {
        let auth = transport::build_authorizer(&config);
        Self::build_with_authorizer(config, auth, handler)
    }

    /// The same, with someone of your own who logs us in.
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
        let connector = transport::build_connector(&config, auth.clone()).map_err(|error| {
            ClientError::new(config.name.as_str(), ClientErrorKind::Transport(error))
        })?;
        let older = transport::build_fallback_connector(&config, auth);
        Ok(Self::build(config, connector, older, handler))
    }

    /// The same with a transport of your own.
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
        let inner = McpClientInner {
            request_slots: Semaphore::new(limits.max_concurrent),
            queue_slots: Semaphore::new(limits.max_concurrent.saturating_mul(2)),
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
        Self(Arc::new(inner), Some(user))
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// Its configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.0.config
    }

    /// What the server says of itself. Connects if there is no connection.
    pub async fn server_info(&self) -> Result<Arc<ServerInfo>, ClientError> {
        let connection = self.connection().await?;
        connection
            .server_info()
            .cloned()
            .ok_or_else(|| self.stopped_error())
    }

    /// Ends the connection in good order; a program that was started ends. Later requests fail.
    pub async fn close(&self) {
        self.0.shutdown.cancel();
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
        // Who listens for changes holds the connection until it ends.
        let live = self
            .connection
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.take() {
            live.state.end("nobody needs it any more", true);
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
