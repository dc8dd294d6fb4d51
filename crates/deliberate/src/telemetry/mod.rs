//! Traces for those who collect them: OTLP over HTTP, when an address is set.
//!
//! What is told of a call is its tool, how long it took, how it ended and what it cost; never
//! what was thought. Serving goes on whatever becomes of the collector: spans wait in a bounded
//! queue, are sent by a thread of their own, and are dropped if nobody takes them. Without an
//! address nothing here runs.

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
pub(crate) use spans::{SpanLayer, trace_context_of};

/// Spans that wait to be sent; more than this are dropped.
const MAX_QUEUED_SPANS: usize = 2_048;

/// Spans that are sent together.
const MAX_BATCH_SPANS: usize = 512;

/// How long spans are gathered before they are sent.
const BATCH_INTERVAL: Duration = Duration::from_secs(5);

/// The longest that sending may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Where traces go.
#[derive(Debug, Clone)]
pub(crate) struct TelemetryOptions {
    /// The collector, such as `http://127.0.0.1:4318`; `/v1/traces` is added if it is not there.
    pub(crate) endpoint: String,
    /// What this server is called there.
    pub(crate) service_name: String,
    /// Headers the collector wants, such as a key.
    pub(crate) headers: Vec<(String, SecretString)>,
    /// Which part of the traces that begin here is told, from 0 to 1. What a client has begun is
    /// the client's choice.
    pub(crate) sample_ratio: f64,
}

/// Why traces can't be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TelemetryError {
    /// The address is none.
    #[error(
        "the address for traces is not a usable one ({0}); set it to something like http://127.0.0.1:4318"
    )]
    Endpoint(String),
    /// A header is none.
    #[error("the header {0:?} for traces can't be sent; check its name and value")]
    Header(String),
    /// Keys would be readable on the way.
    #[error(
        "headers for traces would go over the network in the clear; use https, or a collector on this machine"
    )]
    Exposed,
    /// The sender can't be made.
    #[error("traces can't be sent: {0}")]
    Sender(String),
}

/// Traces that are being told.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Begins to tell traces, if the settings say where to.
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

    /// Begins to tell traces. Connects to nobody yet.
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

    /// What makes spans of the program into spans of a trace.
    pub(crate) fn layer(&self) -> SpanLayer {
        SpanLayer::new(self.provider.tracer("deliberate"))
    }

    /// Sends what is left, for at most `limit`.
    pub(crate) async fn stop(self, limit: Duration) {
        let provider = self.provider;
        let stopped =
            tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(limit)).await;
        if !matches!(stopped, Ok(Ok(()))) {
            tracing::warn!("some traces were not sent before the end");
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
            "it holds a user name or password; use a header".to_owned(),
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
