//! The bibliography: its start and end, and its division into entries.

use std::sync::LazyLock;

use regex::Regex;

use super::reference_parser::parse_reference;
use crate::DocumentReference;

#[derive(Debug, Clone)]
pub(crate) struct EntryLine {
    pub(crate) text: String,
    pub(crate) page: u32,
    /// The indentation from the left edge of its column, as a share of the size.
    pub(crate) indent: f32,
    /// Whether there is a gap above it.
    pub(crate) is_set_apart: bool,
}

const MAX_ENTRIES: usize = 5_000;
/// The longest entry, in bytes; more is body text that was included.
const MAX_ENTRY_BYTES: usize = 4_000;

static BRACKETED_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*(\[[^\[\]]{1,30}\])\s*(.*)$").ok());
static NUMBERED_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*\(?(\d{1,4})(?:[.)]|\s)\s*(\S.*)$").ok());
static AUTHOR_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // `Last, F.`, `Last F.,` or `F. Last`.
    Regex::new(r"^\s*(?:(?:(?:van|von|de|der|den|di|da|la|le|du|el|al|ter|ten|zu)\s+)*\p{Lu}[\p{L}'\u{2019}\-]+(?:\s+\p{Lu}[\p{L}'\u{2019}\-]+)?(?:,\s+\p{Lu}|(?:\s+\p{Lu}\.)+,)|(?:\p{Lu}\.[\s\-]*){1,3}\p{Lu}\p{Ll}[\p{L}\-]+(?:,|\.|\s+and\s))").ok()
});
/// Whether a line looks like the first of an entry.
pub(crate) fn is_entry_start(line: &str) -> bool {
    BRACKETED_PATTERN
        .as_ref()
        .is_some_and(|form| form.is_match(line))
        || NUMBERED_PATTERN
            .as_ref()
            .is_some_and(|form| form.is_match(line))
}

/// Splits the text of a bibliography into parsed entries. A blank line or a label starts a new entry.
pub fn split_references(text: &str, page: u32) -> Vec<DocumentReference> {
    parse_entries(&split_entry_lines(text, page))
}

/// The lines of the part of a bibliography on one page.
pub(crate) fn split_entry_lines(text: &str, page: u32) -> Vec<EntryLine> {
    let mut lines = Vec::new();
    let mut apart = true;
    for line in text.lines() {
        if line.trim().is_empty() {
            apart = true;
            continue;
        }
        let set_in = line.chars().take_while(|c| c.is_whitespace()).count();
        lines.push(EntryLine {
            text: line.trim().to_owned(),
            page,
            indent: set_in as f32 / 2.0,
            is_set_apart: apart,
        });
        apart = false;
    }
    lines
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryStyle {
    Bracketed,
    Numbered,
    Hanging,
    AuthorNames,
    BlankLines,
}

/// Parses the entries of a bibliography from its lines.
pub(crate) fn parse_entries(lines: &[EntryLine]) -> Vec<DocumentReference> {
    let style = detect_style(lines);
    let mut found: Vec<(Option<String>, String, u32)> = Vec::new();
    let mut count = 0;
    for line in lines {
        let start = parse_entry_start(line, style, count);
        match (start, found.last_mut()) {
            (None, Some((_, text, _))) if text.len() < MAX_ENTRY_BYTES => {
                append_line(text, truncate_line(&line.text));
            }
            (None, Some(_)) => {}
            (None, None) if matches!(style, EntryStyle::Bracketed | EntryStyle::Numbered) => {}
            (start, _) => {
                if found.len() >= MAX_ENTRIES {
                    break;
                }
                let (label, text) = start.unwrap_or((None, line.text.as_str()));
                count = label.as_deref().and_then(parse_number).unwrap_or(count + 1);
                found.push((label, truncate_line(text).to_owned(), line.page));
            }
        }
    }
    let mut parsed: Vec<DocumentReference> = Vec::new();
    for (label, text, page) in found {
        if text.chars().filter(|c| c.is_alphabetic()).count() < 8 {
            continue;
        }
        let mut entry = parse_reference(&text);
        entry.label = label;
        entry.page = page;
        entry.number = u32::try_from(parsed.len() + 1).unwrap_or(u32::MAX);
        parsed.push(entry);
    }
    parsed
}

/// A line may be as long as a book.
fn truncate_line(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_ENTRY_BYTES))
        .unwrap_or(text)
}

fn parse_number(label: &str) -> Option<u32> {
    label
        .trim_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .ok()
}

/// Detects how this bibliography separates its entries.
fn detect_style(lines: &[EntryLine]) -> EntryStyle {
    let with = |form: &LazyLock<Option<Regex>>| {
        lines
            .iter()
            .filter(|line| form.as_ref().is_some_and(|form| form.is_match(&line.text)))
            .count()
    };
    let enough = 2.max(lines.len() / 12);
    if with(&BRACKETED_PATTERN) >= enough.min(lines.len()) {
        return EntryStyle::Bracketed;
    }
    let mut next = 1;
    for line in lines {
        if split_number(&line.text).is_some_and(|(at, _)| at == next) {
            next += 1;
        }
    }
    if next > 3 || (next > 1 && lines.len() <= 4 * (next as usize - 1)) {
        return EntryStyle::Numbered;
    }
    let set_in = lines.iter().filter(|line| line.indent > 0.6).count();
    let flush = lines.len() - set_in;
    if set_in * 5 >= lines.len() && flush * 5 >= lines.len() {
        return EntryStyle::Hanging;
    }
    let apart = lines.iter().filter(|line| line.is_set_apart).count();
    if apart * 6 >= lines.len() && apart >= 2 {
        return EntryStyle::BlankLines;
    }
    EntryStyle::AuthorNames
}

fn split_number(line: &str) -> Option<(u32, &str)> {
    let found = NUMBERED_PATTERN.as_ref()?.captures(line)?;
    Some((found.get(1)?.as_str().parse().ok()?, found.get(2)?.as_str()))
}

/// The label and text of a line that starts an entry.
fn parse_entry_start(
    line: &EntryLine,
    style: EntryStyle,
    count: u32,
) -> Option<(Option<String>, &str)> {
    let text = line.text.as_str();
    match style {
        EntryStyle::Bracketed => {
            let found = BRACKETED_PATTERN.as_ref()?.captures(text)?;
            Some((
                Some(found.get(1)?.as_str().to_owned()),
                found.get(2)?.as_str(),
            ))
        }
        EntryStyle::Numbered => {
            let (at, rest) = split_number(text)?;
            // A volume or page number at the start of a line is not the next label.
            (at == count + 1 || (count > 0 && at == count + 2))
                .then(|| (Some(at.to_string()), rest))
        }
        EntryStyle::Hanging => (line.indent <= 0.6).then_some((None, text)),
        EntryStyle::BlankLines => line.is_set_apart.then_some((None, text)),
        EntryStyle::AuthorNames => {
            (line.is_set_apart || AUTHOR_PATTERN.as_ref()?.is_match(text)).then_some((None, text))
        }
    }
}

/// Appends a line to an entry, joining a hyphenated word or a broken URL.
fn append_line(text: &mut String, line: &str) {
    let starts_small = line.chars().next().is_some_and(char::is_lowercase);
    let last_word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let in_address = last_word.contains("://") || last_word.starts_with("10.");
    if in_address
        && text.ends_with(['/', '-', '_', '=', '?', '&', '.'])
        && starts_lowercase_or_digit(line)
    {
        text.push_str(line);
        return;
    }
    let broken = text.ends_with('-') && !in_address && starts_small;
    if broken
        && text
            .strip_suffix('-')
            .is_some_and(|rest| rest.ends_with(char::is_alphabetic))
    {
        text.pop();
    } else if !text.ends_with('-') {
        text.push(' ');
    }
    text.push_str(line);
}

fn starts_lowercase_or_digit(line: &str) -> bool {
    line.chars()
        .next()
        .is_some_and(|c| c.is_lowercase() || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_split_entries() {
        let found = split_references(
            "[1] A. Author. A title of note. Journal of Things, 12(3):1-9, 2001.\n[2] B. Other. Another\ntitle. 2004.",
            9,
        );
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].label.as_deref(), Some("[2]"));
        assert_eq!(found[1].text, "B. Other. Another title. 2004.");
        assert_eq!((found[1].number, found[1].page), (2, 9));
    }

    #[test]
    fn a_page_number_at_the_start_of_a_line_is_no_entry() {
        let found = split_references(
            "1. Alpha A. First of all things. J Test 4,\n212. 2001.\n2. Beta B. Second of all. 2002.\n3. Gamma C. Third of them. 2003.",
            1,
        );
        assert_eq!(found.len(), 3);
        assert!(found[0].text.ends_with("212. 2001."));
    }

    #[test]
    fn hanging_lines_belong_to_the_entry_above() {
        let found = split_references(
            "Adams, J. (1999). On the first matter of\n    concern. Journal A.\nBaker, K. (2000). On the second matter\n    of concern. Journal B.",
            1,
        );
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].year, Some(1999));
    }
}
