//! Which addresses read differently after a change: in the store, or in the library.

use deliberate_core::{Change, RunId};
use deliberate_toolkit::ResourceChange;

use super::uri::{LibraryResourceKind, PROBLEMS_URI, template_uri};
use crate::{library::LibraryDiff, model::LibraryItemKind};

/// Addresses that are named one by one; beyond that, what they begin with says it.
const MAX_URIS: usize = 100;

/// What a change in the store means. It is asked for every change that is kept, so it reads
/// nothing.
pub(super) fn store_resource_changes(change: &Change) -> Vec<ResourceChange> {
    match change {
        Change::BeginRun(run) => vec![
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
        // Runs that are forgotten ended long ago, and one that begins has touched the list.
        _ => Vec::new(),
    }
}

/// What a change in the library means, for those who subscribed to addresses.
pub fn library_resource_changes(changed: &LibraryDiff) -> Vec<ResourceChange> {
    let mut touched = Vec::new();
    for (kind, what, differs) in [
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
            touched.push(ResourceChange::Prefix(format!("{}/", what.list_uri())));
        } else {
            touched.extend(ids.iter().map(|id| ResourceChange::Resource(what.uri(id))));
            if what == LibraryResourceKind::Prompt {
                touched.extend(
                    ids.iter()
                        .map(|id| ResourceChange::Resource(template_uri(id))),
                );
            }
        }
        if differs {
            touched.push(list_change(what));
        }
    }
    // What a list shows of a thing may be what is different about it.
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

fn list_change(what: LibraryResourceKind) -> ResourceChange {
    ResourceChange::Resource(what.list_uri())
}
