//! The connections to one server: one that all callers share, and those of single principals.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use deliberate_mcp_client::{ClientError, ClientErrorKind, McpClient};
use futures::future::join_all;
use tokio::time::Instant;

use super::{ClientFactory, UpstreamActivity, UpstreamHandler};
use crate::{GatewayServer, SessionMode};

/// The maximum number of connections of principals to one server.
const MAX_OWN: usize = 32;
/// The time after which the unused connection of a principal is closed.
const IDLE_TIME: Duration = Duration::from_mins(10);

pub(crate) struct ClientPool {
    shared: McpClient,
    settings: GatewayServer,
    factory: ClientFactory,
    own: Arc<Mutex<HashMap<String, OwnClient>>>,
}

/// The connection of a principal.
struct OwnClient {
    client: McpClient,
    last_used: Instant,
}

impl OwnClient {
    /// Tells whether a call uses the connection; a call holds a clone from its beginning to its end.
    fn is_busy(&self) -> bool {
        self.client.has_other_users()
    }
}

impl ClientPool {
    /// Creates the pool with the shared client. Does not connect.
    pub(super) fn new(
        settings: GatewayServer,
        factory: ClientFactory,
        activity: Arc<UpstreamActivity>,
    ) -> Result<Self, ClientError> {
        let handler = UpstreamHandler {
            sampling: settings.sampling,
            activity,
        };
        Ok(Self {
            shared: factory(&settings, Arc::new(handler))?,
            settings,
            factory,
            own: Arc::default(),
        })
    }

    /// Returns the client that lists tools and serves all callers without one of their own.
    pub(crate) fn shared(&self) -> &McpClient {
        &self.shared
    }

    /// Returns the client for a call of a principal, to be kept until the call ends: its own, or the
    /// shared one, of which it takes no more than its share.
    pub(crate) fn client(&self, principal: Option<&str>) -> Result<McpClient, ClientError> {
        match principal.filter(|name| self.has_own(name)) {
            Some(name) => self.own_client(name),
            None => Ok(self.shared.for_principal(principal)),
        }
    }

    /// Tells whether a principal has a connection of its own. The operator, who has no name, uses the
    /// shared one.
    fn has_own(&self, principal: &str) -> bool {
        self.settings.session == SessionMode::PerClient
            || self.settings.principals.contains_key(principal)
    }

    fn own_client(&self, name: &str) -> Result<McpClient, ClientError> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = own.get_mut(name) {
            known.last_used = Instant::now();
            return Ok(known.client.clone());
        }
        if own.len() >= MAX_OWN {
            let idle = own.iter().filter(|(_, it)| !it.is_busy());
            let oldest = idle.min_by_key(|(_, it)| it.last_used);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                let busy = ClientErrorKind::Backoff {
                    wait: Duration::from_secs(5),
                    reason: format!("{MAX_OWN} users have calls running there"),
                };
                return Err(ClientError::new(self.shared.name(), busy));
            };
            close_later(own.remove(&oldest));
        }
        let mut settings = self.settings.clone();
        settings.config = self.settings.config_for(name);
        let handler = UpstreamHandler {
            sampling: settings.sampling,
            // Definitions come from the shared connection, so its events alone count.
            activity: Arc::default(),
        };
        let client = (self.factory)(&settings, Arc::new(handler))?;
        own.insert(
            name.to_owned(),
            OwnClient {
                client: client.clone(),
                last_used: Instant::now(),
            },
        );
        tokio::spawn(close_when_idle(Arc::downgrade(&self.own), name.to_owned()));
        Ok(client)
    }

    /// Closes all connections.
    pub(super) async fn close(&self) {
        let own: Vec<McpClient> = {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            own.drain().map(|(_, it)| it.client).collect()
        };
        let all = own.iter().chain([&self.shared]);
        join_all(all.map(McpClient::close)).await;
    }
}

/// Closes a principal's connection when it was not used for some time.
async fn close_when_idle(pool: Weak<Mutex<HashMap<String, OwnClient>>>, name: String) {
    loop {
        tokio::time::sleep(IDLE_TIME / 2).await;
        let Some(own) = pool.upgrade() else { return };
        let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
        match own.get(&name) {
            None => return,
            Some(it) if it.last_used.elapsed() < IDLE_TIME || it.is_busy() => {}
            Some(_) => return close_later(own.remove(&name)),
        }
    }
}

fn close_later(own: Option<OwnClient>) {
    if let Some(own) = own {
        tokio::spawn(async move { own.client.close().await });
    }
}
