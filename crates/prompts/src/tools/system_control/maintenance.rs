//! `maintenance`: reads the library again. The process itself is the business of whoever started
//! it.

use deliberate_toolkit::ToolError;
use serde_json::json;

use super::{Desk, Done, Operation, done::count, problems};

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    name: "restart",
    takes: &["confirm", "reason"],
    run: |desk| Box::pin(restart(desk)),
}];

async fn restart(desk: &Desk<'_>) -> Result<Done, ToolError> {
    desk.confirmed("every file of the library would be read again")?;
    let before = desk.library.generation;
    let library = desk.engine.shelf.reload_all().await;
    let (errors, warnings) = problems::weighed(&library);
    let changed = library.generation != before;
    let said = format!(
        "The library was read again: {}, {} and {}; {errors} errors, {warnings} warnings; {}. The \
         process goes on, and so do all runs.",
        count(library.prompts.len(), "prompt"),
        count(library.gates.len(), "gate"),
        count(library.styles.len(), "style"),
        if changed {
            "something was different"
        } else {
            "nothing was different"
        },
    );
    let fields = json!({
        "generation": library.generation,
        "changed": changed,
        "prompts": library.prompts.len(),
        "gates": library.gates.len(),
        "errors": errors,
        "warnings": warnings,
    });
    Ok(Done::new(said, fields))
}
