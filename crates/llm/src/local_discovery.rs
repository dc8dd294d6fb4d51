//! Finds a model server on this machine.

use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    http::{base_url, client, read_body},
    vendors::find_vendor,
};

/// The largest list of models that is read.
const MAX_LIST_BYTES: usize = 1024 * 1024;

/// Models that can't chat, by a part of their names.
const NON_CHAT_MODELS: &[&str] = &["embed", "rerank", "bge-", "whisper"];

/// Who to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeTarget {
    /// The vendor's name.
    pub vendor: String,
    /// Where it usually listens.
    pub base_url: String,
}

impl ProbeTarget {
    /// The servers people run, at their usual ports, the likeliest first.
    pub fn defaults() -> Vec<Self> {
        ["ollama", "lmstudio", "llamacpp"]
            .into_iter()
            .filter_map(find_vendor)
            .map(|vendor| Self {
                vendor: vendor.name.clone(),
                base_url: vendor.base_url.clone(),
            })
            .collect()
    }
}

/// A model server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The vendor's name.
    pub vendor: String,
    /// Where it listens.
    pub base_url: String,
    /// The first of its models that can chat.
    pub model: String,
}

/// Asks all `probes` at the same time and takes the first, in their order, that has a model.
/// It is over after `timeout` (400 ms are plenty on one machine).
pub async fn find_local(probes: &[ProbeTarget], timeout: Duration) -> Option<LocalServer> {
    let answers = join_all(probes.iter().map(|target| probe(target, timeout))).await;
    answers.into_iter().flatten().next()
}

async fn probe(probe: &ProbeTarget, limit: Duration) -> Option<LocalServer> {
    let base = base_url(&probe.vendor, &probe.base_url).ok()?;
    let client = client(&base).ok()?;
    let list = async {
        let response = client.get(format!("{base}/models")).send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let body = read_body(response, MAX_LIST_BYTES).await.ok()??;
        serde_json::from_slice::<Value>(&body).ok()
    };
    let list = timeout(limit, list).await.ok()??;
    Some(LocalServer {
        vendor: probe.vendor.clone(),
        base_url: probe.base_url.clone(),
        model: first_model(&list)?,
    })
}

/// The first model in an answer of `/models` that can chat.
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
