//! Output of the demo: wrapped lines, in color where the terminal supports it.

use std::io::{self, Write};

/// Fits every terminal.
const LINE_WIDTH: usize = 80;

/// Prints the demo, or nothing if only the result is wanted.
pub(super) struct DemoScreen<'a> {
    output: Option<&'a mut dyn Write>,
    color: bool,
}

/// Emphasis of a text.
#[derive(Clone, Copy)]
pub(super) enum TextStyle {
    Bold,
    Dim,
    Green,
}

impl TextStyle {
    const fn ansi_code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Green => "32",
        }
    }
}

impl<'a> DemoScreen<'a> {
    pub(super) fn new(output: &'a mut dyn Write, color: bool) -> Self {
        Self {
            output: Some(output),
            color,
        }
    }

    /// Creates a screen that prints nothing.
    pub(super) fn silent() -> Self {
        Self {
            output: None,
            color: false,
        }
    }

    /// Prints lines unchanged.
    pub(super) fn print_lines(&mut self, text: &str) -> io::Result<()> {
        match &mut self.output {
            Some(output) => writeln!(output, "{text}"),
            None => Ok(()),
        }
    }

    /// Prints the heading of a part, after an empty line.
    pub(super) fn print_heading(&mut self, text: &str) -> io::Result<()> {
        let heading = self.apply_style(TextStyle::Bold, text);
        self.print_lines(&format!("\n{heading}"))
    }

    /// Prints an explanation of one or two sentences.
    pub(super) fn print_text(&mut self, text: &str) -> io::Result<()> {
        self.print_marked("  ", text, None)
    }

    /// Prints a less important line unchanged.
    pub(super) fn print_dimmed(&mut self, line: &str) -> io::Result<()> {
        let line = self.apply_style(TextStyle::Dim, line);
        self.print_lines(&format!("    {line}"))
    }

    /// Prints what the client sends.
    pub(super) fn print_request(&mut self, text: &str) -> io::Result<()> {
        self.print_marked("  → ", text, None)
    }

    /// Prints what the server answers.
    pub(super) fn print_response(&mut self, text: &str) -> io::Result<()> {
        self.print_marked("  ← ", text, None)
    }

    /// Prints a part of the server's answer and emphasizes the best one.
    pub(super) fn print_item(&mut self, text: &str, is_best: bool) -> io::Result<()> {
        let mark = if is_best { "    ★ " } else { "      " };
        self.print_marked(mark, text, is_best.then_some(TextStyle::Green))
    }

    /// Prints a drawing, with its best parts in color.
    pub(super) fn print_drawing(&mut self, picture: &str) -> io::Result<()> {
        for line in picture.lines() {
            let line = if line.contains('★') {
                self.apply_style(TextStyle::Green, line)
            } else {
                line.to_owned()
            };
            self.print_lines(&format!("  {line}"))?;
        }
        Ok(())
    }

    /// Wraps the text, with a mark on the first line and the others indented to match.
    fn print_marked(&mut self, mark: &str, text: &str, style: Option<TextStyle>) -> io::Result<()> {
        let indent = mark.chars().count();
        let blank = " ".repeat(indent);
        for (number, line) in wrap_lines(text, LINE_WIDTH - indent).iter().enumerate() {
            let before = if number == 0 { mark } else { &blank };
            let line = format!("{before}{line}");
            let line = match style {
                Some(style) => self.apply_style(style, &line),
                None => line,
            };
            self.print_lines(&line)?;
        }
        Ok(())
    }

    fn apply_style(&self, style: TextStyle, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{}m{text}\u{1b}[0m", style.ansi_code())
        } else {
            text.to_owned()
        }
    }
}

/// Wraps the words at this width; a longer word gets its own line.
fn wrap_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_wider_than_they_may_be_and_lose_no_word() {
        let text = "eins zwei drei, vier – fünf sechs  sieben";
        for width in [1, 5, 10, 80] {
            let lines = wrap_lines(text, width);
            let longest = text.split_whitespace().map(|word| word.chars().count());
            let most = width.max(longest.max().unwrap());
            assert!(lines.iter().all(|line| line.chars().count() <= most));
            let words: Vec<&str> = text.split_whitespace().collect();
            assert_eq!(lines.join(" "), words.join(" "));
        }
    }

    #[test]
    fn colour_is_there_only_where_it_is_wanted() {
        for (colour, expected) in [(true, "\n\u{1b}[1mTree\u{1b}[0m\n"), (false, "\nTree\n")] {
            let mut output = Vec::new();
            DemoScreen::new(&mut output, colour)
                .print_heading("Tree")
                .unwrap();
            assert_eq!(String::from_utf8(output).unwrap(), expected);
        }
    }
}
