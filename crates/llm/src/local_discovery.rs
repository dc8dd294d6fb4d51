//! Discovers a model server on this machine.

use std::time::Duration;

use deliberate_http_client::{client_builder, parse_base_url, read_body};
use futures::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use crate::providers::table::vendors;

/// Largest list of models that is read.
const MAX_LIST_BYTES: usize = 1024 * 1024;

/// Parts of the names of models that cannot chat.
const NON_CHAT_MODELS: &[&str] = &["embed", "rerank", "bge-", "whisper"];

/// A vendor's server to probe, with its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeTarget {
    /// Name of the vendor.
    pub vendor: String,
    /// Base URL at which it usually listens.
    pub base_url: String,
}

impl ProbeTarget {
    /// Returns the local servers of the table of providers that discovery looks for, at their
    /// usual ports.
    pub fn defaults() -> Vec<Self> {
        vendors()
            .iter()
            .filter(|vendor| vendor.discover)
            .map(|vendor| Self {
                vendor: vendor.name.clone(),
                base_url: vendor.base_url.clone(),
            })
            .collect()
    }
}

/// A model server that answered a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Name of the vendor.
    pub vendor: String,
    /// Base URL at which it listens.
    pub base_url: String,
    /// The first of its models that can chat.
    pub model: String,
}

/// Probes all servers concurrently and returns the first one, in their order, that has a model.
/// Ends after `timeout` (400 ms are plenty on one machine).
pub async fn find_local(probes: &[ProbeTarget], timeout: Duration) -> Option<LocalServer> {
    let answers = join_all(probes.iter().map(|target| probe(target, timeout))).await;
    answers.into_iter().flatten().next()
}

async fn probe(probe: &ProbeTarget, limit: Duration) -> Option<LocalServer> {
    let base = parse_base_url(&probe.base_url).ok()?;
    let client = client_builder(&base).ok()?.build().ok()?;
    let list = async {
        let response = client.get(format!("{base}/models")).send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let body = read_body(response, MAX_LIST_BYTES).await.ok()?;
        serde_json::from_slice::<Value>(&body).ok()
    };
    let list = timeout(limit, list).await.ok()??;
    Some(LocalServer {
        vendor: probe.vendor.clone(),
        base_url: probe.base_url.clone(),
        model: first_model(&list)?,
    })
}

/// Returns the first model in a `/models` response that can chat.
pub(crate) fn first_model(list: &Value) -> Option<String> {
    list.get("data")?
        .as_array()?
        .iter()
        .filter_map(|model| model.get("id")?.as_str())
        .find(|id| {
            let id = id.to_lowercase();
            !id.is_empty() && !NON_CHAT_MODELS.iter().any(|part| id.contains(part))
        })
        .map(str::to_owned)
}
