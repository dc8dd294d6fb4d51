//! State of each transport, for `/health` and for the error if nothing is served.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_server::http::health::{TransportHealth, TransportState};

/// The transports, in the order in which they are displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TransportName {
    Stdio,
    Http,
    Sse,
}

impl TransportName {
    const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    fn url(self, bound: SocketAddr) -> String {
        match self {
            Self::Sse => format!("http://{bound}/sse"),
            Self::Http | Self::Stdio => format!("http://{bound}/mcp"),
        }
    }
}

/// State of each transport. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(super) struct TransportStates(Arc<Mutex<BTreeMap<TransportName, TransportHealth>>>);

impl TransportStates {
    pub(super) fn set_serving(&self, name: TransportName, bound: Option<SocketAddr>) {
        let address = bound.map(|bound| name.url(bound));
        self.set(name, TransportState::Serving, address, None);
    }

    pub(super) fn set_failed(&self, name: TransportName, reason: String) {
        self.set(name, TransportState::Failed, None, Some(reason));
    }

    pub(super) fn set_off(&self, name: TransportName) {
        self.set(name, TransportState::Off, None, None);
    }

    fn set(
        &self,
        name: TransportName,
        state: TransportState,
        address: Option<String>,
        reason: Option<String>,
    ) {
        let health = TransportHealth {
            name: name.as_str(),
            state,
            address,
            reason,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, health);
    }

    /// Returns all transports; those without a state are off.
    pub(super) fn list(&self) -> Vec<TransportHealth> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        TransportName::ALL
            .into_iter()
            .map(|name| {
                known.get(&name).cloned().unwrap_or(TransportHealth {
                    name: name.as_str(),
                    state: TransportState::Off,
                    address: None,
                    reason: None,
                })
            })
            .collect()
    }

    /// Returns why transports failed.
    pub(super) fn failure_reasons(&self) -> String {
        let reasons: BTreeSet<String> =
            self.list().into_iter().filter_map(|it| it.reason).collect();
        let reasons: Vec<String> = reasons.into_iter().collect();
        reasons.join("; ")
    }
}
