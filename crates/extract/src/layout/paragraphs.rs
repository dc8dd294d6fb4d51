//! Joins lines to paragraphs: rejoins words hyphenated at the end of a line and records where each
//! paragraph starts in the page's text.

use std::collections::HashSet;

use super::LayoutLine;
use crate::CaptionKind;

/// The role of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayoutLineKind {
    Body,
    /// A heading of this level.
    Heading(u8),
    /// The start of a caption.
    Caption(CaptionKind),
    /// The start of an entry, list item or other line that opens a paragraph.
    EntryStart,
}

#[derive(Debug, Clone)]
pub(crate) struct LayoutParagraph {
    pub(crate) kind: LayoutLineKind,
    pub(crate) text: String,
    /// The character offset in the page's text.
    pub(crate) offset: u32,
}

/// Returns the page's text and its paragraphs. `compounds` are words that have a hyphen.
pub(crate) fn build_paragraphs(
    lines: &[LayoutLine],
    kinds: &[LayoutLineKind],
    compounds: &HashSet<String>,
) -> (String, Vec<LayoutParagraph>) {
    let leading = typical_leading(lines);
    let mut paragraphs: Vec<LayoutParagraph> = Vec::new();
    let mut before: Option<(&LayoutLine, LayoutLineKind)> = None;
    for (line, kind) in lines.iter().zip(kinds) {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        match (before, paragraphs.last_mut()) {
            (Some((last, last_kind)), Some(open))
                if continues_paragraph(last, last_kind, line, *kind, leading) =>
            {
                let broken = matches!(
                    open.kind,
                    LayoutLineKind::Body | LayoutLineKind::EntryStart | LayoutLineKind::Caption(_)
                ) && is_short_line(last);
                append_line(&mut open.text, text, broken, compounds);
            }
            _ => paragraphs.push(LayoutParagraph {
                kind: *kind,
                text: text.to_owned(),
                offset: 0,
            }),
        }
        before = Some((line, *kind));
    }
    join_paragraphs(paragraphs)
}

/// Joins the paragraphs and records the offset of each.
fn join_paragraphs(mut paragraphs: Vec<LayoutParagraph>) -> (String, Vec<LayoutParagraph>) {
    let mut text = String::new();
    let mut characters = 0;
    for paragraph in &mut paragraphs {
        if !text.is_empty() {
            text.push_str("\n\n");
            characters += 2;
        }
        paragraph.offset = characters;
        text.push_str(&paragraph.text);
        characters += u32::try_from(paragraph.text.chars().count()).unwrap_or(0);
    }
    (text, paragraphs)
}

/// The typical line spacing as a share of the size.
fn typical_leading(lines: &[LayoutLine]) -> f32 {
    let mut steps: Vec<f32> = lines
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] if a.block == b.block && (a.size - b.size).abs() < 0.5 => {
                Some((a.baseline - b.baseline) / b.size)
            }
            _ => None,
        })
        .filter(|step| (0.8..2.6).contains(step))
        .collect();
    steps.sort_by(f32::total_cmp);
    // The lower third: gaps between paragraphs are larger.
    steps.get(steps.len() / 3).copied().unwrap_or(1.2)
}

/// Whether a line continues the paragraph of the last one.
fn continues_paragraph(
    last: &LayoutLine,
    last_kind: LayoutLineKind,
    line: &LayoutLine,
    kind: LayoutLineKind,
    leading: f32,
) -> bool {
    let heading = |kind| matches!(kind, LayoutLineKind::Heading(_));
    if heading(last_kind) || heading(kind) {
        return last_kind == kind
            && last.block == line.block
            && (last.size - line.size).abs() < 0.3
            && last.bold == line.bold
            && line_step(last, line) < leading.max(1.0) * 1.35
            && !starts_with_number(&line.text);
    }
    if kind != LayoutLineKind::Body || last.rotation != line.rotation {
        return false;
    }
    if (last.size - line.size).abs() > 0.12 * last.size.max(line.size) {
        return false;
    }
    if last.block != line.block {
        return continues_sentence(last, line) && !matches!(last_kind, LayoutLineKind::Caption(_));
    }
    let step = line_step(last, line);
    if step <= 0.0 || step > leading * 1.4 {
        return false;
    }
    let indent = line.left - line.block_left;
    let last_indent = last.left - last.block_left;
    let em = line.size;
    let indented = last_kind != LayoutLineKind::EntryStart
        && indent > 0.8 * em
        && last_indent < 0.3 * em
        && indent < 4.0 * em;
    let outdented = indent < 0.3 * em && last_indent > 0.8 * em && is_short_line(last);
    let ended = last.text.ends_with(['.', '!', '?', ':']) && is_short_line(last);
    !(indented || outdented || ended)
}

fn line_step(last: &LayoutLine, line: &LayoutLine) -> f32 {
    (last.baseline - line.baseline) / line.size.max(0.1)
}

/// Whether a line ends well before the edge of its block.
fn is_short_line(line: &LayoutLine) -> bool {
    line.right < line.block_right - 0.2 * (line.block_right - line.block_left)
}

/// Whether a sentence continues from the end of one column at the start of the next.
fn continues_sentence(last: &LayoutLine, line: &LayoutLine) -> bool {
    let starts_small = line.text.chars().next().is_some_and(char::is_lowercase);
    !is_short_line(last) && starts_small && !last.text.ends_with(['.', '!', '?', ':'])
}

fn starts_with_number(text: &str) -> bool {
    text.chars()
        .next()
        .is_some_and(|first| first.is_ascii_digit())
}

/// Appends a line to a paragraph. A hyphen at the end of the last line is removed if the word
/// continues in lower case and is not a known compound.
fn append_line(text: &mut String, line: &str, broken: bool, compounds: &HashSet<String>) {
    let first = line.chars().next();
    let before_hyphen = text.strip_suffix('-').and_then(|rest| rest.chars().last());
    if before_hyphen.is_some_and(char::is_alphabetic) && first.is_some_and(char::is_lowercase) {
        if !compounds.contains(&hyphenated_word(text, line)) {
            text.pop();
        }
    } else if before_hyphen.is_some_and(char::is_alphanumeric)
        && first.is_some_and(char::is_alphanumeric)
    {
        // The hyphen of a name or a number stays, without a space after it.
    } else {
        text.push(if broken { '\n' } else { ' ' });
    }
    text.push_str(line);
}

/// Longer than any word.
const MAX_COMPOUND_CHARS: usize = 60;

fn hyphenated_word(text: &str, line: &str) -> String {
    let part_of_word = |c: &char| c.is_alphanumeric() || *c == '-';
    let head: Vec<char> = text
        .chars()
        .rev()
        .take(MAX_COMPOUND_CHARS)
        .take_while(part_of_word)
        .collect();
    let tail: String = line
        .chars()
        .take(MAX_COMPOUND_CHARS)
        .take_while(part_of_word)
        .collect();
    let head: String = head.into_iter().rev().collect();
    format!("{head}{tail}").to_lowercase()
}

/// Collects the words with a hyphen inside a line, in lower case.
pub(crate) fn collect_compounds<'l>(
    lines: impl Iterator<Item = &'l LayoutLine>,
) -> HashSet<String> {
    let mut found = HashSet::new();
    for line in lines {
        for word in line.text.split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            if word.len() < 40 && word.contains('-') && found.len() < 100_000 {
                found.insert(word.to_lowercase());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join_lines(head: &str, tail: &str) -> String {
        let mut text = head.to_owned();
        let known = HashSet::from(["well-known".to_owned()]);
        append_line(&mut text, tail, false, &known);
        text
    }

    #[test]
    fn broken_words_are_made_whole_and_real_hyphens_stay() {
        assert_eq!(join_lines("an exam-", "ple of it"), "an example of it");
        assert_eq!(join_lines("a well-", "known fact"), "a well-known fact");
        assert_eq!(join_lines("Jean-", "Paul"), "Jean-Paul");
        assert_eq!(join_lines("from 1990-", "2000"), "from 1990-2000");
        assert_eq!(join_lines("a dash -", "so it is"), "a dash - so it is");
        assert_eq!(join_lines("one", "two"), "one two");
    }
}
