//! What goes wrong, in the words of the engine: a stable code, a sentence, what to do.

use deliberate_language::Diagnostic;
use deliberate_toolkit::ToolError;

use crate::template::TemplateError;

/// An error of the engine.
pub(crate) fn failure(
    code: &str,
    message: impl Into<String>,
    hint: impl Into<Option<&'static str>>,
) -> ToolError {
    ToolError::Told {
        code: code.to_owned(),
        message: message.into(),
        hint: hint.into().map(str::to_owned),
    }
}

/// Mistakes in a command, drawn with their places.
pub(crate) fn in_command(code: &str, command: &str, found: &[Diagnostic]) -> ToolError {
    const MOST: usize = 5;
    let drawn: Vec<String> = found
        .iter()
        .take(MOST)
        .map(|diagnostic| diagnostic.render(command, "command").trim_end().to_owned())
        .collect();
    failure(code, drawn.join("\n"), None)
}

/// A template that can't be rendered.
pub(crate) fn template(error: &TemplateError) -> ToolError {
    failure("TemplateError", error.to_string(), None)
}
