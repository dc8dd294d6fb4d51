//! Metrics for Prometheus.
//!
//! [`ServerMetrics`] receives the events of the dispatcher, and transports report theirs. Recording
//! takes one look-up and one addition, so that it is cheap enough for every call. No argument,
//! answer, id or client address is stored.

mod clients;
mod http;
mod labels;
mod listener;
mod process;
mod upstream;

pub use clients::{ClientGauge, ClientGuard};
pub use http::{routes, track_request};
pub use labels::{RejectionReason, TransportKind};

use std::{
    sync::{Mutex, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use axum::http::StatusCode;
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry as Book, Unit},
};

use deliberate_toolkit::Registry;

use labels::{
    BoundedNames, CallLabels, ModelRequestLabels, ProviderLabel, ReasonLabel, RequestLabels,
    RouteLabel, TokenLabels, ToolLabel, TransportLabel,
};
use upstream::UpstreamMetrics;

/// The scope that shows metrics and the details of the health report: they name callers, upstream
/// servers and tools.
pub(crate) const METRICS_SCOPE: &str = "metrics";

/// From a quick read to the longest duration of a call.
const CALL_BUCKETS: [f64; 14] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0,
];

/// Model requests take longer than anything else.
const MODEL_REQUEST_BUCKETS: [f64; 11] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The largest number of provider labels; the settings name one, and sampling adds another.
const MAX_PROVIDERS: usize = 32;

/// All metrics of the server.
pub struct ServerMetrics {
    prometheus: Book,
    calls: Family<CallLabels, Counter>,
    call_time: Family<ToolLabel, Histogram>,
    running: Gauge,
    waiting: Gauge,
    panics: Counter,
    asks: Family<ModelRequestLabels, Counter>,
    ask_time: Family<ProviderLabel, Histogram>,
    tokens: Family<TokenLabels, Counter>,
    cost: Family<ProviderLabel, Counter<f64, AtomicU64>>,
    providers: BoundedNames,
    upstream: UpstreamMetrics,
    clients: Family<TransportLabel, Gauge>,
    requests: Family<RequestLabels, Counter>,
    request_time: Family<RouteLabel, Histogram>,
    rejected: Family<ReasonLabel, Counter>,
    client_counts: Mutex<Vec<ClientCountSource>>,
}

/// A client count that a transport keeps and that is read on each scrape.
type ClientCountSource = (TransportKind, Box<dyn Fn() -> usize + Send + Sync>);

impl Default for ServerMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerMetrics {
    pub fn new() -> Self {
        let mut metrics = Self {
            prometheus: Book::default(),
            calls: Family::default(),
            call_time: Family::new_with_constructor(|| Histogram::new(CALL_BUCKETS)),
            running: Gauge::default(),
            waiting: Gauge::default(),
            panics: Counter::default(),
            asks: Family::default(),
            ask_time: Family::new_with_constructor(|| Histogram::new(MODEL_REQUEST_BUCKETS)),
            tokens: Family::default(),
            cost: Family::default(),
            providers: BoundedNames::new(MAX_PROVIDERS),
            upstream: UpstreamMetrics::default(),
            clients: Family::default(),
            requests: Family::default(),
            request_time: Family::new_with_constructor(|| Histogram::new(CALL_BUCKETS)),
            rejected: Family::default(),
            client_counts: Mutex::default(),
        };
        metrics.register_metrics();
        // Every reason starts at zero, so that alert rules can refer to it.
        for reason in RejectionReason::ALL {
            drop(metrics.rejected.get_or_create(&reason.label()));
        }
        for transport in TransportKind::ALL {
            drop(metrics.clients.get_or_create(&transport.label()));
        }
        metrics
    }

    fn register_metrics(&mut self) {
        self.prometheus
            .register_collector(Box::new(process::ProcessCollector::new()));
        let book = self.prometheus.sub_registry_with_prefix("deliberate");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        book.register("build", "The program", build);
        book.register(
            "calls",
            "Finished calls, by tool and outcome",
            self.calls.clone(),
        );
        book.register_with_unit(
            "call_duration",
            "Duration of calls, by tool",
            Unit::Seconds,
            self.call_time.clone(),
        );
        book.register("calls_running", "Running calls", self.running.clone());
        book.register("calls_waiting", "Queued calls", self.waiting.clone());
        book.register("panics", "Panics in calls", self.panics.clone());
        book.register(
            "model_asks",
            "Model requests, by provider and outcome",
            self.asks.clone(),
        );
        book.register_with_unit(
            "model_ask_duration",
            "Duration of model requests, by provider",
            Unit::Seconds,
            self.ask_time.clone(),
        );
        book.register(
            "model_tokens",
            "Tokens sent and received, by provider",
            self.tokens.clone(),
        );
        book.register(
            "model_cost_usd",
            "Cost of model requests, in US dollars",
            self.cost.clone(),
        );
        self.upstream.register(book);
        book.register(
            "clients",
            "Connected clients, by transport",
            self.clients.clone(),
        );
        book.register(
            "http_requests",
            "HTTP responses, by route and status class",
            self.requests.clone(),
        );
        book.register_with_unit(
            "http_request_duration",
            "Time to the headers of an HTTP response, by route",
            Unit::Seconds,
            self.request_time.clone(),
        );
        book.register(
            "http_rejected",
            "Rejected HTTP requests, by reason",
            self.rejected.clone(),
        );
    }

    /// The client gauge of a transport.
    pub fn clients(&self, transport: TransportKind) -> ClientGauge {
        ClientGauge(self.clients.get_or_create_owned(&transport.label()))
    }

    /// Uses `count` as the number of clients of the transport.
    pub fn add_client_count(
        &self,
        transport: TransportKind,
        count: impl Fn() -> usize + Send + Sync + 'static,
    ) {
        let mut watched = self
            .client_counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        watched.push((transport, Box::new(count)));
    }

    fn refresh_gauges(&self) {
        let watched = self
            .client_counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (transport, count) in watched.iter() {
            let gauge = self.clients.get_or_create(&transport.label());
            gauge.set(to_gauge_value(count()));
        }
    }

    /// Counts a rejected request.
    pub fn record_rejection(&self, reason: RejectionReason) {
        self.rejected.get_or_create(&reason.label()).inc();
    }

    /// Counts a response.
    fn record_response(&self, route: &'static str, status: StatusCode, took: Duration) {
        let status = labels::status_label(status);
        self.requests
            .get_or_create(&RequestLabels { route, status })
            .inc();
        self.request_time
            .get_or_create(&RouteLabel { route })
            .observe(took.as_secs_f64());
    }

    /// Renders all metrics as `OpenMetrics` text.
    pub fn render(&self, registry: &Registry) -> String {
        let (running, waiting) = registry.running_and_waiting();
        self.running.set(to_gauge_value(running));
        self.waiting.set(to_gauge_value(waiting));
        self.refresh_gauges();
        let mut text = String::with_capacity(16 * 1_024);
        // Writing to a `String` cannot fail.
        if encode(&mut text, &self.prometheus).is_err() {
            tracing::error!("the metrics cannot be encoded");
        }
        text
    }
}

fn to_gauge_value(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
