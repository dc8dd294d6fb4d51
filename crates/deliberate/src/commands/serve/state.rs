//! How each transport is, for `/health` and for the reason why nothing is served.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_server::http::health::{TransportHealth, TransportState};

/// The transports, in the order they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Stdio,
    Http,
    Sse,
}

impl Name {
    const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];

    const fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    fn address(self, bound: SocketAddr) -> String {
        match self {
            Self::Sse => format!("http://{bound}/sse"),
            Self::Http | Self::Stdio => format!("http://{bound}/mcp"),
        }
    }
}

/// How they are. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct States(Arc<Mutex<BTreeMap<Name, TransportHealth>>>);

impl States {
    pub(super) fn serving(&self, name: Name, bound: Option<SocketAddr>) {
        let address = bound.map(|bound| name.address(bound));
        self.set(name, TransportState::Serving, address, None);
    }

    pub(super) fn failed(&self, name: Name, reason: String) {
        self.set(name, TransportState::Failed, None, Some(reason));
    }

    pub(super) fn off(&self, name: Name) {
        self.set(name, TransportState::Off, None, None);
    }

    fn set(
        &self,
        name: Name,
        state: TransportState,
        address: Option<String>,
        reason: Option<String>,
    ) {
        let health = TransportHealth {
            name: name.word(),
            state,
            address,
            reason,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name, health);
    }

    /// All of them; those of which nothing is known are off.
    pub(super) fn all(&self) -> Vec<TransportHealth> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Name::ALL
            .into_iter()
            .map(|name| {
                known.get(&name).cloned().unwrap_or(TransportHealth {
                    name: name.word(),
                    state: TransportState::Off,
                    address: None,
                    reason: None,
                })
            })
            .collect()
    }

    /// Why those that failed did.
    pub(super) fn reasons(&self) -> String {
        let reasons: BTreeSet<String> = self.all().into_iter().filter_map(|it| it.reason).collect();
        let reasons: Vec<String> = reasons.into_iter().collect();
        reasons.join("; ")
    }
}
