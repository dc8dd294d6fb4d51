//! What clients call: one file a tool, in folders by what they are for.
//!
//! There are more tools than a client should have to list. Those that most work needs are listed
//! with the set `research`; all of them are called by their names, or through the one tool
//! `research`, which is what the set `research_compact` lists.

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

/// Which of the tools clients are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolListingMode {
    /// Those that most work needs, and the front for the others.
    Common,
    /// The front alone.
    Compact,
}

/// Tools on their way into a registry.
pub(crate) struct ToolRegistrar<'a> {
    registry: Registry,
    pub(crate) lab: &'a Arc<ResearchServices>,
    listing_mode: ToolListingMode,
    entries: Vec<ToolEntry>,
}

impl ToolRegistrar<'_> {
    /// One that most work needs.
    pub(crate) fn add_common<T: Tool>(mut self, tool: T) -> Self {
        self.entries.push(ToolEntry::new(&tool));
        self.registry = match self.listing_mode {
            ToolListingMode::Common => self.registry.with(tool),
            ToolListingMode::Compact => self.registry.with_unlisted(tool),
        };
        self
    }

    /// One that is seldom needed, and is found through the front.
    pub(crate) fn add_rare<T: Tool>(mut self, tool: T) -> Self {
        self.entries.push(ToolEntry::new(&tool));
        self.registry = self.registry.with_unlisted(tool);
        self
    }
}

/// The registry with the tools of research.
pub(crate) fn register(
    registry: Registry,
    lab: &Arc<ResearchServices>,
    face: ToolListingMode,
) -> Registry {
    let adding = ToolRegistrar {
        registry,
        lab,
        listing_mode: face,
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

/// What someone answered who was asked for open PDFs, in a sentence.
pub(crate) fn lookup_line(asked: &SourceLookup) -> String {
    let source = &asked.source;
    match &asked.outcome {
        Located::Found { places: 1 } => format!("{source}: 1 place."),
        Located::Found { places } => format!("{source}: {places} places."),
        Located::Nothing => format!("{source}: nothing."),
        Located::RateLimited { wait_seconds } => {
            format!("{source}: asked too often, again in {wait_seconds} s.")
        }
        Located::Failed { why } => format!("{source}: {why}."),
    }
}
