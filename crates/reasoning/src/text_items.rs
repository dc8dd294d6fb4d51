//! A plain text that lists several thoughts, one below each heading or number: the reply of a caller
//! that writes text and no object.

/// The items of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextItems {
    /// What stands before the first item.
    pub(crate) introduction: Option<String>,
    pub(crate) items: Vec<TextItem>,
}

/// One item: its first line, and the whole of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextItem {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What begins an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemMark {
    Heading,
    Number,
    Bullet,
}

impl TextItems {
    /// Splits a text at its headings, else at its numbers, else at its bullets. `None` if it has
    /// fewer than two items, or is JSON.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        [ItemMark::Heading, ItemMark::Number, ItemMark::Bullet]
            .into_iter()
            .map(|mark| Self::split(text, mark))
            .find(|found| found.items.len() > 1)
    }

    fn split(text: &str, mark: ItemMark) -> Self {
        let mut introduction = String::new();
        let mut items: Vec<TextItem> = Vec::new();
        for (line, is_code) in text.lines().zip(code_lines(text)) {
            if let Some(first) = item_start(line, mark).filter(|_| !is_code) {
                items.push(TextItem {
                    name: item_name(first),
                    text: first.to_owned(),
                });
                continue;
            }
            let block = match items.last_mut() {
                Some(item) => &mut item.text,
                None => &mut introduction,
            };
            block.push('\n');
            block.push_str(line);
        }
        items.retain_mut(|item| {
            item.text = item.text.trim().to_owned();
            !item.text.is_empty()
        });
        let introduction = introduction.trim();
        Self {
            introduction: (!introduction.is_empty()).then(|| introduction.to_owned()),
            items,
        }
    }
}

/// The line that begins or ends a code block.
#[derive(Debug, Clone, Copy)]
struct CodeFence<'t> {
    sign: char,
    length: usize,
    /// What stands behind the signs: the language of the code.
    info: &'t str,
}

impl<'t> CodeFence<'t> {
    fn parse(line: &'t str) -> Option<Self> {
        let line = line.trim();
        let sign = line.chars().next().filter(|it| ['`', '~'].contains(it))?;
        let info = line.trim_start_matches(sign);
        let length = line.len() - info.len();
        (length >= 3).then_some(Self { sign, length, info })
    }

    /// Code between two fences on one line is no block, and a fenced Markdown text is no code.
    fn opens(self) -> bool {
        !self.info.contains('`') && !["markdown", "md"].contains(&self.info.trim())
    }

    fn closes(self, opening: Self) -> bool {
        self.sign == opening.sign && self.length >= opening.length && self.info.is_empty()
    }
}

/// Tells of each line whether it belongs to a code block. A fence that is never closed begins none.
fn code_lines(text: &str) -> Vec<bool> {
    let mut is_code = vec![false; text.lines().count()];
    let mut open: Option<(usize, CodeFence<'_>)> = None;
    for (index, line) in text.lines().enumerate() {
        let Some(fence) = CodeFence::parse(line) else {
            continue;
        };
        match open {
            Some((start, opening)) if fence.closes(opening) => {
                let block = is_code.iter_mut().take(index + 1).skip(start);
                block.for_each(|line| *line = true);
                open = None;
            }
            None if fence.opens() => open = Some((index, fence)),
            _ => {}
        }
    }
    is_code
}

/// The first line of an item without its mark, if the line begins one. Indented lines belong to the
/// item above.
fn item_start(line: &str, mark: ItemMark) -> Option<&str> {
    let rest = match mark {
        ItemMark::Heading => {
            let rest = line.trim_start_matches('#');
            (rest.len() < line.len() && rest.starts_with(' ')).then_some(rest)?
        }
        ItemMark::Number => {
            let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let digits = line.len() - rest.len();
            (1..=2).contains(&digits).then_some(())?;
            rest.strip_prefix(". ")
                .or_else(|| rest.strip_prefix(") "))?
        }
        ItemMark::Bullet => line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("* "))?,
    };
    let rest = rest.trim();
    (!rest.is_empty()).then_some(rest)
}

/// The name of an item: its emphasized beginning or what stands before a colon, else its first line.
fn item_name(line: &str) -> String {
    let emphasized = line
        .strip_prefix("**")
        .and_then(|rest| rest.split("**").next());
    let before_colon = line.split_once(": ").map(|(name, _)| name);
    let name = emphasized
        .or(before_colon.filter(|name| name.split_whitespace().count() <= 8))
        .unwrap_or(line);
    name.trim_matches(['*', ':', '.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let found = TextItems::parse(text);
        let items = found.map(|it| it.items).unwrap_or_default();
        items.into_iter().map(|item| item.name).collect()
    }

    #[test]
    fn items_are_found_by_headings_numbers_or_bullets() {
        assert_eq!(
            names("Two ways.\n\n## Direct\nDo it.\n1. first\n2. then\n\n## Indirect\nWait."),
            ["Direct", "Indirect"]
        );
        assert_eq!(
            names("1. **Cache**: faster\n   more\n2) Queue: safer"),
            ["Cache", "Queue"]
        );
        assert_eq!(names("- one\n- two"), ["one", "two"]);
        assert!(names("Only a sentence.").is_empty());
        assert!(names("1. only one").is_empty());
        assert!(names("{\"a\": 1}\n- x\n- y").is_empty());
        let found = TextItems::parse("Two ways.\n1. a\nmore of a\n2. b").unwrap();
        assert_eq!(found.introduction.as_deref(), Some("Two ways."));
        assert_eq!(found.items[0].text, "a\nmore of a");
    }

    #[test]
    fn a_line_of_a_code_block_begins_no_item() {
        let text = "1. **Loop**: count\n```python\n# step one\nx = 1\n# step two\n```\n\n\
                    2. **Recursion**: call\n   ~~~\n3. no item\n# nor this\n   ~~~~";
        assert_eq!(names(text), ["Loop", "Recursion"]);
        let found = TextItems::parse(text).unwrap();
        assert!(found.items[0].text.ends_with("# step two\n```"));
        assert!(found.items[1].text.ends_with("# nor this\n   ~~~~"));
        assert!(names("```\n# one\n# two\n```").is_empty());
        // Neither a fence that is never closed nor one around the whole text hides the items.
        assert_eq!(names("# One\n```\nx\n# Two\ny"), ["One", "Two"]);
        let whole = "```markdown\n# One\n```sh\n# x\n```\n# Two\n```";
        assert_eq!(names(whole), ["One", "Two"]);
        assert_eq!(
            names("# One\n```a``` is code\n# Two\n```b```"),
            ["One", "Two"]
        );
    }
}
