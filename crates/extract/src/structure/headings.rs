//! Recognizes headings by size, weight, numbering and name, or by the document's outline.

use std::collections::{HashMap, HashSet};

use super::{
    captions::parse_caption_start,
    heading_names::{is_known_section, is_references, split_number},
    references::is_entry_start,
};
use crate::layout::{LayoutLine, LayoutLineKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PdfOutlineEntry {
    pub(crate) level: u8,
    pub(crate) title: String,
}

const MAX_HEADING_CHARS: usize = 150;
const MAX_HEADINGS: usize = 5_000;

/// A title's letters and digits, without its number.
fn normalize_title(title: &str) -> String {
    let (_, words) = split_number(title.trim());
    words
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The most common font size.
fn body_size(pages: &[Vec<LayoutLine>]) -> f32 {
    let mut weights: HashMap<i32, usize> = HashMap::new();
    for line in pages.iter().flatten() {
        *weights.entry((line.size * 2.0).round() as i32).or_default() += line.text.len();
    }
    weights
        .into_iter()
        .max_by_key(|(size, weight)| (*weight, *size))
        .map_or(10.0, |(size, _)| size as f32 / 2.0)
}

/// Classifies each line of each page.
pub(crate) fn classify_lines(
    pages: &[Vec<LayoutLine>],
    entries: &[PdfOutlineEntry],
    title: &[usize],
) -> Vec<Vec<LayoutLineKind>> {
    let body = body_size(pages);
    let mut matcher = OutlineMatcher::new(entries);
    let mut judged: Vec<Vec<LineClass>> = Vec::with_capacity(pages.len());
    for (at, lines) in pages.iter().enumerate() {
        judged.push(classify_page(
            lines,
            if at == 0 { title } else { &[] },
            body,
            &mut matcher,
        ));
    }
    if let (Some(lines), Some(class)) = (pages.first(), judged.first_mut()) {
        skip_author_block(lines, class);
    }
    let ruled = matcher.is_reliable();
    let mut left = MAX_HEADINGS;
    let mut in_references = false;
    let mut kinds = Vec::with_capacity(pages.len());
    for (lines, class) in pages.iter().zip(judged) {
        let mut page = Vec::with_capacity(lines.len());
        let hanging = hanging_blocks(lines);
        for (line, class) in lines.iter().zip(class) {
            let heading = match class {
                LineClass::OutlineHeading(level) => Some(level),
                LineClass::GuessedHeading(level)
                    if !ruled || in_references || is_known_section(&line.text) =>
                {
                    Some(level)
                }
                _ => None,
            };
            page.push(match (class, heading) {
                (_, Some(level)) if left > 0 => {
                    left -= 1;
                    in_references = is_references(&line.text);
                    LayoutLineKind::Heading(level)
                }
                (LineClass::Caption(kind), _) => LayoutLineKind::Caption(kind),
                _ if starts_entry(line, in_references) => LayoutLineKind::EntryStart,
                _ if in_references && is_flush(line) && hanging.contains(&line.block) => {
                    LayoutLineKind::EntryStart
                }
                _ => LayoutLineKind::Body,
            });
        }
        kinds.push(page);
    }
    kinds
}

/// Above the first numbered or known heading of the first page stand the authors and their
/// affiliations, often in large or bold print.
fn skip_author_block(lines: &[LayoutLine], class: &mut [LineClass]) {
    let sure = |line: &LayoutLine| {
        is_known_section(&line.text) || split_number(line.text.trim()).0.is_some()
    };
    let Some(first) = lines
        .iter()
        .zip(class.iter())
        .position(|(line, class)| matches!(class, LineClass::GuessedHeading(_)) && sure(line))
    else {
        return;
    };
    for class in class.iter_mut().take(first) {
        if matches!(class, LineClass::GuessedHeading(_)) {
            *class = LineClass::Body;
        }
    }
}

fn starts_entry(line: &LayoutLine, in_references: bool) -> bool {
    let text = line.text.trim_start();
    text.starts_with(['\u{2022}', '\u{25aa}', '\u{25e6}', '\u{2023}'])
        || (in_references && is_entry_start(text))
}

/// Whether a line starts at the left edge of its block.
fn is_flush(line: &LayoutLine) -> bool {
    line.left - line.block_left < 0.6 * line.size
}

/// The blocks in which a good part of the lines is indented: lists with hanging entries.
fn hanging_blocks(lines: &[LayoutLine]) -> HashSet<u32> {
    let mut counts: HashMap<u32, (usize, usize)> = HashMap::new();
    for line in lines {
        let (set_in, all) = counts.entry(line.block).or_default();
        *set_in += usize::from(!is_flush(line));
        *all += 1;
    }
    counts
        .into_iter()
        .filter(|(_, (set_in, all))| set_in * 5 >= *all)
        .map(|(block, _)| block)
        .collect()
}

#[derive(Debug, Clone, Copy)]
enum LineClass {
    Body,
    /// Named in the outline.
    OutlineHeading(u8),
    /// Looks like a heading.
    GuessedHeading(u8),
    Caption(crate::CaptionKind),
}

/// Matches lines with the titles of the outline.
struct OutlineMatcher {
    titles: HashMap<String, Vec<u8>>,
    total: usize,
    matched: usize,
}

impl OutlineMatcher {
    fn new(entries: &[PdfOutlineEntry]) -> Self {
        let mut titles: HashMap<String, Vec<u8>> = HashMap::new();
        for entry in entries.iter().rev() {
            let bare = normalize_title(&entry.title);
            if bare.len() >= 3 {
                titles.entry(bare).or_default().push(entry.level);
            }
        }
        Self {
            titles,
            total: entries.len(),
            matched: 0,
        }
    }

    fn match_title(&mut self, text: &str) -> Option<u8> {
        let levels = self.titles.get_mut(&normalize_title(text))?;
        let level = levels.pop()?;
        self.matched += 1;
        Some(level)
    }

    /// Whether so much of the outline was matched that nothing else is a heading.
    const fn is_reliable(&self) -> bool {
        self.total >= 3 && self.matched * 10 >= self.total * 6
    }
}

fn classify_page(
    lines: &[LayoutLine],
    title: &[usize],
    body: f32,
    matcher: &mut OutlineMatcher,
) -> Vec<LineClass> {
    let mut class = vec![LineClass::Body; lines.len()];
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let mut taken = 1;
        let verdict = if title.contains(&at) {
            LineClass::Body
        } else if let Some((level, count)) = match_outline(lines, at, body, matcher) {
            taken = count;
            LineClass::OutlineHeading(level)
        } else if let Some((kind, _)) =
            parse_caption_start(&line.text, line.bold || line.size < 0.96 * body)
        {
            LineClass::Caption(kind)
        } else {
            let last = at.checked_sub(1).and_then(|before| lines.get(before));
            guess_heading_level(line, last, body).map_or(LineClass::Body, LineClass::GuessedHeading)
        };
        for line_class in class.iter_mut().skip(at).take(taken) {
            *line_class = verdict;
        }
        at += taken;
    }
    class
}

/// The outline level of the line at `at`, alone or with the lines after it.
fn match_outline(
    lines: &[LayoutLine],
    at: usize,
    body: f32,
    matcher: &mut OutlineMatcher,
) -> Option<(u8, usize)> {
    if matcher.total == 0 {
        return None;
    }
    let first = lines.get(at)?;
    if first.text.len() > 2 * MAX_HEADING_CHARS
        || first.size < 0.9 * body
        || first.text.ends_with(',')
    {
        return None;
    }
    let mut text = String::new();
    for (count, line) in (1..=3).zip(lines.iter().skip(at)) {
        if line.block != first.block || (line.size - first.size).abs() > 0.3 {
            break;
        }
        text.push_str(&line.text);
        if let Some(level) = matcher.match_title(&text) {
            return Some((level.max(1), count));
        }
        text.push(' ');
    }
    None
}

/// The level of a line that looks like a heading.
fn guess_heading_level(line: &LayoutLine, last: Option<&LayoutLine>, body: f32) -> Option<u8> {
    let text = line.text.trim();
    let length = text.chars().count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    if !(3..=MAX_HEADING_CHARS).contains(&length)
        || letters * 2 < length
        || letters < 3
        || text.ends_with([',', ';', '-'])
    {
        return None;
    }
    let (number, words) = split_number(text);
    // A line of a table of contents, or a running header, ends with its page.
    let paged = words
        .rsplit(' ')
        .next()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    if number.is_some() && paged {
        return None;
    }
    let words_start_high = words.chars().next().is_some_and(char::is_uppercase);
    let big = line.size >= 1.12 * body;
    let capitals = !text.chars().any(char::is_lowercase);
    if is_known_section(text)
        && (line.bold || big || capitals || is_references(text) || is_set_off(line, last))
    {
        return Some(number.unwrap_or(1));
    }
    let whole = text.ends_with('.') && text.matches(". ").count() > 0;
    if !words_start_high || whole || line.size < 0.95 * body {
        return None;
    }
    if let Some(depth) = number {
        let said = line.bold || big || (capitals && length < 80);
        return said.then_some(depth);
    }
    if text.ends_with('.') || length > 100 {
        return None;
    }
    if line.size >= 1.15 * body {
        return Some(if line.size >= 1.4 * body { 1 } else { 2 });
    }
    (line.bold && is_set_off(line, last) && length <= 80 && letters >= 4).then_some(3)
}

/// Whether a line is short and has space above it.
fn is_set_off(line: &LayoutLine, last: Option<&LayoutLine>) -> bool {
    let width = line.block_right - line.block_left;
    let short = line.right - line.left < 0.85 * width;
    let off = last.is_none_or(|last| {
        last.block != line.block || last.baseline - line.baseline > 1.35 * line.size
    });
    short && off
}
