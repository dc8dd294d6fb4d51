//! The resource links in results: whose they are and where they lead, so that the caller can read
//! them by their own URI.
//!
//! Servers decide how many links there are, so every number has a limit of its own: one result costs
//! little time, and forgets no other caller's links.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

/// The maximum number of links that are remembered of one result.
const MAX_RESULT_LINKS: usize = 100;
/// The maximum number of links of one caller; the oldest are forgotten.
const MAX_OWNER_LINKS: usize = 200;
/// The maximum number of callers with links; the one who got none for longest is forgotten.
const MAX_OWNERS: usize = 100;
/// A longer URI is not remembered.
const MAX_URI_BYTES: usize = 2_048;

#[derive(Default)]
pub(crate) struct ResourceLinks(Mutex<LinkTable>);

/// The links by their owner; the operator has no name.
#[derive(Default)]
struct LinkTable {
    owners: HashMap<Option<String>, OwnerLinks>,
    /// Numbers the additions, to tell which link is older.
    additions: u64,
}

#[derive(Default)]
struct OwnerLinks {
    by_uri: HashMap<String, ResourceLink>,
    last_addition: u64,
}

struct ResourceLink {
    server: String,
    addition: u64,
}

impl ResourceLinks {
    /// Remembers the links of a result for its caller.
    pub(crate) fn add_result(&self, owner: Option<&str>, server: &str, result: &Value) {
        self.add_links(owner, server, content_links(result.get("content")));
    }

    /// Remembers the links in the messages of a prompt for its caller.
    pub(crate) fn add_prompt(&self, owner: Option<&str>, server: &str, prompt: &Value) {
        let messages = prompt.get("messages").and_then(Value::as_array);
        let messages = messages.into_iter().flatten();
        let links = messages.flat_map(|message| content_links(message.get("content")));
        self.add_links(owner, server, links);
    }

    fn add_links<'a>(
        &self,
        owner: Option<&str>,
        server: &str,
        uris: impl Iterator<Item = &'a str>,
    ) {
        let uris: Vec<&str> = uris.take(MAX_RESULT_LINKS).collect();
        if uris.is_empty() {
            return;
        }
        let mut guard = self.table();
        let table = &mut *guard;
        let owner = owner.map(str::to_owned);
        if table.owners.len() >= MAX_OWNERS && !table.owners.contains_key(&owner) {
            table.remove_oldest_owner();
        }
        let links = table.owners.entry(owner).or_default();
        for uri in uris {
            table.additions += 1;
            links.add(server, uri, table.additions);
        }
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        let table = self.table();
        let mut owners = table.owners.values();
        owners.any(|links| links.by_uri.contains_key(uri))
    }

    /// Returns the server of the caller's newest link with this URI.
    pub(crate) fn server(&self, owner: Option<&str>, uri: &str) -> Option<String> {
        let table = self.table();
        let links = table.owners.get(&owner.map(str::to_owned))?;
        Some(links.by_uri.get(uri)?.server.clone())
    }

    fn table(&self) -> MutexGuard<'_, LinkTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkTable {
    fn remove_oldest_owner(&mut self) {
        let oldest = self.owners.iter().min_by_key(|(_, it)| it.last_addition);
        if let Some(oldest) = oldest.map(|(owner, _)| owner.clone()) {
            self.owners.remove(&oldest);
        }
    }
}

impl OwnerLinks {
    fn add(&mut self, server: &str, uri: &str, addition: u64) {
        self.last_addition = addition;
        let link = ResourceLink {
            server: server.to_owned(),
            addition,
        };
        self.by_uri.insert(uri.to_owned(), link);
        if self.by_uri.len() > MAX_OWNER_LINKS {
            let oldest = self.by_uri.iter().min_by_key(|(_, link)| link.addition);
            if let Some(oldest) = oldest.map(|(uri, _)| uri.clone()) {
                self.by_uri.remove(&oldest);
            }
        }
    }
}

/// Returns the URIs of the links among content: one block, or a list of them.
fn content_links(content: Option<&Value>) -> impl Iterator<Item = &str> {
    let blocks = content.map_or(&[][..], |content| match content {
        Value::Array(blocks) => blocks,
        block => std::slice::from_ref(block),
    });
    let links = blocks.iter().filter(|block| {
        let kind = block.get("type");
        kind.is_some_and(|kind| kind == "resource_link")
    });
    links
        .filter_map(|block| block.get("uri")?.as_str())
        .filter(|uri| uri.len() <= MAX_URI_BYTES)
}
