//! Checks the lists of short texts that callers send: constraints, focus areas, hints.

use deliberate_toolkit::{ToolContext, ToolError};

/// Returns the texts of `list`. None may be blank, and together they may be as long as one content.
pub(crate) fn check_list(
    field: &str,
    list: Option<Vec<String>>,
    call: &ToolContext,
) -> Result<Vec<String>, ToolError> {
    let list = list.unwrap_or_default();
    for (number, text) in list.iter().enumerate() {
        call.check_content(&format!("{field}.{number}"), text)?;
    }
    if list.len() > 1 {
        call.check_content(field, &list.concat())?;
    }
    Ok(list)
}
