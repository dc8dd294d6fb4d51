//! Template errors with file and line, so that the author finds the location. Knows nothing of
//! prompts except their ids.

use std::fmt;

use minijinja::ErrorKind;

/// A template that is invalid or cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TemplateError {
    /// The displayed path; empty if the template has no file.
    pub file: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// The column, from 1, if it is known.
    pub column: Option<u32>,
    /// The id of the prompt; empty if it is not known.
    pub prompt: String,
    pub message: String,
    /// The suggested fix.
    pub help: Option<String>,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.prompt.is_empty() {
            write!(f, "prompt \"{}\", ", self.prompt)?;
        }
        if !self.file.is_empty() {
            write!(f, "file {}, ", self.file)?;
        }
        write!(f, "line {}: {}", self.line, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// An error in a template, before its file and prompt are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateFault {
    pub(super) location: TemplateLocation,
    pub(super) message: String,
    /// The suggested fix.
    pub(super) help: Option<String>,
}

/// A location in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateLocation {
    /// A byte offset.
    Byte(usize),
    /// A line, from 1.
    Line(usize),
}

impl TemplateFault {
    /// Creates an error at a byte offset.
    pub(super) fn at_byte(byte: usize, message: impl Into<String>) -> Self {
        Self {
            location: TemplateLocation::Byte(byte),
            message: message.into(),
            help: None,
        }
    }

    /// Sets the suggested fix.
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the line and, if known, the column in the template, both from 1.
    pub(super) fn line_and_column(&self, body: &str) -> (u32, Option<u32>) {
        match self.location {
            TemplateLocation::Line(line) => (saturating_u32(line), None),
            TemplateLocation::Byte(byte) => {
                let before = body.get(..byte).unwrap_or(body);
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or_default();
                (
                    saturating_u32(line),
                    Some(saturating_u32(column.chars().count() + 1)),
                )
            }
        }
    }
}

fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Translates an error of the template engine to a message and a suggested fix.
pub(super) fn explain(error: &minijinja::Error) -> (String, Option<String>) {
    let detail = error.detail().unwrap_or_default();
    let help = match error.kind() {
        ErrorKind::OutOfFuel => {
            return (
                "the template executes too many instructions".to_owned(),
                Some("loop over fewer items, or raise the limit for templates".to_owned()),
            );
        }
        ErrorKind::TemplateNotFound | ErrorKind::BadInclude => {
            return (
                "a template cannot read other files".to_owned(),
                Some("include another prompt with {{ref:its_id}}".to_owned()),
            );
        }
        ErrorKind::UnknownMethod => {
            Some("values have no methods here; use a filter such as x | upper".to_owned())
        }
        ErrorKind::UndefinedError => {
            Some("give it a value, or test first whether it is defined".to_owned())
        }
        _ => None,
    };
    let message = if detail.is_empty() {
        error.kind().to_string()
    } else {
        detail.to_owned()
    };
    (message, help)
}

/// Returns the name in "`name` is undefined", if the error has this form.
pub(super) fn undefined_name(error: &minijinja::Error) -> Option<String> {
    let detail = error.detail()?;
    let before = detail.split("` is undefined").next()?;
    if before.len() == detail.len() {
        return None;
    }
    before.rsplit('`').next().map(str::to_owned)
}
