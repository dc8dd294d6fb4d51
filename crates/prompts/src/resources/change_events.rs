//! Maps a change in the store or in the library to the URIs whose content changed.

use deliberate_core::{Change, RunId};
use deliberate_toolkit::ResourceChange;

use super::uri::{LibraryResourceKind, PROBLEMS_URI, template_uri};
use crate::{library::LibraryDiff, model::LibraryItemKind};

/// The maximum number of URIs listed one by one; beyond that, their common prefix is reported.
const MAX_URIS: usize = 100;

/// Maps a change in the store to resource changes. It is called for every committed change, so it
/// performs no reads.
pub(super) fn store_resource_changes(change: &Change) -> Vec<ResourceChange> {
    match change {
        Change::StartRun(run) => vec![
            run_change(&run.id),
            list_change(LibraryResourceKind::Run),
            ResourceChange::ListChanged,
        ],
        Change::AddRunEvent { event, .. } => vec![
            run_change(&event.run_id),
            list_change(LibraryResourceKind::Run),
        ],
        Change::DeleteRun(id) => vec![
            run_change(id),
            list_change(LibraryResourceKind::Run),
            ResourceChange::ListChanged,
        ],
        // Pruned runs ended long ago, and the run that begins has already reported the list.
        _ => Vec::new(),
    }
}

/// Maps a change in the library to resource changes, for the clients that subscribed to them.
pub fn library_resource_changes(changed: &LibraryDiff) -> Vec<ResourceChange> {
    let mut touched = Vec::new();
    for (kind, resource_kind, differs) in [
        (
            LibraryItemKind::Prompt,
            LibraryResourceKind::Prompt,
            changed.prompts,
        ),
        (
            LibraryItemKind::Gate,
            LibraryResourceKind::Gate,
            changed.gates,
        ),
        (
            LibraryItemKind::Methodology,
            LibraryResourceKind::Methodology,
            changed.methodologies,
        ),
        (
            LibraryItemKind::Style,
            LibraryResourceKind::Style,
            changed.styles,
        ),
    ] {
        let ids = changed.ids.iter().filter(|(of, _)| *of == kind);
        let ids: Vec<&str> = ids.map(|(_, id)| id.as_str()).collect();
        if ids.len() > MAX_URIS {
            touched.push(ResourceChange::Prefix(format!(
                "{}/",
                resource_kind.list_uri()
            )));
        } else {
            touched.extend(
                ids.iter()
                    .map(|id| ResourceChange::Resource(resource_kind.uri(id))),
            );
            if resource_kind == LibraryResourceKind::Prompt {
                touched.extend(
                    ids.iter()
                        .map(|id| ResourceChange::Resource(template_uri(id))),
                );
            }
        }
        if differs {
            touched.push(list_change(resource_kind));
        }
    }
    // The list shows names and descriptions, which may be what changed.
    if !touched.is_empty() {
        touched.push(ResourceChange::ListChanged);
    }
    if changed.problems {
        touched.push(ResourceChange::Resource(PROBLEMS_URI.to_owned()));
    }
    touched
}

fn run_change(id: &RunId) -> ResourceChange {
    ResourceChange::Resource(LibraryResourceKind::Run.uri(id.as_str()))
}

fn list_change(kind: LibraryResourceKind) -> ResourceChange {
    ResourceChange::Resource(kind.list_uri())
}
