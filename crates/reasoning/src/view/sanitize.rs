//! Sanitizes foreign text for a Markdown page, so that it cannot change the page around it.

/// Removes invisible characters that change the appearance of the rest.
pub(super) fn strip_invisible(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => clean.push(letter),
            // Some renderers treat these as line ends.
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            // These change the direction of the following text.
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {}
            letter if letter.is_control() => {}
            letter => clean.push(letter),
        }
    }
    clean
}

/// Sanitizes a text for a single line: in a heading, a list or a sentence.
pub(super) fn to_single_line(text: &str) -> String {
    let text = strip_invisible(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = String::with_capacity(text.len());
    push_escaping_tags(&words.join(" "), &mut line);
    line
}

/// Sanitizes a text for a block of the page. Its headings do not become headings of the page, its
/// tags become text, and code that it opens is closed.
pub(super) fn to_markdown_block(text: &str) -> String {
    let text = strip_invisible(text);
    let text = text.trim_matches('\n').trim_end();
    let mut page = String::with_capacity(text.len());
    let mut fence: Option<CodeFence<'_>> = None;
    let mut spans = InlineCode::default();
    let mut after_text = false;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let blank = line.trim().is_empty();
        if let Some(open) = fence {
            // A list item that contains the code may end here, and with it the code.
            if !blank && indent < open.indent {
                open.push_end(&mut page);
                fence = None;
            }
        }
        if let Some(open) = fence {
            // It is hard to tell whether an indented line is code or belongs to a list.
            push_line(line, open.indent > 0, &mut page);
            if open.is_closed_by(line) {
                fence = None;
            }
            after_text = false;
            continue;
        }
        fence = CodeFence::parse_start(line);
        if fence.is_some() {
            page.push_str(line);
            page.push('\n');
            spans = InlineCode::default();
            continue;
        }
        let rule = line.trim();
        if after_text && (is_only_char(rule, '=') || is_only_char(rule, '-')) {
            // It would turn the previous line into a heading.
            page.push('\\');
            page.push_str(rule);
            page.push('\n');
        } else {
            let mut safe = String::with_capacity(line.len());
            spans.push(line, &mut safe);
            push_line(&safe, true, &mut page);
        }
        after_text = !blank;
        if blank {
            spans = InlineCode::default();
        }
    }
    if let Some(open) = fence {
        open.push_end(&mut page);
    }
    page.truncate(page.trim_end().len());
    page
}

/// Sanitizes a text for a block quote.
pub(super) fn to_blockquote(text: &str) -> String {
    format!("> {}", to_markdown_block(text).replace('\n', "\n> "))
}

fn is_only_char(text: &str, mark: char) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter == mark)
}

/// Adds a line and escapes a heading, also in a list or a quotation.
fn push_line(line: &str, no_heading: bool, page: &mut String) {
    let rest = line.trim_start_matches(|mark: char| " \t>-+*.)0123456789".contains(mark));
    let before = line.strip_suffix(rest).unwrap_or_default();
    if no_heading && rest.starts_with('#') {
        page.extend([before, "\\", rest, "\n"]);
    } else {
        page.extend([line, "\n"]);
    }
}

/// A fenced code block that is open.
#[derive(Debug, Clone, Copy)]
struct CodeFence<'a> {
    marks: &'a str,
    indent: usize,
}

impl<'a> CodeFence<'a> {
    fn parse_start(line: &'a str) -> Option<Self> {
        let (indent, marks, rest) = parse_fence_marks(line)?;
        // With further backticks it is inline code.
        let code = !(marks.starts_with('`') && rest.contains('`'));
        code.then_some(Self { marks, indent })
    }

    fn is_closed_by(self, line: &str) -> bool {
        parse_fence_marks(line)
            .is_some_and(|(_, marks, rest)| marks.starts_with(self.marks) && rest.trim().is_empty())
    }

    fn push_end(self, page: &mut String) {
        page.extend(std::iter::repeat_n(' ', self.indent));
        page.push_str(self.marks);
        page.push('\n');
    }
}

/// The fence at the start of a line: indentation, marks and the rest of the line.
fn parse_fence_marks(line: &str) -> Option<(usize, &str, &str)> {
    let rest = line.trim_start_matches(' ');
    let indent = line.len() - rest.len();
    let mark = rest.chars().next().filter(|mark| "`~".contains(*mark))?;
    let after = rest.trim_start_matches(mark);
    let (marks, _) = rest.split_at_checked(rest.len() - after.len())?;
    (indent < 4 && marks.len() >= 3).then_some((indent, marks, after))
}

/// Inline code of a paragraph, in which `<` needs no escape.
#[derive(Debug, Default)]
struct InlineCode {
    /// An opening mark has no end on its line, so the code after it cannot be determined line by
    /// line.
    open: bool,
}

impl InlineCode {
    /// Adds a line and escapes tags outside code.
    fn push(&mut self, line: &str, page: &mut String) {
        self.open |= line.contains("\\`");
        let mut rest = line;
        while let Some((before, marked)) = rest.find('`').and_then(|at| rest.split_at_checked(at)) {
            push_escaping_tags(before, page);
            let after = marked.trim_start_matches('`');
            let count = marked.len() - after.len();
            let end = if self.open {
                None
            } else {
                find_closing(after, count)
            };
            self.open |= end.is_none();
            let Some((code, following)) = marked.split_at_checked(count + end.unwrap_or(0)) else {
                break;
            };
            page.push_str(code);
            rest = following;
        }
        push_escaping_tags(rest, page);
    }
}

/// The end of the code that `count` marks opened.
fn find_closing(text: &str, count: usize) -> Option<usize> {
    let mut at = 0;
    for run in text.split_inclusive(|letter| letter != '`') {
        let marks = run.chars().take_while(|letter| *letter == '`').count();
        if marks == count {
            return Some(at + marks);
        }
        at += run.len();
    }
    None
}

/// Adds text with escaped tags.
fn push_escaping_tags(text: &str, page: &mut String) {
    let mut letters = text.chars().peekable();
    let mut escaped = false;
    while let Some(letter) = letters.next() {
        let tag = letter == '<'
            && letters
                .peek()
                .is_some_and(|next| next.is_ascii_alphabetic() || "!?/".contains(*next));
        if tag && !escaped {
            page.push('\\');
        }
        escaped = letter == '\\' && !escaped;
        page.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_is_opened_is_closed() {
        for (text, safe) in [
            ("```rust\nlet a;", "```rust\nlet a;\n```"),
            ("```\na\n```", "```\na\n```"),
            ("~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"),
            ("````\n```", "````\n```\n````"),
            ("``` a ` b", "``` a ` b"),
            ("    ```", "    ```"),
            ("- a\n  ```\n# b\n```", "- a\n  ```\n  ```\n\\# b\n```\n```"),
        ] {
            assert_eq!(to_markdown_block(text), safe);
        }
    }

    #[test]
    fn headings_are_text_except_in_code() {
        for (text, safe) in [
            ("## Step 9\n  # b\n#tag", "\\## Step 9\n  \\# b\n\\#tag"),
            ("- # a\n> 1. # b", "- \\# a\n> 1. \\# b"),
            ("```\n# a comment\n```\n# b", "```\n# a comment\n```\n\\# b"),
            ("Title\n===\nother\n---", "Title\n\\===\nother\n\\---"),
            ("above\n\n---\nbelow", "above\n\n---\nbelow"),
            ("a\r## b\r\n# c", "a\n\\## b\n\\# c"),
            ("a\u{2028}# b\u{85}# c", "a\n\\# b\n\\# c"),
        ] {
            assert_eq!(to_markdown_block(text), safe);
        }
        assert_eq!(
            to_blockquote("# a\n\n```\nb"),
            "> \\# a\n> \n> ```\n> b\n> ```"
        );
    }

    #[test]
    fn tags_are_text_except_in_code() {
        for (text, safe) in [
            ("a <!-- b", "a \\<!-- b"),
            ("<details>", "\\<details>"),
            ("a < b, `Vec<T>` and <b>", "a < b, `Vec<T>` and \\<b>"),
            ("``a ` <b>`` <b>", "``a ` <b>`` \\<b>"),
            ("```\n<b>\n```", "```\n<b>\n```"),
            ("a ` b\n` <b> `", "a ` b\n` \\<b> `"),
            ("\\` <b> `", "\\` \\<b> `"),
            ("\\<b> \\\\<b>", "\\<b> \\\\\\<b>"),
        ] {
            assert_eq!(to_markdown_block(text), safe);
        }
        assert_eq!(to_single_line("a\n<b> `<i>`"), "a \\<b> `\\<i>`");
    }

    #[test]
    fn what_can_not_be_seen_is_left_out() {
        assert_eq!(
            strip_invisible("a\u{1b}[31m\tb\n\u{202e}c\u{2066}d\u{2069}\u{200f}\0"),
            "a[31m\tb\ncd"
        );
        assert_eq!(
            strip_invisible("family 👩‍👩‍👧 and naïve"),
            "family 👩‍👩‍👧 and naïve"
        );
    }
}
