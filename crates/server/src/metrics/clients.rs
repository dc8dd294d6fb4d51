//! Gauges of connected clients.

use prometheus_client::metrics::gauge::Gauge;

/// Counts the clients of one transport. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ClientGauge(pub(super) Gauge);

/// Counts one client until it is dropped.
#[derive(Debug)]
#[must_use = "the client is counted only as long as this lives"]
pub struct ClientGuard(Gauge);

impl ClientGauge {
    /// Adds a client.
    pub fn add_client(&self) -> ClientGuard {
        self.0.inc();
        ClientGuard(self.0.clone())
    }

    pub fn count(&self) -> i64 {
        self.0.get()
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
