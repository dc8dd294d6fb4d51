//! A mock of the model providers: Langbase, OpenAI-compatible and Anthropic on one loopback
//! listener, told apart by path. It checks what the real providers check, answers in their formats,
//! records every request, and fails on demand.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use deliberate_testkit::{MockFault, MockProvider};
//!
//! let provider = MockProvider::start().await?;
//! provider.push_fault(MockFault::status(503));
//! // … drive something that asks `provider.url()` with the key `provider.key()` …
//! assert_eq!(provider.model_requests().len(), 2);
//! # Ok(())
//! # }
//! ```

mod anthropic;
mod control;
mod default_reply;
mod fault;
mod handler;
mod langbase;
mod listener;
mod openai;
mod prompt_text;
mod request_log;
mod scripted_answers;
mod settings;
mod sse;

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    routing::{get, post},
};
use serde_json::Value;
use tokio::task::JoinHandle;

pub use fault::MockFault;
pub use request_log::{KeyCheck, RequestKind, RequestOutcome, RequestRecord};
pub use scripted_answers::ScriptedAnswer;
pub use settings::MockSettings;

use listener::{CutSwitch, CuttableConnection, CuttableListener};
use request_log::MockState;

/// The key that a mock provider accepts by default.
pub const KEY: &str = "stand-in-key";

/// A running mock provider. It ends when dropped.
#[derive(Debug)]
pub struct MockProvider {
    address: SocketAddr,
    state: Arc<MockState>,
    power: CutSwitch,
    server: JoinHandle<()>,
}

impl MockProvider {
    /// Starts a mock provider on a free loopback port with [`MockSettings::default`].
    pub async fn start() -> io::Result<Self> {
        Self::start_with(MockSettings::default(), 0).await
    }

    /// Starts a mock provider with the given settings on `port`; 0 picks a free one.
    pub async fn start_with(settings: MockSettings, port: u16) -> io::Result<Self> {
        let power = CutSwitch::default();
        let listener = CuttableListener::bind(port, power.clone()).await?;
        let address = listener.address()?;
        let state = Arc::new(MockState::new(settings));
        let routes =
            routes(Arc::clone(&state)).into_make_service_with_connect_info::<CuttableConnection>();
        let server = tokio::spawn(async move {
            // `serve` only ends when the task is aborted.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self {
            address,
            state,
            power,
            server,
        })
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns `http://127.0.0.1:PORT`, the base URL for Langbase and Anthropic.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns `http://127.0.0.1:PORT/v1`, the base URL for the `OpenAI` kind.
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Returns the key it accepts; empty if it accepts any.
    pub fn key(&self) -> String {
        self.state
            .read(|inner| inner.settings.key.clone().unwrap_or_default())
    }

    /// Queues a fault for the next model request; each request takes one.
    pub fn push_fault(&self, fault: MockFault) {
        self.state.write(|inner| inner.ask_faults.push_back(fault));
    }

    /// Queues a fault for the next request about pipes (create, update, list).
    pub fn push_pipe_fault(&self, fault: MockFault) {
        self.state.write(|inner| inner.pipe_faults.push_back(fault));
    }

    /// Sets the fault of every model request that has no queued one.
    pub fn set_default_fault(&self, fault: MockFault) {
        self.state.write(|inner| inner.default_fault = Some(fault));
    }

    /// Sets the scripted answers, replacing earlier ones. A model request without a fault gets the
    /// first answer that applies, or the default reply.
    pub fn set_scripted_answers(&self, rules: Vec<ScriptedAnswer>) {
        self.state.write(|inner| inner.rules = rules);
    }

    /// Changes settings while it runs.
    pub fn update_settings(&self, change: impl FnOnce(&mut MockSettings)) {
        self.state.write(|inner| change(&mut inner.settings));
    }

    /// Clears faults, scripted answers, records, pipes, threads and counters; settings stay.
    pub fn reset(&self) {
        self.state.reset();
    }

    /// Returns all requests so far, oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.state.read(|inner| inner.records.clone())
    }

    /// Returns the model requests.
    pub fn model_requests(&self) -> Vec<RequestRecord> {
        self.requests_of_kind(RequestKind::Ask)
    }

    /// Returns the requests that created or updated a pipe.
    pub fn pipe_writes(&self) -> Vec<RequestRecord> {
        self.requests_of_kind(RequestKind::CreatePipe)
    }

    /// Returns the size of the newest model request's body.
    pub fn last_ask_bytes(&self) -> Option<usize> {
        self.state.read(|inner| {
            let newest = inner
                .records
                .iter()
                .rev()
                .find(|r| r.kind == RequestKind::Ask);
            newest.map(|record| record.body_bytes)
        })
    }

    /// Returns the highest number of concurrent model requests so far.
    pub fn peak_concurrency(&self) -> usize {
        self.state.read(|inner| inner.peak)
    }

    /// Returns the number of model requests in progress.
    pub fn in_flight(&self) -> usize {
        self.state.read(|inner| inner.in_flight)
    }

    /// Returns the existing pipes: the last body that created or updated each, by name.
    pub fn pipes(&self) -> Vec<(String, Value)> {
        self.state.read(|inner| {
            let pipes = inner.pipes.iter();
            pipes
                .map(|(name, body)| (name.clone(), body.clone()))
                .collect()
        })
    }

    /// Adds a pipe as if its owner had created it.
    pub fn add_pipe(&self, name: &str, body: Value) {
        self.state
            .write(|inner| inner.pipes.insert(name.to_owned(), body));
    }

    /// Returns how many creations overwrote an existing pipe.
    pub fn overwritten_pipes(&self) -> usize {
        self.state.read(|inner| inner.overwritten)
    }

    /// Returns the issued thread ids, oldest first.
    pub fn threads(&self) -> Vec<String> {
        self.state.read(|inner| inner.threads.clone())
    }

    fn requests_of_kind(&self, kind: RequestKind) -> Vec<RequestRecord> {
        self.state.read(|inner| {
            let records = inner.records.iter();
            records
                .filter(|record| record.kind == kind)
                .cloned()
                .collect()
        })
    }
}

impl Drop for MockProvider {
    fn drop(&mut self) {
        // Connections outlive the listener's task, so they are cut separately.
        self.power.turn_off();
        self.server.abort();
    }
}

fn routes(state: Arc<MockState>) -> Router {
    Router::new()
        .route("/v1/pipes/run", post(langbase::run))
        .route("/v1/pipes", post(langbase::create).get(langbase::list))
        .route("/v1/pipes/{name}", post(langbase::update))
        .route("/v1/chat/completions", post(openai::complete))
        .route("/v1/models", get(openai::models))
        .route("/v1/messages", post(anthropic::messages))
        .route("/_control", post(control::apply_control))
        .route("/_requests", get(control::show_state))
        .fallback(handler::handle_unknown)
        .layer(axum::extract::DefaultBodyLimit::max(256 << 20))
        .with_state(state)
}

#[cfg(test)]
mod tests;
