//! What is counted, for Prometheus.
//!
//! [`ServerMetrics`] hears what happens at the gate, and transports tell it what happens at the door.
//! Recording takes a look-up and an addition, so that it can be done on every call. It counts and
//! never keeps: no argument, answer, id or address of a client is in it.

mod clients;
mod http;
mod labels;
mod listener;
mod process;

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
    AskLabels, CallLabels, ProviderLabel, ProviderNames, ReasonLabel, RequestLabels, RouteLabel,
    TokenLabels, ToolLabel, TransportLabel,
};

/// From a look-up to the longest a call may run.
const CALL_BUCKETS: [f64; 14] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0,
];

/// Models take longer than anything else here.
const MODEL_REQUEST_BUCKETS: [f64; 11] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Everything that is counted.
pub struct ServerMetrics {
    prometheus: Book,
    calls: Family<CallLabels, Counter>,
    call_time: Family<ToolLabel, Histogram>,
    running: Gauge,
    waiting: Gauge,
    panics: Counter,
    asks: Family<AskLabels, Counter>,
    ask_time: Family<ProviderLabel, Histogram>,
    tokens: Family<TokenLabels, Counter>,
    cost: Family<ProviderLabel, Counter<f64, AtomicU64>>,
    providers: ProviderNames,
    clients: Family<TransportLabel, Gauge>,
    requests: Family<RequestLabels, Counter>,
    request_time: Family<RouteLabel, Histogram>,
    rejected: Family<ReasonLabel, Counter>,
    client_counts: Mutex<Vec<ClientCountSource>>,
}

/// Clients that are counted where they are served, and looked up when someone asks.
type ClientCountSource = (TransportKind, Box<dyn Fn() -> usize + Send + Sync>);

impl Default for ServerMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerMetrics {
    /// Nothing counted yet.
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
            providers: ProviderNames::default(),
            clients: Family::default(),
            requests: Family::default(),
            request_time: Family::new_with_constructor(|| Histogram::new(CALL_BUCKETS)),
            rejected: Family::default(),
            client_counts: Mutex::default(),
        };
        metrics.register_metrics();
        // What has not happened yet is shown as nothing, so that a rule can be written for it.
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
            "Calls that ended, by tool and outcome",
            self.calls.clone(),
        );
        book.register_with_unit(
            "call_duration",
            "How long calls took, by tool",
            Unit::Seconds,
            self.call_time.clone(),
        );
        book.register("calls_running", "Calls that run now", self.running.clone());
        book.register(
            "calls_waiting",
            "Calls that wait for a place",
            self.waiting.clone(),
        );
        book.register(
            "panics",
            "Faults in the program that a call met",
            self.panics.clone(),
        );
        book.register(
            "model_asks",
            "Asks of models, by provider and outcome",
            self.asks.clone(),
        );
        book.register_with_unit(
            "model_ask_duration",
            "How long models took, by provider",
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
            "What models cost, in US dollars",
            self.cost.clone(),
        );
        book.register(
            "clients",
            "Clients that are connected, by transport",
            self.clients.clone(),
        );
        book.register(
            "http_requests",
            "HTTP requests that were answered, by route and class of status",
            self.requests.clone(),
        );
        book.register_with_unit(
            "http_request_duration",
            "How long the head of an HTTP answer took, by route",
            Unit::Seconds,
            self.request_time.clone(),
        );
        book.register(
            "http_rejected",
            "HTTP requests that were turned away, by reason",
            self.rejected.clone(),
        );
    }

    /// Counts the clients of a transport.
    pub fn clients(&self, transport: TransportKind) -> ClientGauge {
        ClientGauge(self.clients.get_or_create_owned(&transport.label()))
    }

    /// Shows what `count` says as the clients of that transport.
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

    /// A request was turned away.
    pub fn record_rejection(&self, reason: RejectionReason) {
        self.rejected.get_or_create(&reason.label()).inc();
    }

    /// A request was answered.
    fn record_response(&self, route: &'static str, status: StatusCode, took: Duration) {
        let status = labels::status_label(status);
        self.requests
            .get_or_create(&RequestLabels { route, status })
            .inc();
        self.request_time
            .get_or_create(&RouteLabel { route })
            .observe(took.as_secs_f64());
    }

    /// Everything, as `OpenMetrics` text.
    pub fn render(&self, registry: &Registry) -> String {
        let (running, waiting) = registry.running_and_waiting();
        self.running.set(to_gauge_value(running));
        self.waiting.set(to_gauge_value(waiting));
        self.refresh_gauges();
        let mut text = String::with_capacity(16 * 1_024);
        // A `String` takes everything that is written to it.
        if encode(&mut text, &self.prometheus).is_err() {
            tracing::error!("the metrics can't be written");
        }
        text
    }
}

fn to_gauge_value(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
