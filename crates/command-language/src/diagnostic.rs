//! Diagnostics: message, location, expected input and help, rendered like compiler errors.
//!
//! This module only produces text; the caller decides where it is displayed.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, renderer::DecorStyle};
use deliberate_core::did_you_mean;
use serde::Serialize;
use strum::IntoStaticStr;

use crate::span::Span;

/// The maximum number of source characters rendered on each side of the location.
const WINDOW_CHARS: usize = 90;
/// The maximum number of known names listed when none is similar.
const MAX_LISTED_NAMES: usize = 12;

/// The kind of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum DiagnosticCode {
    /// The command is empty.
    Empty,
    /// The command is JSON that does not contain a valid command.
    Wrapper,
    /// A prompt is called with `>` instead of `>>`.
    SingleAngle,
    /// `%` is followed by a name that is none of the four modifiers.
    UnknownModifier,
    /// A second modifier, framework or style where only one is allowed.
    SecondMark,
    /// No step before an arrow or `+`.
    NothingBefore,
    /// No step after an arrow.
    NothingAfter,
    /// Annotations without a prompt.
    NoPrompt,
    /// A word that cannot be a prompt's id.
    BadId,
    /// A repeat count out of bounds.
    Repeat,
    /// A second repeat count on one step.
    SecondRepeat,
    /// More steps than the limit allows.
    TooManySteps,
    /// A quote that is never closed.
    UnclosedQuote,
    /// `::` without a valid operand.
    GateOperand,
    /// An invalid or repeated option of `verify`.
    VerifyOption,
    /// `?` without a quoted condition, `:` and a step.
    Conditional,
    /// Text around an annotation that parses differently when it is joined.
    SplitText,
    /// An argument given twice.
    DuplicateName,
    /// Text that no argument can take.
    LeftoverText,
    /// An unknown name.
    UnknownName,
}

impl DiagnosticCode {
    /// Returns the code as displayed, e.g. `bad-id`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An error at one location of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub code: DiagnosticCode,
    /// The error in one sentence.
    pub message: String,
    pub span: Span,
    /// Descriptions of the input that would be valid at the location.
    pub expected: Vec<String>,
    /// The text rendered at the location.
    pub label: String,
    /// A second, related location and its label.
    pub other: Option<(Span, String)>,
    /// The suggested fix.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates a diagnostic without expected input, second location or help.
    pub fn new(
        code: DiagnosticCode,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            expected: Vec::new(),
            label: label.into(),
            other: None,
            help: None,
        }
    }

    /// Sets the descriptions of valid input.
    pub fn with_expected<T: Into<String>>(mut self, expected: impl IntoIterator<Item = T>) -> Self {
        self.expected = expected.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the suggested fix.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets a second, related location and its label.
    pub fn with_secondary_label(mut self, span: Span, label: impl Into<String>) -> Self {
        self.other = Some((span, label.into()));
        self
    }

    /// Renders the diagnostic without colors; `name` is the displayed name of the source.
    pub fn render(&self, source: &str, name: &str) -> String {
        self.render_with(source, name, &Renderer::plain())
    }

    /// Renders the diagnostic with terminal colors.
    pub fn render_colored(&self, source: &str, name: &str) -> String {
        self.render_with(source, name, &Renderer::styled())
    }

    fn render_with(&self, source: &str, name: &str, renderer: &Renderer) -> String {
        let window = SourceWindow::around_span(source, self.span);
        let mut snippet = Snippet::source(window.text.as_str())
            .line_start(window.line)
            .annotation(
                AnnotationKind::Primary
                    .span(window.map_span(self.span).range())
                    .label(self.label.as_str()),
            );
        if let Some((span, label)) = &self.other
            && window.contains(*span)
        {
            snippet = snippet.annotation(
                AnnotationKind::Context
                    .span(window.map_span(*span).range())
                    .label(label.as_str()),
            );
        }
        // If the line is truncated, the renderer would count columns from the truncation.
        let (line, column) = line_and_column(source, self.span.start);
        let cut = window.prefix_len > 0 && line == window.line;
        if !cut {
            snippet = snippet.path(name);
        }
        let mut group = Level::ERROR
            .primary_title(self.message.as_str())
            .id(self.code.as_str())
            .element(snippet);
        if cut {
            let place = format!("at {name}:{line}:{column}; only part of the line is shown");
            group = group.element(Level::NOTE.message(place));
        }
        if !self.expected.is_empty() {
            let expected = format!("expected {}", self.expected.join(" or "));
            group = group.element(Level::NOTE.message(expected));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer
            .clone()
            .decor_style(DecorStyle::Ascii)
            .render(&[group])
    }
}

/// The part of the source that is rendered.
struct SourceWindow {
    text: String,
    line: usize,
    start: usize,
    end: usize,
    /// The length of the ellipsis before a truncated start, in bytes.
    prefix_len: usize,
}

impl SourceWindow {
    fn around_span(source: &str, span: Span) -> Self {
        let middle = source.floor_char_boundary(span.start.min(source.len()));
        let (before, after) = source.split_at_checked(middle).unwrap_or((source, ""));
        let start = before
            .char_indices()
            .rev()
            .nth(WINDOW_CHARS - 1)
            .map_or(0, |(at, _)| at);
        let end = after
            .char_indices()
            .nth(WINDOW_CHARS)
            .map_or(source.len(), |(at, _)| middle + at);
        let lead = if start > 0 { "…" } else { "" };
        let tail = if end < source.len() { "…" } else { "" };
        let shown = source.get(start..end).unwrap_or_default();
        Self {
            text: format!("{lead}{shown}{tail}"),
            line: line_and_column(source, start).0,
            start,
            end,
            prefix_len: lead.len(),
        }
    }

    fn contains(&self, span: Span) -> bool {
        self.start <= span.start && span.end <= self.end
    }

    /// Maps a span of the source to the rendered text, clamped to the window.
    fn map_span(&self, span: Span) -> Span {
        let inside = |at: usize| {
            let at = at.clamp(self.start, self.end) - self.start + self.prefix_len;
            self.text.floor_char_boundary(at)
        };
        Span::new(inside(span.start), inside(span.end.max(span.start)))
    }
}

/// Returns the line and column of an offset, both starting at one; columns count characters.
fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = source
        .get(..source.floor_char_boundary(at))
        .unwrap_or(source);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let lines = before.bytes().filter(|byte| *byte == b'\n').count();
    (lines + 1, line.chars().count() + 1)
}

/// Creates a diagnostic for an unknown name that suggests the most similar known name.
pub fn unknown_name<'a>(
    kind: &str,
    name: &str,
    span: Span,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let known: Vec<&str> = candidates.into_iter().collect();
    let near = did_you_mean(name, known.iter().copied());
    let shown: String = name.chars().take(WINDOW_CHARS).collect();
    let label = near.as_ref().map_or_else(
        || format!("unknown {kind}"),
        |near| format!("did you mean `{near}`?"),
    );
    let fault = Diagnostic::new(
        DiagnosticCode::UnknownName,
        span,
        format!("there is no {kind} `{shown}`"),
        label,
    );
    match near {
        Some(near) => fault.with_help(format!("write `{near}`")),
        None if known.is_empty() => fault.with_help(format!("no {kind} is defined yet")),
        None => {
            let listed: Vec<_> = known.iter().take(MAX_LISTED_NAMES).copied().collect();
            let more = if known.len() > MAX_LISTED_NAMES {
                ", …"
            } else {
                ""
            };
            fault.with_help(format!("available: {}{more}", listed.join(", ")))
        }
    }
}
