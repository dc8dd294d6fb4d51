//! What is known of one server's tools: how each describes itself, how it stands, how it is shown.

use std::{collections::HashMap, sync::Arc};

use deliberate_adapter::{
    adapter::joined,
    client::{ToolDef, ToolList},
};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    GatewayServer,
    pins::{Offered, Pinned, Settled, canonical},
    scan::{self, Finding, Scanned, Severity},
    search,
};

/// What is known of a server's tools.
pub(crate) struct Known {
    pub(crate) listed: Listed,
    /// Those that may be used, in the server's order.
    pub(crate) tools: Vec<Arc<KnownTool>>,
    by_name: HashMap<String, usize>,
    /// Whether any tool is kept back.
    pub(crate) keeps_back: bool,
    /// Whether the pins could be read.
    pub(crate) pins_read: bool,
    /// When the pins were last looked at.
    pub(crate) looked: Instant,
}

/// The list that it is made from.
#[derive(Clone)]
pub(crate) struct Listed {
    pub(crate) list: Arc<ToolList>,
    /// When it was asked for, and what had been heard of the server by then.
    pub(crate) at: Instant,
    pub(crate) heard: u64,
}

/// What is known of a tool.
pub(crate) struct KnownTool {
    pub(crate) def: Arc<ToolDef>,
    /// `server__tool`.
    pub(crate) full: Arc<str>,
    pub(crate) hash: String,
    pub(crate) pinned: Pinned,
    pub(crate) scanned: Arc<Scanned>,
    pub(crate) findings: Vec<Finding>,
    /// Why it is kept back, if it is.
    pub(crate) kept_back: Option<KeptBack>,
    pub(crate) exposed: bool,
    pub(crate) entry: Arc<search::Entry>,
    /// The definition with its name here.
    pub(crate) shown: Arc<Value>,
}

/// Why a tool is kept back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptBack {
    /// It describes itself otherwise than when it was pinned.
    Changed,
    /// Its description holds what it should not.
    Flagged,
    /// What is pinned of its server is damaged.
    Unsure,
}

impl KeptBack {
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Changed => "it describes itself otherwise than when it was first used",
            Self::Flagged => "its description holds hidden characters or instructions",
            Self::Unsure => "what is remembered of it can't be read, so nobody knows if it changed",
        }
    }
}

/// A tool that was read, before its pin is known.
pub(crate) struct Read {
    def: Arc<ToolDef>,
    hash: String,
    scanned: Arc<Scanned>,
    entry: Arc<search::Entry>,
}

impl Read {
    pub(crate) fn offered(&self) -> Offered {
        Offered {
            name: self.def.name.clone(),
            hash: self.hash.clone(),
            definition: self.def.raw.clone(),
        }
    }
}

/// Reads a list of tools; of those that were read before, nothing is read again. Takes a while.
pub(crate) fn read(list: &ToolList, about: &GatewayServer, before: Option<&Known>) -> Vec<Read> {
    let allowed = list
        .tools
        .iter()
        .filter(|tool| about.lets_through(&tool.name));
    allowed
        .map(|def| {
            let before = before.and_then(|known| known.get(&def.name));
            let hash = match before.filter(|tool| Arc::ptr_eq(&tool.def.raw, &def.raw)) {
                Some(tool) => tool.hash.clone(),
                None => canonical::hash(&def.raw),
            };
            let same = before.filter(|tool| tool.hash == hash);
            let (scanned, entry) = match same {
                Some(tool) => (tool.scanned.clone(), tool.entry.clone()),
                None => (
                    Arc::new(scan::definition(&def.raw)),
                    Arc::new(entry(def, about)),
                ),
            };
            Read {
                def: def.clone(),
                hash,
                scanned,
                entry,
            }
        })
        .collect()
}

fn entry(def: &ToolDef, about: &GatewayServer) -> search::Entry {
    let properties = def
        .input_schema()
        .get("properties")
        .and_then(Value::as_object);
    let description = scan::strip(def.description().unwrap_or_default());
    let server = format!(
        "{} {}",
        about.config.name,
        about.description.as_deref().unwrap_or_default()
    );
    search::Entry::new(&search::Parts {
        name: &def.name,
        title: def.title().unwrap_or_default(),
        description: &description,
        parameters: properties
            .into_iter()
            .flat_map(|all| all.keys())
            .map(String::as_str)
            .collect(),
        server: &server,
    })
}

impl Known {
    /// What is known now that the pins are. `owner` says which other server has a tool of a name.
    pub(crate) fn new(
        listed: Listed,
        read: Vec<Read>,
        settled: Settled,
        about: &GatewayServer,
        owner: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let tools = read.into_iter().zip(settled.pinned).map(|(read, pinned)| {
            KnownTool {
                full: joined(&about.config.name, &read.def.name).into(),
                exposed: about.expose.lets_through(&read.def.name),
                def: read.def,
                hash: read.hash,
                pinned,
                scanned: read.scanned,
                findings: Vec::new(),
                kept_back: None,
                entry: read.entry,
                shown: Arc::new(Value::Null),
            }
            .judged(about, owner)
        });
        let tools = tools.map(Arc::new).collect();
        Self::of(listed, tools, settled.read, Instant::now())
    }

    fn of(listed: Listed, tools: Vec<Arc<KnownTool>>, pins_read: bool, looked: Instant) -> Self {
        let names = tools.iter().enumerate();
        Self {
            listed,
            pins_read,
            by_name: names
                .map(|(at, tool)| (tool.def.name.clone(), at))
                .collect(),
            keeps_back: tools.iter().any(|tool| tool.kept_back.is_some()),
            tools,
            looked,
        }
    }

    /// The same, now that other servers have other tools; nothing if that makes no difference.
    pub(crate) fn judged_again(
        &self,
        about: &GatewayServer,
        owner: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let differs = |tool: &Arc<KnownTool>| tool.scanned.findings(owner) != tool.findings;
        if !self.tools.iter().any(differs) {
            return None;
        }
        let again = self.tools.iter().map(|tool| {
            if !differs(tool) {
                return tool.clone();
            }
            let same = KnownTool {
                def: tool.def.clone(),
                full: tool.full.clone(),
                hash: tool.hash.clone(),
                pinned: tool.pinned,
                scanned: tool.scanned.clone(),
                findings: Vec::new(),
                kept_back: None,
                exposed: tool.exposed,
                entry: tool.entry.clone(),
                shown: tool.shown.clone(),
            };
            Arc::new(same.judged(about, owner))
        });
        Some(Self::of(
            self.listed.clone(),
            again.collect(),
            self.pins_read,
            self.looked,
        ))
    }

    /// The tool of that name at its server.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<KnownTool>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }
}

impl KnownTool {
    fn judged(mut self, about: &GatewayServer, owner: &dyn Fn(&str) -> Option<String>) -> Self {
        self.findings = self.scanned.findings(owner);
        let refused = self
            .findings
            .iter()
            .any(|it| it.severity == Severity::Refused);
        self.kept_back = match self.pinned {
            _ if about.trust => None,
            Pinned::Other => Some(KeptBack::Changed),
            Pinned::Unsure => Some(KeptBack::Unsure),
            Pinned::Same { approved: true } => None,
            Pinned::First | Pinned::Same { approved: false } => {
                refused.then_some(KeptBack::Flagged)
            }
        };
        self.shown = Arc::new(shown(&self.def.raw, &self.full, refused));
        self
    }

    /// What it is for, in some words.
    pub(crate) fn said(&self, chars: usize) -> String {
        let text = self
            .def
            .description()
            .or(self.def.title())
            .unwrap_or_default();
        deliberate_core::cut_to_chars(scan::strip(text).trim(), chars)
    }
}

/// The definition as clients see it: as it is, but for its name here, and without what can't be
/// seen if it has such.
fn shown(raw: &Value, full: &str, strip: bool) -> Value {
    let mut shown = if strip {
        scan::stripped(raw)
    } else {
        raw.clone()
    };
    if let Some(name) = shown.get_mut("name") {
        *name = full.into();
    }
    shown
}
