//! One server, as its callers see it: connected when it is needed, kept alive, shared by all.
//!
//! The rooms: `connect` makes and remakes the connection, `handshake` finds out how the server
//! speaks, `connection` is one live connection, `hearing` what the server says on it, `pending`
//! what waits, `lists` what the server has, `call` the requests. What bytes look like on the way is
//! the transport's business.

mod call;
mod connect;
mod connection;
mod handler;
mod handshake;
mod headers;
mod hearing;
mod lists;
mod options;
mod pending;
mod status;
mod tool;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicBool},
};

use connect::Connecting;
use connection::Connection;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use lists::Lists;
use serde_json::Value;
use status::Counts;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use handler::{Changed, Handler, NoHandler, Offers};
pub use lists::{Fresh, ToolList};
pub use options::{Again, CallOptions, InputMode, Progress, ProgressListener};
pub use status::{State, Status};
pub use tool::ToolDef;

use crate::{
    Error, ErrorKind, ServerConfig,
    transport::{self, Connector, Era, http::Authorizer},
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
pub struct Client(
    Arc<Inner>,
    #[expect(dead_code, reason = "it is there to be dropped")] Option<Arc<User>>,
);

/// Those who use a client. When the last has gone, what is under way for them ends.
struct User(CancellationToken);

impl Drop for User {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct Inner {
    config: ServerConfig,
    connector: Arc<dyn Connector>,
    /// The transport to try if the server refuses this one, and whether it is the one.
    older: Option<Arc<dyn Connector>>,
    is_older: AtomicBool,
    handler: Arc<dyn Handler>,
    live: RwLock<Option<Arc<Connection>>>,
    connecting: Connecting,
    lists: Lists,
    places: Semaphore,
    /// Those that wait for one.
    waiting: Semaphore,
    pace: Option<DefaultDirectRateLimiter>,
    counts: Counts,
    stopped: CancellationToken,
}

/// What a server said of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSide {
    /// The era it is spoken to in.
    pub era: Era,
    /// The revision.
    pub version: String,
    /// Its name and version.
    pub info: Value,
    /// What it can do.
    pub capabilities: Value,
    /// What a model should know before it uses it.
    pub instructions: Option<String>,
}

impl ServerSide {
    /// Whether it says that it has this.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities
            .get(capability)
            .is_some_and(|value| !value.is_null())
    }

    /// Whether it tells when this list changes.
    pub(crate) fn tells_changes(&self, capability: &str) -> bool {
        let place = format!("/{capability}/listChanged");
        self.capabilities.pointer(&place) == Some(&Value::Bool(true))
    }
}

impl Client {
    /// A client for that server; `handler` answers what the server asks. Connects nothing.
    pub fn new(config: ServerConfig, handler: Arc<dyn Handler>) -> Result<Self, Error> {
        let auth = transport::authorizer(&config);
        Self::logged_in(config, auth, handler)
    }

    /// The same, with someone of your own who logs us in.
    pub fn with_authorizer(
        config: ServerConfig,
        auth: Arc<dyn Authorizer>,
        handler: Arc<dyn Handler>,
    ) -> Result<Self, Error> {
        Self::logged_in(config, Some(auth), handler)
    }

    fn logged_in(
        config: ServerConfig,
        auth: Option<Arc<dyn Authorizer>>,
        handler: Arc<dyn Handler>,
    ) -> Result<Self, Error> {
        config
            .check()
            .map_err(|error| Error::new(config.name.as_str(), ErrorKind::Config(error)))?;
        let connector = transport::connector(&config, auth.clone())
            .map_err(|error| Error::new(config.name.as_str(), ErrorKind::Transport(error)))?;
        let older = transport::older_connector(&config, auth);
        Ok(Self::made(config, connector, older, handler))
    }

    /// The same with a transport of your own.
    pub fn with_connector(
        config: ServerConfig,
        connector: Arc<dyn Connector>,
        handler: Arc<dyn Handler>,
    ) -> Self {
        Self::made(config, connector, None, handler)
    }

    fn made(
        config: ServerConfig,
        connector: Arc<dyn Connector>,
        older: Option<Arc<dyn Connector>>,
        handler: Arc<dyn Handler>,
    ) -> Self {
        let limits = &config.limits;
        let per_minute = limits.per_minute.and_then(std::num::NonZeroU32::new);
        let stopped = CancellationToken::new();
        let user = Arc::new(User(stopped.clone()));
        let inner = Inner {
            places: Semaphore::new(limits.at_once),
            waiting: Semaphore::new(limits.at_once.saturating_mul(2)),
            pace: per_minute.map(|most| RateLimiter::direct(Quota::per_minute(most))),
            config,
            connector,
            older,
            is_older: AtomicBool::new(false),
            handler,
            live: RwLock::default(),
            connecting: Connecting::default(),
            lists: Lists::default(),
            counts: Counts::default(),
            stopped,
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
    pub async fn server(&self) -> Result<Arc<ServerSide>, Error> {
        let connection = self.connection().await?;
        connection.side().cloned().ok_or_else(|| self.stopped())
    }

    /// Ends the connection in good order; a program that was started ends. Later requests fail.
    pub async fn close(&self) {
        self.0.stopped.cancel();
        if let Some(connection) = self.take_live() {
            connection.shared.end("the client was closed", true);
            connection.link.close().await;
        }
    }

    fn stopped(&self) -> Error {
        Error::new(self.name(), ErrorKind::Stopped)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Who listens for changes holds the connection until it ends.
        let live = self.live.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.take() {
            live.shared.end("nobody needs it any more", true);
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.name())
            .finish_non_exhaustive()
    }
}
