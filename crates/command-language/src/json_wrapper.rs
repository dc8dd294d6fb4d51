//! Unwraps a command in JSON: `{"command": "…", "args": {…}}`.

use serde_json::{Map, Value};

use crate::{
    diagnostic::{Diagnostic, DiagnosticCode},
    span::Span,
};

/// The content of a JSON wrapper.
pub(crate) struct WrappedCommand {
    pub(crate) command: String,
    pub(crate) args: Option<Map<String, Value>>,
}

/// Unwraps up to two nested wrappers. Returns `None` if the text is not a JSON object at all.
pub(crate) fn unwrap_command(text: &str) -> Option<Result<WrappedCommand, Box<Diagnostic>>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    Some(unwrap_once(text).map(|outer| {
        if !outer.command.trim_start().starts_with('{') {
            return outer;
        }
        match unwrap_once(&outer.command) {
            Ok(inner) => WrappedCommand {
                command: inner.command,
                args: outer.args.or(inner.args),
            },
            Err(_) => outer,
        }
    }))
}

fn unwrap_once(text: &str) -> Result<WrappedCommand, Box<Diagnostic>> {
    let start = text.len() - text.trim_start().len();
    let fault = |span, message: String, label: &str| {
        let fault = Diagnostic::new(DiagnosticCode::Wrapper, span, message, label);
        let help = "write `{\"command\": \">>prompt …\", \"args\": {…}}`, or the command itself";
        Box::new(fault.with_help(help))
    };
    let brace = Span::new(start, start + 1);
    let mut object: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let at = byte_offset(text, error.line(), error.column());
        let message = format!("the command starts like JSON but is not valid JSON: {error}");
        fault(Span::new(at, at), message, "the JSON is invalid here")
    })?;
    let command = match object.remove("command").or_else(|| object.remove("prompt")) {
        Some(Value::String(command)) => command,
        Some(_) => {
            let message = "the `command` of the JSON must be a string".to_owned();
            return Err(fault(brace, message, "in this object"));
        }
        None => {
            let message = "the JSON has no `command` field".to_owned();
            return Err(fault(brace, message, "no `command` in this object"));
        }
    };
    let args = match object.remove("args") {
        None | Some(Value::Null) => None,
        Some(Value::Object(args)) => Some(args),
        Some(_) => {
            let message = "the `args` of the JSON must be an object".to_owned();
            return Err(fault(brace, message, "in this object"));
        }
    };
    Ok(WrappedCommand { command, args })
}

/// Converts a line and column of the JSON parser to a byte offset.
fn byte_offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    text.floor_char_boundary((before + column.saturating_sub(1)).min(text.len()))
}
