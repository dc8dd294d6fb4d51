//! What is known of one server's tools: how each describes itself, how it stands, how it is shown.

use std::{collections::HashMap, sync::Arc};

use deliberate_adapter::{
    client::{ToolDef, ToolList},
    tool_name::qualified_tool_name,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    GatewayServer,
    injection_scan::{self, ScanFinding, ScanResult, ScanSeverity},
    pins::{OfferedDefinition, PinCheck, PinStatus, canonical},
    search,
};

/// What is known of a server's tools.
pub(crate) struct ToolCatalog {
    pub(crate) listing: UpstreamListing,
    /// Those that may be used, in the server's order.
    pub(crate) tools: Vec<Arc<CatalogTool>>,
    by_name: HashMap<String, usize>,
    /// Whether any tool is kept back.
    pub(crate) has_quarantined: bool,
    /// Whether the pins could be read.
    pub(crate) pins_read: bool,
    /// When the pins were last looked at.
    pub(crate) pins_checked_at: Instant,
}

/// The list that it is made from.
#[derive(Clone)]
pub(crate) struct UpstreamListing {
    pub(crate) list: Arc<ToolList>,
    /// When it was asked for, and what had been heard of the server by then.
    pub(crate) fetched_at: Instant,
    pub(crate) change_count: u64,
}

/// What is known of a tool.
pub(crate) struct CatalogTool {
    pub(crate) def: Arc<ToolDef>,
    /// `server__tool`.
    pub(crate) qualified_name: Arc<str>,
    pub(crate) hash: String,
    pub(crate) pin_status: PinStatus,
    pub(crate) scan: Arc<ScanResult>,
    pub(crate) findings: Vec<ScanFinding>,
    /// Why it is kept back, if it is.
    pub(crate) quarantine: Option<QuarantineReason>,
    pub(crate) exposed: bool,
    pub(crate) search_entry: Arc<search::ToolSearchEntry>,
    /// The definition with its name here.
    pub(crate) exposed_definition: Arc<Value>,
}

/// Why a tool is kept back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuarantineReason {
    /// It describes itself otherwise than when it was pinned.
    Changed,
    /// Its description holds what it should not.
    Flagged,
    /// What is pinned of its server is damaged.
    PinsUnreadable,
}

impl QuarantineReason {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Changed => "it describes itself otherwise than when it was first used",
            Self::Flagged => "its description holds hidden characters or instructions",
            Self::PinsUnreadable => {
                "what is remembered of it can't be read, so nobody knows if it changed"
            }
        }
    }
}

/// A tool that was read, before its pin is known.
pub(crate) struct ParsedTool {
    def: Arc<ToolDef>,
    hash: String,
    scan: Arc<ScanResult>,
    search_entry: Arc<search::ToolSearchEntry>,
}

impl ParsedTool {
    pub(crate) fn to_offered(&self) -> OfferedDefinition {
        OfferedDefinition {
            name: self.def.name.clone(),
            hash: self.hash.clone(),
            definition: self.def.raw.clone(),
        }
    }
}

/// Reads a list of tools; of those that were read before, nothing is read again. Takes a while.
pub(crate) fn parse_tools(
    list: &ToolList,
    about: &GatewayServer,
    before: Option<&ToolCatalog>,
) -> Vec<ParsedTool> {
    let allowed = list.tools.iter().filter(|tool| about.allows(&tool.name));
    allowed
        .map(|def| {
            let before = before.and_then(|known| known.get(&def.name));
            let hash = match before.filter(|tool| Arc::ptr_eq(&tool.def.raw, &def.raw)) {
                Some(tool) => tool.hash.clone(),
                None => canonical::hash(&def.raw),
            };
            let same = before.filter(|tool| tool.hash == hash);
            let (scanned, entry) = match same {
                Some(tool) => (tool.scan.clone(), tool.search_entry.clone()),
                None => (
                    Arc::new(injection_scan::scan_definition(&def.raw)),
                    Arc::new(build_search_entry(def, about)),
                ),
            };
            ParsedTool {
                def: def.clone(),
                hash,
                scan: scanned,
                search_entry: entry,
            }
        })
        .collect()
}

fn build_search_entry(def: &ToolDef, about: &GatewayServer) -> search::ToolSearchEntry {
    let properties = def
        .input_schema()
        .get("properties")
        .and_then(Value::as_object);
    let description = injection_scan::strip_hidden(def.description().unwrap_or_default());
    let server = format!(
        "{} {}",
        about.config.name,
        about.description.as_deref().unwrap_or_default()
    );
    search::ToolSearchEntry::new(&search::ToolSearchFields {
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

impl ToolCatalog {
    /// What is known now that the pins are. `owner` says which other server has a tool of a name.
    pub(crate) fn new(
        listed: UpstreamListing,
        read: Vec<ParsedTool>,
        settled: PinCheck,
        about: &GatewayServer,
        owner: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let tools = read
            .into_iter()
            .zip(settled.statuses)
            .map(|(read, pinned)| {
                CatalogTool {
                    qualified_name: qualified_tool_name(&about.config.name, &read.def.name).into(),
                    exposed: about.expose.allows(&read.def.name),
                    def: read.def,
                    hash: read.hash,
                    pin_status: pinned,
                    scan: read.scan,
                    findings: Vec::new(),
                    quarantine: None,
                    search_entry: read.search_entry,
                    exposed_definition: Arc::new(Value::Null),
                }
                .evaluate(about, owner)
            });
        let tools = tools.map(Arc::new).collect();
        Self::from_tools(listed, tools, settled.readable, Instant::now())
    }

    fn from_tools(
        listing: UpstreamListing,
        tools: Vec<Arc<CatalogTool>>,
        pins_read: bool,
        pins_checked_at: Instant,
    ) -> Self {
        let names = tools.iter().enumerate();
        Self {
            listing,
            pins_read,
            by_name: names
                .map(|(at, tool)| (tool.def.name.clone(), at))
                .collect(),
            has_quarantined: tools.iter().any(|tool| tool.quarantine.is_some()),
            tools,
            pins_checked_at,
        }
    }

    /// The same, now that other servers have other tools; nothing if that makes no difference.
    pub(crate) fn reevaluated(
        &self,
        about: &GatewayServer,
        owner: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let differs = |tool: &Arc<CatalogTool>| tool.scan.findings(owner) != tool.findings;
        if !self.tools.iter().any(differs) {
            return None;
        }
        let again = self.tools.iter().map(|tool| {
            if !differs(tool) {
                return tool.clone();
            }
            let same = CatalogTool {
                def: tool.def.clone(),
                qualified_name: tool.qualified_name.clone(),
                hash: tool.hash.clone(),
                pin_status: tool.pin_status,
                scan: tool.scan.clone(),
                findings: Vec::new(),
                quarantine: None,
                exposed: tool.exposed,
                search_entry: tool.search_entry.clone(),
                exposed_definition: tool.exposed_definition.clone(),
            };
            Arc::new(same.evaluate(about, owner))
        });
        Some(Self::from_tools(
            self.listing.clone(),
            again.collect(),
            self.pins_read,
            self.pins_checked_at,
        ))
    }

    /// The tool of that name at its server.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<CatalogTool>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }
}

impl CatalogTool {
    fn evaluate(mut self, about: &GatewayServer, owner: &dyn Fn(&str) -> Option<String>) -> Self {
        self.findings = self.scan.findings(owner);
        let refused = self
            .findings
            .iter()
            .any(|it| it.severity == ScanSeverity::Refused);
        self.quarantine = match self.pin_status {
            _ if about.trust => None,
            PinStatus::Changed => Some(QuarantineReason::Changed),
            PinStatus::Unknown => Some(QuarantineReason::PinsUnreadable),
            PinStatus::Same { approved: true } => None,
            PinStatus::New | PinStatus::Same { approved: false } => {
                refused.then_some(QuarantineReason::Flagged)
            }
        };
        self.exposed_definition = Arc::new(build_exposed_definition(
            &self.def.raw,
            &self.qualified_name,
            refused,
        ));
        self
    }

    /// What it is for, in some words.
    pub(crate) fn summary(&self, chars: usize) -> String {
        let text = self
            .def
            .description()
            .or(self.def.title())
            .unwrap_or_default();
        deliberate_core::truncate_chars(injection_scan::strip_hidden(text).trim(), chars)
    }
}

/// The definition as clients see it: as it is, but for its name here, and without what can't be
/// seen if it has such.
fn build_exposed_definition(raw: &Value, full: &str, strip: bool) -> Value {
    let mut shown = if strip {
        injection_scan::strip_definition(raw)
    } else {
        raw.clone()
    };
    if let Some(name) = shown.get_mut("name") {
        *name = full.into();
    }
    shown
}
