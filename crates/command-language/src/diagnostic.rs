//! A fault: what is wrong, where, what was expected, and what to do; drawn as a compiler draws it.
//!
//! Draws text alone: where it is shown is the caller's.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, renderer::DecorStyle};
use serde::Serialize;

use super::suggest::did_you_mean;
use crate::span::Span;

/// At most this much of the source is drawn on each side of the place, in characters.
const WINDOW_CHARS: usize = 90;
/// Names listed when none is near.
const MAX_LISTED_NAMES: usize = 12;

/// Which fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiagnosticCode {
    /// Nothing was written.
    Empty,
    /// The command is JSON, but not one that holds a command.
    Wrapper,
    /// `>p`.
    SingleAngle,
    /// `%` and a name that is none of the four.
    UnknownModifier,
    /// A second modifier, framework or style where one may stand.
    SecondMark,
    /// Nothing before an arrow or `+`.
    NothingBefore,
    /// Nothing after an arrow.
    NothingAfter,
    /// Marks, but no prompt.
    NoPrompt,
    /// Something that cannot be a prompt's id.
    BadId,
    /// A count out of bounds.
    Repeat,
    /// A second count.
    SecondRepeat,
    /// More steps than allowed.
    TooManySteps,
    /// A quote that never closes.
    UnclosedQuote,
    /// `::` without what it needs.
    GateOperand,
    /// An option of `verify` that is none.
    VerifyOption,
    /// `?` without what it needs.
    Conditional,
    /// Text around a mark that cannot be told apart.
    SplitText,
    /// One argument given twice.
    DuplicateName,
    /// Text that no argument is left for.
    LeftoverText,
    /// A name nobody knows.
    UnknownName,
}

impl DiagnosticCode {
    /// As shown: `bad-id`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Wrapper => "wrapper",
            Self::SingleAngle => "single-angle",
            Self::UnknownModifier => "unknown-modifier",
            Self::SecondMark => "second-mark",
            Self::NothingBefore => "nothing-before",
            Self::NothingAfter => "nothing-after",
            Self::NoPrompt => "no-prompt",
            Self::BadId => "bad-id",
            Self::Repeat => "repeat",
            Self::SecondRepeat => "second-repeat",
            Self::TooManySteps => "too-many-steps",
            Self::UnclosedQuote => "unclosed-quote",
            Self::GateOperand => "gate-operand",
            Self::VerifyOption => "verify-option",
            Self::Conditional => "conditional",
            Self::SplitText => "split-text",
            Self::DuplicateName => "duplicate-name",
            Self::LeftoverText => "leftover-text",
            Self::UnknownName => "unknown-name",
        }
    }
}

/// One fault in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Which fault.
    pub code: DiagnosticCode,
    /// One sentence.
    pub message: String,
    /// The place.
    pub span: Span,
    /// What could stand there.
    pub expected: Vec<String>,
    /// Said at the place.
    pub label: String,
    /// A second place that belongs to it, and what is said there.
    pub other: Option<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A fault without more to say.
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

    /// With what could stand there.
    pub fn with_expected<T: Into<String>>(mut self, expected: impl IntoIterator<Item = T>) -> Self {
        self.expected = expected.into_iter().map(Into::into).collect();
        self
    }

    /// With what to do.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With a second place.
    pub fn with_secondary_label(mut self, span: Span, label: impl Into<String>) -> Self {
        self.other = Some((span, label.into()));
        self
    }

    /// Drawn without colours; `name` says what the source is.
    pub fn render(&self, source: &str, name: &str) -> String {
        self.render_with(source, name, &Renderer::plain())
    }

    /// Drawn with the colours of a terminal.
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
        // Where the line is cut, the drawer would count columns from the cut.
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
            let place = format!("at {name}:{line}:{column}, of which a part is shown");
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

/// The part of a source that is drawn.
struct SourceWindow {
    text: String,
    line: usize,
    start: usize,
    end: usize,
    /// Bytes put before what is cut.
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

    /// Where a place of the source is drawn, cut to what is shown.
    fn map_span(&self, span: Span) -> Span {
        let inside = |at: usize| {
            let at = at.clamp(self.start, self.end) - self.start + self.prefix_len;
            self.text.floor_char_boundary(at)
        };
        Span::new(inside(span.start), inside(span.end.max(span.start)))
    }
}

/// Line and column of an offset, both from one, the column in characters.
fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = source
        .get(..source.floor_char_boundary(at))
        .unwrap_or(source);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let lines = before.bytes().filter(|byte| *byte == b'\n').count();
    (lines + 1, line.chars().count() + 1)
}

/// A name of some kind that nobody knows, with the nearest that somebody does.
pub fn unknown_name<'a>(
    kind: &str,
    name: &str,
    span: Span,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let known: Vec<&str> = candidates.into_iter().collect();
    let near = did_you_mean(name, known.iter().copied());
    let shown: String = name.chars().take(WINDOW_CHARS).collect();
    let label = near.map_or_else(
        || format!("no such {kind}"),
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
        None if known.is_empty() => fault.with_help(format!("there is no {kind} at all yet")),
        None => {
            let listed: Vec<_> = known.iter().take(MAX_LISTED_NAMES).copied().collect();
            let more = if known.len() > MAX_LISTED_NAMES {
                ", …"
            } else {
                ""
            };
            fault.with_help(format!("there are: {}{more}", listed.join(", ")))
        }
    }
}
