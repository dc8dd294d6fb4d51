//! The status of each server for health reports, without asking it.

use std::time::UNIX_EPOCH;

use deliberate_core::Timestamp;
use deliberate_mcp_client::client::ClientState;

use super::Gateway;

/// The status of a configured server.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamStatus {
    pub server: String,
    pub connection: UpstreamConnection,
    /// Why the server cannot be reached or is excluded.
    pub reason: Option<String>,
    /// When the server last accepted a connection or answered a call.
    pub last_success: Option<Timestamp>,
    /// The number of usable tools, once they are known.
    pub tools: Option<usize>,
    /// The number of quarantined tools, once they are known.
    pub quarantined: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamConnection {
    /// No connection was needed yet.
    Idle,
    Connecting,
    Connected,
    /// The last attempt to connect failed.
    Failed,
    /// The configuration is invalid.
    Excluded,
}

impl Gateway {
    /// Returns the status of each server, the excluded ones included.
    pub fn server_statuses(&self) -> Vec<UpstreamStatus> {
        let set = self.set();
        let excluded = set.excluded.iter().map(|(name, why)| UpstreamStatus {
            server: name.clone(),
            connection: UpstreamConnection::Excluded,
            reason: Some(why.clone()),
            last_success: None,
            tools: None,
            quarantined: None,
        });
        let used = self.status().into_iter().map(|status| {
            let catalog = set.get(&status.server).and_then(|it| it.catalog());
            let quarantined = catalog.as_ref().map(|catalog| {
                let held = catalog.tools.iter();
                held.filter(|tool| tool.quarantine.is_some()).count()
            });
            let connection = match status.state {
                ClientState::Ready => UpstreamConnection::Connected,
                ClientState::Connecting => UpstreamConnection::Connecting,
                _ if status.connect_failed => UpstreamConnection::Failed,
                ClientState::Resting => UpstreamConnection::Failed,
                ClientState::Idle | ClientState::Stopped => UpstreamConnection::Idle,
            };
            let last_success = status.last_success.and_then(|at| {
                let since = at.duration_since(UNIX_EPOCH).ok()?;
                Some(Timestamp::from_micros(
                    i64::try_from(since.as_micros()).ok()?,
                ))
            });
            UpstreamStatus {
                connection,
                reason: status
                    .last_error
                    .filter(|_| connection == UpstreamConnection::Failed),
                last_success,
                tools: catalog.map(|catalog| catalog.tools.len() - quarantined.unwrap_or_default()),
                quarantined: quarantined.filter(|count| *count > 0),
                server: status.server,
            }
        });
        used.chain(excluded).collect()
    }
}
