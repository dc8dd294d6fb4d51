//! Which addresses read differently after a change: in the store, or in the library.

use deliberate_core::{Change, RunId};
use deliberate_toolkit::Touched;

use super::address::{PROBLEMS, What, template_address};
use crate::{library::Changed, model::Kind};

/// Addresses that are named one by one; beyond that, what they begin with says it.
const MOST: usize = 100;

/// What a change in the store means. It is asked for every change that is kept, so it reads
/// nothing.
pub(super) fn by(change: &Change) -> Vec<Touched> {
    match change {
        Change::BeginRun(run) => vec![of_run(&run.id), list_of(What::Run), Touched::List],
        Change::AddRunEvent { event, .. } => vec![of_run(&event.run_id), list_of(What::Run)],
        Change::DeleteRun(id) => vec![of_run(id), list_of(What::Run), Touched::List],
        // Runs that are forgotten ended long ago, and one that begins has touched the list.
        _ => Vec::new(),
    }
}

/// What a change in the library means, for those who subscribed to addresses.
pub fn changed_addresses(changed: &Changed) -> Vec<Touched> {
    let mut touched = Vec::new();
    for (kind, what, differs) in [
        (Kind::Prompt, What::Prompt, changed.prompts),
        (Kind::Gate, What::Gate, changed.gates),
        (Kind::Methodology, What::Methodology, changed.methodologies),
        (Kind::Style, What::Style, changed.styles),
    ] {
        let ids = changed.ids.iter().filter(|(of, _)| *of == kind);
        let ids: Vec<&str> = ids.map(|(_, id)| id.as_str()).collect();
        if ids.len() > MOST {
            touched.push(Touched::Under(format!("{}/", what.all())));
        } else {
            touched.extend(ids.iter().map(|id| Touched::Resource(what.address(id))));
            if what == What::Prompt {
                touched.extend(ids.iter().map(|id| Touched::Resource(template_address(id))));
            }
        }
        if differs {
            touched.push(list_of(what));
        }
    }
    // What a list shows of a thing may be what is different about it.
    if !touched.is_empty() {
        touched.push(Touched::List);
    }
    if changed.problems {
        touched.push(Touched::Resource(PROBLEMS.to_owned()));
    }
    touched
}

fn of_run(id: &RunId) -> Touched {
    Touched::Resource(What::Run.address(id.as_str()))
}

fn list_of(what: What) -> Touched {
    Touched::Resource(what.all())
}
