//! The catalog of one server's tools: definitions, quarantine status and exposed form.

use std::{collections::HashMap, sync::Arc};

use deliberate_mcp_client::{
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

/// The evaluated tools of one server.
pub(crate) struct ToolCatalog {
    pub(crate) listing: UpstreamListing,
    /// The tools that the configuration allows, in the server's order.
    pub(crate) tools: Vec<Arc<CatalogTool>>,
    by_name: HashMap<String, usize>,
    pub(crate) has_quarantined: bool,
    /// Whether the pins could be read.
    pub(crate) pins_read: bool,
    pub(crate) pins_checked_at: Instant,
}

/// The list that a catalog is made from.
#[derive(Clone)]
pub(crate) struct UpstreamListing {
    pub(crate) list: Arc<ToolList>,
    /// The time of the request, and the change count at that time.
    pub(crate) fetched_at: Instant,
    pub(crate) change_count: u64,
    /// Whether the list was stored by an earlier process and not requested.
    pub(crate) is_stored: bool,
}

/// A tool of the catalog.
#[derive(Clone)]
pub(crate) struct CatalogTool {
    pub(crate) def: Arc<ToolDef>,
    /// `server__tool`.
    pub(crate) qualified_name: Arc<str>,
    pub(crate) hash: String,
    pub(crate) pin_status: PinStatus,
    pub(crate) scan: Arc<ScanResult>,
    pub(crate) findings: Vec<ScanFinding>,
    pub(crate) quarantine: Option<QuarantineReason>,
    pub(crate) exposed: bool,
    pub(crate) search_entry: Arc<search::ToolSearchEntry>,
    /// The definition with the qualified name.
    pub(crate) exposed_definition: Arc<Value>,
}

/// The reason why a tool is quarantined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuarantineReason {
    /// The definition differs from the pinned one.
    Changed,
    /// The server added the tool later, and new tools need approval.
    Held,
    /// The scan found hidden content in the definition.
    Flagged,
    /// The server's pins are damaged.
    PinsUnreadable,
}

impl QuarantineReason {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Changed => "its definition changed since it was first used",
            Self::Held => "the server added it later, and new tools need approval",
            Self::Flagged => "its description contains hidden characters or instructions",
            Self::PinsUnreadable => {
                "its pinned definition cannot be read, so changes cannot be detected"
            }
        }
    }
}

/// A parsed tool whose pin is not known yet.
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

/// Parses a list of tools and reuses what was parsed before. CPU-heavy: run it on a blocking
/// thread.
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
    /// Creates the catalog once the pins are known. `owner` returns which other server has a tool
    /// of a name.
    pub(crate) fn new(
        listing: UpstreamListing,
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
        Self::from_tools(listing, tools, settled.readable, Instant::now())
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

    /// Evaluates the findings again with other servers' new tools; returns none if nothing changes.
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
            Arc::new(CatalogTool::clone(tool).evaluate(about, owner))
        });
        Some(Self::from_tools(
            self.listing.clone(),
            again.collect(),
            self.pins_read,
            self.pins_checked_at,
        ))
    }

    /// Returns the tool with this name at the server.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<CatalogTool>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }

    /// Returns the tool with this name at the server, or with this qualified name.
    pub(crate) fn find(&self, qualified_name: &str, name: &str) -> Option<&Arc<CatalogTool>> {
        let is_named = |tool: &&Arc<CatalogTool>| &*tool.qualified_name == qualified_name;
        self.get(name).or_else(|| self.tools.iter().find(is_named))
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
            PinStatus::Held => Some(QuarantineReason::Held),
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

    /// Returns the tool under the name of another server, whose calls go to this one.
    pub(crate) fn for_server(&self, about: &GatewayServer) -> Self {
        let full = qualified_tool_name(&about.config.name, &self.def.name);
        let definition = build_exposed_definition(&self.exposed_definition, &full, false);
        Self {
            exposed: about.expose.allows(&self.def.name),
            exposed_definition: Arc::new(definition),
            qualified_name: full.into(),
            ..self.clone()
        }
    }

    /// Returns the description, shortened to `chars`.
    pub(crate) fn summary(&self, chars: usize) -> String {
        let text = self
            .def
            .description()
            .or(self.def.title())
            .unwrap_or_default();
        deliberate_core::truncate_chars(injection_scan::strip_hidden(text).trim(), chars)
    }
}

/// Builds the definition for clients: with the qualified name, and without hidden characters if
/// `strip` is set.
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
