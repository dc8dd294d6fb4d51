//! Errors of the engine: a stable code, a sentence and a hint.

use deliberate_command_language::Diagnostic;
use deliberate_toolkit::{ErrorCode, ToolError};

use crate::template::TemplateError;

/// Builds an error of the engine.
pub(crate) fn engine_error(
    code: ErrorCode,
    message: impl Into<String>,
    hint: impl Into<Option<&'static str>>,
) -> ToolError {
    ToolError::Custom {
        code,
        message: message.into(),
        hint: hint.into().map(str::to_owned),
    }
}

/// Builds an error from the diagnostics of a command, with their source positions.
pub(crate) fn command_error(code: ErrorCode, command: &str, found: &[Diagnostic]) -> ToolError {
    const MAX_DIAGNOSTICS: usize = 5;
    let drawn: Vec<String> = found
        .iter()
        .take(MAX_DIAGNOSTICS)
        .map(|diagnostic| diagnostic.render(command, "command").trim_end().to_owned())
        .collect();
    engine_error(code, drawn.join("\n"), None)
}

/// Builds the error of a template that cannot be rendered.
pub(crate) fn template_error(error: &TemplateError) -> ToolError {
    engine_error(ErrorCode::TemplateError, error.to_string(), None)
}
