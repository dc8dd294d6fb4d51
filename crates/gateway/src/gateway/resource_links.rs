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
        self.add_content(owner, server, result.get("content"));
    }

    /// Remembers the links in the messages of a prompt for its caller.
    pub(crate) fn add_prompt(&self, owner: Option<&str>, server: &str, prompt: &Value) {
        let messages = prompt.get("messages").and_then(Value::as_array);
        for message in messages.into_iter().flatten() {
            self.add_content(owner, server, message.get("content"));
        }
    }

    /// Remembers the links among content: one block, or a list of them.
    fn add_content(&self, owner: Option<&str>, server: &str, content: Option<&Value>) {
        let blocks = content.map_or(&[][..], |content| match content {
            Value::Array(blocks) => blocks,
            block => std::slice::from_ref(block),
        });
        let links = blocks
            .iter()
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
