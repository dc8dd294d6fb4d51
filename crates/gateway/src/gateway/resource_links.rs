//! The resource links in results: whose they are and where they lead, so that the caller can read
//! them by their own URI.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

/// The maximum number of links; the oldest are forgotten.
const MAX_LINKS: usize = 2_000;
/// A longer URI is not remembered.
const MAX_URI_BYTES: usize = 2_048;

#[derive(Debug, Clone, PartialEq, Eq)]
struct ResourceLink {
    owner: Option<String>,
    server: String,
    uri: String,
}

#[derive(Default)]
pub(crate) struct ResourceLinks(Mutex<VecDeque<ResourceLink>>);

impl ResourceLinks {
    /// Remembers the links of a result for its caller.
    pub(crate) fn add_result(&self, owner: Option<&str>, server: &str, result: &Value) {
        let blocks = result.get("content").and_then(Value::as_array);
        let links = blocks
            .into_iter()
            .flatten()
            .filter(|block| {
                block
                    .get("type")
                    .is_some_and(|kind| kind == "resource_link")
            })
            .filter_map(|block| block.get("uri")?.as_str())
            .filter(|uri| uri.len() <= MAX_URI_BYTES);
        for uri in links {
            let link = ResourceLink {
                owner: owner.map(str::to_owned),
                server: server.to_owned(),
                uri: uri.to_owned(),
            };
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !all.contains(&link) {
                if all.len() >= MAX_LINKS {
                    all.pop_front();
                }
                all.push_back(link);
            }
        }
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|link| link.uri == uri)
    }

    /// Returns the server of the caller's newest link with this URI.
    pub(crate) fn server(&self, owner: Option<&str>, uri: &str) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut theirs = all.iter().rev();
        theirs
            .find(|link| link.uri == uri && link.owner.as_deref() == owner)
            .map(|link| link.server.clone())
    }
}
