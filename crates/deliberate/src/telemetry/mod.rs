//! Export of traces as OTLP over HTTP, if a collector is set.
//!
//! The span of a call has its tool, duration, outcome and cost, never its content. Serving does not
//! depend on the collector: spans wait in a bounded queue, are sent by a separate thread, and are
//! dropped if they cannot be sent. Without a collector nothing here runs.

mod http_client;
mod spans;

use std::time::Duration;

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider},
};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::config;

use http_client::OtlpHttpClient;
pub(crate) use spans::{SpanLayer, trace_context};

/// Maximum number of spans waiting to be sent; further ones are dropped.
const MAX_QUEUED_SPANS: usize = 2_048;

/// Maximum number of spans sent together.
const MAX_BATCH_SPANS: usize = 512;

/// Interval between two batches.
const BATCH_INTERVAL: Duration = Duration::from_secs(5);

/// Time limit for sending a batch.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of the exporter.
#[derive(Debug, Clone)]
pub(crate) struct TelemetryOptions {
    /// URL of the collector, such as `http://127.0.0.1:4318`; `/v1/traces` is appended if missing.
    pub(crate) endpoint: String,
    /// Name of this service in traces.
    pub(crate) service_name: String,
    /// Headers for the collector, such as a key.
    pub(crate) headers: Vec<(String, SecretString)>,
    /// Share of the traces that start here and are exported, from 0 to 1. For a trace that a client
    /// started, the client decides.
    pub(crate) sample_ratio: f64,
}

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TelemetryError {
    #[error("the URL for traces is not valid ({0}); use a URL such as http://127.0.0.1:4318")]
    Endpoint(String),
    #[error("the header {0:?} for traces cannot be sent; check its name and value")]
    Header(String),
    /// Keys would be readable in transit.
    #[error(
        "headers for traces would be sent without encryption; use https, or a collector on this machine"
    )]
    Exposed,
    /// The HTTP client cannot be built.
    #[error("traces cannot be sent: {0}")]
    Sender(String),
}

/// A running exporter.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Starts the exporter if the settings name a collector.
    pub(crate) fn from_settings(
        settings: &config::TelemetrySettings,
    ) -> Result<Option<Self>, TelemetryError> {
        let Some(endpoint) = settings.endpoint.clone() else {
            return Ok(None);
        };
        let bearer = |token: &SecretString| {
            let value = format!("Bearer {}", token.expose_secret());
            ("authorization".to_owned(), SecretString::from(value))
        };
        Self::start(&TelemetryOptions {
            endpoint,
            service_name: settings.service.clone(),
            headers: settings.token.as_ref().map(bearer).into_iter().collect(),
            sample_ratio: settings.sample,
        })
        .map(Some)
    }

    /// Starts the exporter. Does not connect yet.
    pub(crate) fn start(options: &TelemetryOptions) -> Result<Self, TelemetryError> {
        let endpoint = traces_url(&options.endpoint)?;
        let sender = OtlpHttpClient::new(&endpoint, &options.headers, SEND_TIMEOUT)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(sender)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint.as_str())
            .with_timeout(SEND_TIMEOUT)
            .build()
            .map_err(|error| TelemetryError::Sender(error.to_string()))?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED_SPANS)
            .with_max_export_batch_size(MAX_BATCH_SPANS)
            .with_scheduled_delay(BATCH_INTERVAL)
            .build();
        let processor = BatchSpanProcessor::builder(exporter)
            .with_batch_config(batches)
            .build();
        let resource = Resource::builder()
            .with_service_name(options.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let fresh = Sampler::TraceIdRatioBased(options.sample_ratio.clamp(0.0, 1.0));
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(Sampler::ParentBased(Box::new(fresh)))
            .with_resource(resource)
            .build();
        Ok(Self { provider })
    }

    /// Returns the layer that converts the program's spans.
    pub(crate) fn layer(&self) -> SpanLayer {
        SpanLayer::new(self.provider.tracer("deliberate"))
    }

    /// Sends the remaining spans, for at most `limit`.
    pub(crate) async fn stop(self, limit: Duration) {
        let provider = self.provider;
        let stopped =
            tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(limit)).await;
        if !matches!(stopped, Ok(Ok(()))) {
            tracing::warn!("some traces were not sent before the program ended");
        }
    }
}

fn traces_url(endpoint: &str) -> Result<Url, TelemetryError> {
    let mut url =
        Url::parse(endpoint.trim()).map_err(|error| TelemetryError::Endpoint(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(TelemetryError::Endpoint(
            "neither http nor https".to_owned(),
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(TelemetryError::Endpoint(
            "it contains a user name or password; use a header".to_owned(),
        ));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/v1/traces") {
        url.set_path(&format!("{path}/v1/traces"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
