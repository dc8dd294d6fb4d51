//! What is wrong with a template, said so that its author finds the place. Knows nothing of
//! prompts beyond their ids.

use std::fmt;

use minijinja::ErrorKind;

/// Why a template can't be read or rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TemplateError {
    /// The file, as people name it; empty if there is none.
    pub file: String,
    /// The line of that file, from 1.
    pub line: u32,
    /// The column, from 1, if it is known.
    pub column: Option<u32>,
    /// The prompt; empty if it is not known.
    pub prompt: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
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

/// What is wrong, before it is known whose template it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateFault {
    /// Where, in bytes of the template.
    pub(super) location: TemplateLocation,
    /// What is wrong.
    pub(super) message: String,
    /// What to do.
    pub(super) help: Option<String>,
}

/// A place in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateLocation {
    /// A byte.
    Byte(usize),
    /// A line, from 1.
    Line(usize),
}

impl TemplateFault {
    /// A fault at a byte.
    pub(super) fn at_byte(byte: usize, message: impl Into<String>) -> Self {
        Self {
            location: TemplateLocation::Byte(byte),
            message: message.into(),
            help: None,
        }
    }

    /// With what to do.
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The line and, if it is known, the column in the template, both from 1.
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

/// What an error of the engine says, in our words, with what to do about it.
pub(super) fn explain(error: &minijinja::Error) -> (String, Option<String>) {
    let detail = error.detail().unwrap_or_default();
    let help = match error.kind() {
        ErrorKind::OutOfFuel => {
            return (
                "the template takes too many steps".to_owned(),
                Some("loop over less, or raise the limit for templates".to_owned()),
            );
        }
        ErrorKind::TemplateNotFound | ErrorKind::BadInclude => {
            return (
                "a template can't read other files".to_owned(),
                Some("put another prompt in with {{ref:its_id}}".to_owned()),
            );
        }
        ErrorKind::UnknownMethod => {
            Some("values have no methods here; use a filter, such as x | upper".to_owned())
        }
        ErrorKind::UndefinedError => Some("give it a value, or test it first".to_owned()),
        _ => None,
    };
    let message = if detail.is_empty() {
        error.kind().to_string()
    } else {
        detail.to_owned()
    };
    (message, help)
}

/// The name in "`name` is undefined", if that is what the error says.
pub(super) fn undefined_name(error: &minijinja::Error) -> Option<String> {
    let detail = error.detail()?;
    let before = detail.split("` is undefined").next()?;
    if before.len() == detail.len() {
        return None;
    }
    before.rsplit('`').next().map(str::to_owned)
}
