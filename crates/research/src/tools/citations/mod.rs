//! Tools for citations and bibliographies.

mod audit;
mod export;
mod extract;
mod format;
mod verify;

pub(crate) use extract::CollectionCitations;
pub(crate) use verify::parse_citation;

use super::ToolRegistrar;

/// Registers the citation tools.
pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = adding.services.clone();
    adding
        .add_common(format::FormatCitations(lab.clone()))
        .add_common(export::ExportBibliography(lab.clone()))
        .add_common(verify::VerifyCitation(lab.clone()))
        .add_common(audit::AuditBibliography(lab))
        .add_rare(extract::ExtractCitations)
}
