//! Renders a problem like a compiler error: message, location, and the marked line.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{LibraryProblem, ProblemSeverity};

impl LibraryProblem {
    /// Renders the problem, with the affected line if the text of the file is given.
    pub fn render(&self, source: Option<&str>) -> String {
        self.render_with(source, &Renderer::plain())
    }

    /// Renders the problem with terminal colors.
    pub fn render_colored(&self, source: Option<&str>) -> String {
        self.render_with(source, &Renderer::styled())
    }

    fn render_with(&self, source: Option<&str>, renderer: &Renderer) -> String {
        let level = match self.weight {
            ProblemSeverity::Error => Level::ERROR,
            ProblemSeverity::Warning => Level::WARNING,
        };
        let title = level.primary_title(&self.message);
        let marked = source.zip(self.line).and_then(|(source, line)| {
            let span = span(source, line, self.column)?;
            Some((source, span))
        });
        let mut group: Group<'_> = match marked {
            Some((source, span)) => title.element(
                Snippet::source(source)
                    .path(&self.file)
                    .annotation(AnnotationKind::Primary.span(span)),
            ),
            None => title.element(Origin::path(&self.file)),
        };
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        if self.last_good_kept {
            group = group.element(Level::NOTE.message("the last good version is still in use"));
        }
        renderer.render(&[group])
    }
}

/// Returns the bytes to mark: from the column to the next blank, or the line.
fn span(source: &str, line: u32, column: Option<u32>) -> Option<Range<usize>> {
    let wanted = usize::try_from(line).ok()?.checked_sub(1)?;
    let mut start = 0;
    let mut text = "";
    for (at, line) in source.split_inclusive('\n').enumerate() {
        text = line.trim_end_matches(['\n', '\r']);
        if at == wanted {
            break;
        }
        start += line.len();
    }
    if start >= source.len() && !source.is_empty() {
        // A file that ends too early is marked at its end.
        let last = source.char_indices().next_back().map_or(0, |(at, _)| at);
        return Some(last..source.len());
    }
    let indent = text.len() - text.trim_start().len();
    let skipped = column.map_or_else(
        || text.chars().take(indent).count(),
        |column| usize::try_from(column.saturating_sub(1)).unwrap_or(0),
    );
    let from = text
        .char_indices()
        .nth(skipped)
        .map_or(text.len(), |(at, _)| at);
    let rest = text.get(from..).unwrap_or_default();
    let length = match column {
        Some(_) => {
            let word = rest.split(char::is_whitespace).next().unwrap_or(rest);
            word.trim_end_matches([':', ',', '}', ']'])
                .len()
                .max(1)
                .min(rest.len())
        }
        None => rest.trim_end().len(),
    };
    let end = (start + from + length).min(source.len());
    Some((start + from).min(end)..end)
}
