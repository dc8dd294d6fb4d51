//! Opens the client's connection once for all waiting callers and reopens it when it is lost, with
//! exponential backoff.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared as SharedFuture},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    McpConnection, McpRequest, handshake,
    incoming::{ConnectionEvent, ConnectionState},
};
use crate::{
    ClientError, ClientErrorKind,
    client::{McpClient, McpClientInner, ServerEvent},
    transport::{McpEra, TransportError},
};

/// The backoff after the first failure; each further failure doubles it.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// A connection that ends sooner than this counts as a failure, because the server may be in a
/// crash loop.
const MIN_STABLE_CONNECTION: Duration = Duration::from_secs(5);

type ConnectAttempt = SharedFuture<BoxFuture<'static, Result<Arc<McpConnection>, ClientError>>>;

/// A live connection, or the attempt to open one.
enum ConnectionOrAttempt {
    Live(Arc<McpConnection>),
    Pending(ConnectAttempt),
}

/// The state of connecting and reconnecting.
#[derive(Default)]
pub(crate) struct Reconnector {
    state: Mutex<ReconnectState>,
}

#[derive(Default)]
struct ReconnectState {
    attempt: Option<ConnectAttempt>,
    /// The number of consecutive failures.
    failures: u32,
    /// The time before which no attempt is made, and the reason.
    retry_at: Option<(Instant, String)>,
    /// The protocol era of the last connection.
    last_era: Option<McpEra>,
}

impl McpClient {
    /// Returns the live connection or opens a new one.
    pub(crate) async fn connection(&self) -> Result<Arc<McpConnection>, ClientError> {
        if let Some(live) = self.current_connection() {
            return Ok(live);
        }
        if self.inner.shutdown.is_cancelled() {
            return Err(self.stopped_error());
        }
        match self.connect_or_join()? {
            ConnectionOrAttempt::Live(live) => Ok(live),
            ConnectionOrAttempt::Pending(attempt) => attempt.await,
        }
    }

    /// Returns the live connection, if there is one.
    pub(crate) fn current_connection(&self) -> Option<Arc<McpConnection>> {
        let live = self
            .inner
            .connection
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        live.as_ref().filter(|live| live.is_live()).cloned()
    }

    pub(crate) fn take_connection(&self) -> Option<Arc<McpConnection>> {
        let mut live = self
            .inner
            .connection
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        live.take()
    }

    /// Joins the running attempt or starts a new one. All waiting callers share the attempt, and it
    /// continues if one of them stops waiting.
    fn connect_or_join(&self) -> Result<ConnectionOrAttempt, ClientError> {
        let mut state = self.inner.reconnect_state();
        if let Some(attempt) = &state.attempt {
            return Ok(ConnectionOrAttempt::Pending(attempt.clone()));
        }
        // Another caller may have connected in the meantime.
        if let Some(live) = self.current_connection() {
            return Ok(ConnectionOrAttempt::Live(live));
        }
        if let Some((until, because)) = &state.retry_at {
            let wait = until.saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                let because = because.clone();
                return Err(ClientError::new(
                    self.name(),
                    ClientErrorKind::Backoff {
                        wait,
                        reason: because,
                    },
                ));
            }
        }
        // The attempt holds no user handle, so it ends when the last user is dropped.
        let client = Self {
            user: None,
            ..self.clone()
        };
        let era = state.last_era;
        let running = tokio::spawn(async move {
            let outcome = connect(&client, era).await;
            // The attempt clears itself, because there may be no waiting caller left to do it.
            client.inner.reconnect_state().attempt = None;
            outcome
        });
        let name = self.name().to_owned();
        let attempt = async move {
            let ended = |_| Err(ClientError::new(name, ClientErrorKind::Stopped));
            running.await.unwrap_or_else(ended)
        };
        let attempt = attempt.boxed().shared();
        state.attempt = Some(attempt.clone());
        Ok(ConnectionOrAttempt::Pending(attempt))
    }

    /// Returns the remaining backoff after failures, if the client is in backoff.
    pub fn backoff_remaining(&self) -> Option<Duration> {
        let state = self.inner.reconnect_state();
        let (until, _) = state.retry_at.as_ref()?;
        let wait = until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    pub(crate) fn is_connecting(&self) -> bool {
        self.inner.reconnect_state().attempt.is_some()
    }
}

impl McpClientInner {
    fn reconnect_state(&self) -> std::sync::MutexGuard<'_, ReconnectState> {
        self.reconnector
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a connection that ended early. After the first one the next call reconnects at once;
    /// after a second one the backoff applies.
    fn record_short_connection(&self, because: String) {
        if self.reconnect_state().failures > 0 {
            return self.record_failure(because);
        }
        self.reconnect_state().failures = 1;
    }

    fn record_failure(&self, because: String) {
        let mut state = self.reconnect_state();
        state.failures = state.failures.saturating_add(1);
        let rest = MIN_BACKOFF
            .saturating_mul(1 << state.failures.saturating_sub(1).min(10))
            .min(MAX_BACKOFF);
        state.retry_at = Some((Instant::now() + rest, because));
    }

    /// Handles an event of the connection that concerns the client as a whole.
    fn on_connection_event(&self, news: ConnectionEvent) {
        match news {
            ConnectionEvent::Server(changed) => {
                self.listing_cache.invalidate(&changed);
                self.handler.on_server_event(&self.config.name, changed);
            }
            ConnectionEvent::Subscribed => {
                self.listing_cache.invalidate(&ServerEvent::ToolsChanged);
            }
            ConnectionEvent::Closed => self.on_disconnect(true),
            // The server is up and ended the session deliberately, so this is no failure.
            ConnectionEvent::SessionLost => self.on_disconnect(false),
        }
    }

    fn on_disconnect(&self, counts: bool) {
        let ended = {
            let live = self
                .connection
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            let is_news = |live: &&Arc<McpConnection>| {
                !live.is_live() && !live.end_handled.swap(true, Ordering::AcqRel)
            };
            let ended = live.as_ref().filter(is_news);
            ended.map(|live| (live.opened_at, live.state.end_reason.get().cloned()))
        };
        let Some((since, why)) = ended else {
            return;
        };
        let why = why.unwrap_or_else(|| "the connection ended".to_owned());
        self.metrics.record_disconnect(&why);
        self.listing_cache.invalidate(&ServerEvent::ToolsChanged);
        if since.elapsed() >= MIN_STABLE_CONNECTION {
            self.reconnect_state().failures = 0;
        } else if counts {
            self.record_short_connection(why);
        }
        self.handler
            .on_server_event(&self.config.name, ServerEvent::Disconnected);
    }
}

/// Opens a connection that is ready for requests and installs it.
async fn connect(
    client: &McpClient,
    era: Option<McpEra>,
) -> Result<Arc<McpConnection>, ClientError> {
    let limit = client.config().limits.connect_timeout;
    let outcome = tokio::select! {
        biased;
        () = client.inner.shutdown.cancelled() => Err(client.stopped_error()),
        outcome = tokio::time::timeout(limit, handshake::establish(client, era)) => {
            outcome.unwrap_or_else(|_| {
                Err(ClientError::new(client.name(), ClientErrorKind::Timeout { after: limit }))
            })
        }
    };
    match outcome {
        Ok(connection) => {
            let connection = Arc::new(connection);
            {
                // The failure count is reset only when the connection has lasted for a while.
                let mut state = client.inner.reconnect_state();
                state.retry_at = None;
                state.last_era = connection.server_info().map(|side| side.era);
            }
            client.inner.metrics.record_connect();
            // The previous connection has ended; callers that still wait for an answer on it keep
            // it alive.
            let live = client.inner.connection.write();
            let before = live
                .unwrap_or_else(PoisonError::into_inner)
                .replace(connection.clone());
            drop(before);
            subscribe_to_changes(&client.inner, &connection);
            client
                .inner
                .handler
                .on_server_event(client.name(), ServerEvent::Connected);
            // The connection may have ended, or the client may have been closed, before it was
            // installed.
            if client.inner.shutdown.is_cancelled() {
                client.close().await;
                return Err(client.stopped_error());
            }
            if !connection.is_live() {
                client.inner.on_disconnect(true);
            }
            Ok(connection)
        }
        Err(mut error) => {
            // Nothing that was exchanged so far was a call.
            error.delivery = crate::transport::DeliveryStatus::No;
            client.inner.metrics.record_connect_failure(&error);
            // No backoff for a rejected login: the user can log in at any time, and the next
            // attempt then succeeds.
            let refused = matches!(
                error.kind,
                ClientErrorKind::Transport(TransportError::Unauthorized { .. })
            );
            if !refused {
                client.inner.record_failure(error.to_string());
            }
            if matches!(
                error.kind,
                ClientErrorKind::Rpc(_) | ClientErrorKind::Malformed { .. }
            ) {
                // The server may use another era next time.
                client.inner.reconnect_state().last_era = None;
            }
            Err(error)
        }
    }
}

/// Creates the state that the reader of a new connection updates.
pub(crate) fn new_connection_state(client: &McpClient) -> Arc<ConnectionState> {
    let inner: Weak<McpClientInner> = Arc::downgrade(&client.inner);
    ConnectionState::new(
        client.name().to_owned(),
        client.inner.handler.clone(),
        move |news| {
            if let Some(inner) = inner.upgrade() {
                inner.on_connection_event(news);
            }
        },
    )
}

/// Subscribes to changes. Servers of 2026-07-28 report them to subscribers only.
fn subscribe_to_changes(inner: &Arc<McpClientInner>, connection: &Arc<McpConnection>) {
    let Some(side) = connection
        .server_info()
        .filter(|side| side.era == McpEra::Stateless)
    else {
        return;
    };
    let mut wanted = json!({});
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    for (capability, name) in lists {
        if let (true, Some(wanted)) = (
            side.supports_list_changed(capability),
            wanted.as_object_mut(),
        ) {
            wanted.insert(name.to_owned(), json!(true));
        }
    }
    if wanted.as_object().is_none_or(serde_json::Map::is_empty) {
        return;
    }
    let params = handshake::with_meta(inner, side, json!({ "notifications": wanted }));
    let (connection, ended) = (Arc::downgrade(connection), connection.state.ended.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => {}
            () = run_subscription(connection, params) => {}
        }
    });
}

async fn run_subscription(connection: Weak<McpConnection>, params: Value) {
    let mut rest = Duration::from_secs(1);
    loop {
        let begun = Instant::now();
        {
            let Some(connection) = connection.upgrade() else {
                return;
            };
            let asking = McpRequest {
                method: "subscriptions/listen".to_owned(),
                params: params.as_object().cloned().unwrap_or_default(),
                name: None,
                headers: Vec::new(),
                response_timeout: None,
                total_timeout: None,
                progress: None,
                wants_progress: false,
                handler: None,
                cancellable: true,
            };
            drop(connection.request(asking).await);
        }
        if begun.elapsed() > Duration::from_mins(1) {
            rest = Duration::from_secs(1);
        }
        tokio::time::sleep(rest).await;
        rest = (rest * 2).min(Duration::from_mins(5));
    }
}
