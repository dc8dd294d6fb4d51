//! The `maintenance` action: reloads the library. Restarting the process is up to its operator.

use deliberate_toolkit::ToolError;
use serde_json::json;

use super::{
    ControlContext, ControlOperation, OperationResult, library_problems,
    operation_result::pluralize,
};

pub(super) const OPERATIONS: &[ControlOperation] = &[ControlOperation {
    name: "restart",
    accepted_fields: &["confirm", "reason"],
    run: |desk| Box::pin(restart(desk)),
}];

async fn restart(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    context.require_confirmation("every file of the library would be read again")?;
    let before = context.library.generation;
    let library = context.engine.live_library.reload_all().await;
    let (errors, warnings) = library_problems::count_by_severity(&library);
    let changed = library.generation != before;
    let text = format!(
        "The library was reloaded: {}, {} and {}; {errors} errors, {warnings} warnings; {}. The \
         process and all runs continue.",
        pluralize(library.prompts.len(), "prompt"),
        pluralize(library.gates.len(), "gate"),
        pluralize(library.styles.len(), "style"),
        if changed {
            "there were changes"
        } else {
            "nothing changed"
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
    Ok(OperationResult::new(text, fields))
}
