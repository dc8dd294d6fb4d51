//! The drawing of a tree or graph as it grows: redrawn at a terminal, otherwise printed line by
//! line.

use std::{
    io::{self, IsTerminal as _, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::commands::terminal::at_terminal;

/// The current drawing, and the step that is being taken.
pub(super) struct GrowthDisplay<'a> {
    /// Shows the step and, if `redraws`, the drawing above it.
    bar: ProgressBar,
    thinker: String,
    redraws: bool,
    drawing: String,
    /// `None` if only the result is wanted.
    output: Option<&'a mut dyn Write>,
}

impl<'a> GrowthDisplay<'a> {
    /// Creates a display that names the model that is asked, unless a person replies.
    pub(super) fn new(thinker: Option<String>, silent: bool, output: &'a mut dyn Write) -> Self {
        let bar = match &thinker {
            Some(thinker) if at_terminal() => {
                let bar = ProgressBar::new_spinner().with_prefix(thinker.clone());
                // The template is constant; without it the drawing would lack the step.
                if let Ok(style) = ProgressStyle::with_template("{msg}{spinner} {prefix}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(Duration::from_millis(100));
                bar
            }
            _ => ProgressBar::hidden(),
        };
        Self {
            redraws: !bar.is_hidden() && !silent && io::stdout().is_terminal(),
            bar,
            thinker: thinker.unwrap_or_default(),
            drawing: String::new(),
            output: (!silent).then_some(output),
        }
    }

    /// Names the step that is being taken.
    pub(super) fn set_step(&self, step: &str) {
        self.bar.set_prefix(format!("{}: {step}", self.thinker));
    }

    /// Shows the drawing in place of the last one, or the lines that it has and the last one lacks.
    pub(super) fn show(&mut self, drawing: String) -> io::Result<()> {
        if self.redraws {
            self.bar.set_message(drawing.clone());
        } else if let Some(output) = &mut self.output {
            for line in added_lines(&self.drawing, &drawing) {
                writeln!(output, "{line}")?;
            }
        }
        self.drawing = drawing;
        Ok(())
    }

    /// Prints the last drawing where it was redrawn, and ends it with an empty line.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.bar.finish_and_clear();
        match &mut self.output {
            Some(output) if !self.drawing.is_empty() => {
                let drawing = if self.redraws {
                    self.drawing.as_str()
                } else {
                    ""
                };
                writeln!(output, "{drawing}")
            }
            _ => Ok(()),
        }
    }
}

impl Drop for GrowthDisplay<'_> {
    /// Clears the terminal for an error, too.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Returns the lines of a drawing that the last one lacks.
fn added_lines<'d>(before: &'d str, after: &'d str) -> impl Iterator<Item = &'d str> {
    after
        .lines()
        .filter(|line| before.lines().all(|known| known != *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_the_drawing_grows_by_its_new_lines() {
        let mut output = Vec::new();
        let mut display = GrowthDisplay::new(None, false, &mut output);
        display.show("root\n└─ a\n".to_owned()).unwrap();
        display.show("root\n├─ a\n└─ b\n".to_owned()).unwrap();
        display.show("root\n├─ a\n└─ b\n".to_owned()).unwrap();
        display.finish().unwrap();
        drop(display);
        let printed = String::from_utf8(output).unwrap();
        assert_eq!(printed, "root\n└─ a\n├─ a\n└─ b\n\n");
    }

    #[test]
    fn nothing_is_printed_if_only_the_result_is_wanted() {
        let mut output = Vec::new();
        let mut display = GrowthDisplay::new(None, true, &mut output);
        display.show("root\n".to_owned()).unwrap();
        display.finish().unwrap();
        drop(display);
        assert!(output.is_empty());
    }
}
