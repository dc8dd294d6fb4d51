//! The tools that clients call: one file per tool, in folders by purpose.
//!
//! There are more tools than a client should list. The toolset `research` lists the common ones.
//! All of them can be called by name or through the tool `research`, the only one that the toolset
//! `research_compact` lists.

mod analysis;
pub mod answers;
mod batch_report;
mod citations;
mod collection;
mod discovery;
mod processing;
mod reading;
mod rendering;
mod research;
mod retrieval;

use std::sync::Arc;

use deliberate_toolkit::{Registry, Tool};

use super::pdf_locator::{SourceLookup, SourceLookupOutcome as Located};
use crate::ResearchServices;
use research::{ResearchTool, ToolEntry};

/// Which tools are listed to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolListingMode {
    /// The common tools, and `research` for the others.
    Common,
    /// Only `research`.
    Compact,
}

/// Adds the research tools to a registry.
pub(crate) struct ToolRegistrar<'a> {
    registry: Registry,
    pub(crate) services: &'a Arc<ResearchServices>,
    listing_mode: ToolListingMode,
    entries: Vec<ToolEntry>,
}

impl ToolRegistrar<'_> {
    /// Adds a common tool.
    pub(crate) fn add_common<T: Tool>(mut self, tool: T) -> Self {
        self.entries.push(ToolEntry::new(&tool));
        self.registry = match self.listing_mode {
            ToolListingMode::Common => self.registry.with(tool),
            ToolListingMode::Compact => self.registry.with_unlisted(tool),
        };
        self
    }

    /// Adds a rarely used tool, which is called through `research`.
    pub(crate) fn add_rare<T: Tool>(mut self, tool: T) -> Self {
        self.entries.push(ToolEntry::new(&tool));
        self.registry = self.registry.with_unlisted(tool);
        self
    }
}

/// Registers all research tools.
pub(crate) fn register(
    registry: Registry,
    services: &Arc<ResearchServices>,
    mode: ToolListingMode,
) -> Registry {
    let adding = ToolRegistrar {
        registry,
        services,
        listing_mode: mode,
        entries: Vec::new(),
    };
    let adding = discovery::add(adding);
    let adding = collection::add(adding);
    let adding = reading::add(adding);
    let adding = processing::add(adding);
    let adding = retrieval::add(adding);
    let adding = answers::add(adding);
    let adding = analysis::add(adding);
    let adding = citations::add(adding);
    adding.registry.with(ResearchTool(adding.entries))
}

/// Renders the answer of a source that was asked for open PDFs.
pub(crate) fn lookup_line(asked: &SourceLookup) -> String {
    let source = &asked.source;
    match &asked.outcome {
        Located::Found { places: 1 } => format!("{source}: 1 place."),
        Located::Found { places } => format!("{source}: {places} places."),
        Located::Nothing => format!("{source}: nothing."),
        Located::RateLimited { wait_seconds } => {
            format!("{source}: rate limited, retry in {wait_seconds} s.")
        }
        Located::Failed { why } => format!("{source}: {why}."),
    }
}
