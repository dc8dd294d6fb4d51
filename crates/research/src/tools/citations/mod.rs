//! Citations and bibliographies.

mod audit;
mod export;
mod extract;
mod format;
mod verify;

pub(crate) use extract::Within;
pub(crate) use verify::read;

use super::Adding;

/// The tools of citations.
pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
    let lab = adding.lab.clone();
    adding
        .common(format::FormatCitations(lab.clone()))
        .common(export::ExportBibliography(lab.clone()))
        .common(verify::VerifyCitation(lab.clone()))
        .common(audit::AuditBibliography(lab))
        .rare(extract::ExtractCitations)
}
