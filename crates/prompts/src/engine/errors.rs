//! What goes wrong, in the words of the engine: a stable code, a sentence, what to do.

use deliberate_command_language::Diagnostic;
use deliberate_toolkit::ToolError;

use crate::template::TemplateError;

/// An error of the engine.
pub(crate) fn engine_error(
    code: &str,
    message: impl Into<String>,
    hint: impl Into<Option<&'static str>>,
) -> ToolError {
    ToolError::Custom {
        code: code.to_owned(),
        message: message.into(),
        hint: hint.into().map(str::to_owned),
    }
}

/// Mistakes in a command, drawn with their places.
pub(crate) fn command_error(code: &str, command: &str, found: &[Diagnostic]) -> ToolError {
    const MAX_DIAGNOSTICS: usize = 5;
    let drawn: Vec<String> = found
        .iter()
        .take(MAX_DIAGNOSTICS)
        .map(|diagnostic| diagnostic.render(command, "command").trim_end().to_owned())
        .collect();
    engine_error(code, drawn.join("\n"), None)
}

/// A template that can't be rendered.
pub(crate) fn template_error(error: &TemplateError) -> ToolError {
    engine_error("TemplateError", error.to_string(), None)
}
