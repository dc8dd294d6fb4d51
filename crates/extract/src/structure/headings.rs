//! Headings by size, weight, numbering and name, or by the document's own outline where it has
//! one.

use std::collections::{HashMap, HashSet};

use super::captions::caption_start;
use super::names::{is_references, known_name, numbered};
use super::references::opens_entry;
use crate::layout::{Kind, Line};

/// One line of a document's own outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) level: u8,
    pub(crate) title: String,
}

/// The longest heading, in characters.
const LONGEST: usize = 150;
/// The most headings looked for.
const MOST: usize = 5_000;

/// A title reduced to its letters and figures, without its number.
fn bare(title: &str) -> String {
    let (_, words) = numbered(title.trim());
    words
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The size most of the text is printed in.
fn body_size(pages: &[Vec<Line>]) -> f32 {
    let mut weights: HashMap<i32, usize> = HashMap::new();
    for line in pages.iter().flatten() {
        *weights.entry((line.size * 2.0).round() as i32).or_default() += line.text.len();
    }
    weights
        .into_iter()
        .max_by_key(|(size, weight)| (*weight, *size))
        .map_or(10.0, |(size, _)| size as f32 / 2.0)
}

/// What each line of each page is.
pub(crate) fn kinds(pages: &[Vec<Line>], marks: &[Mark], title: &[usize]) -> Vec<Vec<Kind>> {
    let body = body_size(pages);
    let mut wanted = Wanted::new(marks);
    let mut judged: Vec<Vec<Judged>> = Vec::with_capacity(pages.len());
    for (at, lines) in pages.iter().enumerate() {
        judged.push(judge_page(
            lines,
            if at == 0 { title } else { &[] },
            body,
            &mut wanted,
        ));
    }
    if let (Some(lines), Some(judged)) = (pages.first(), judged.first_mut()) {
        pass_over_authors(lines, judged);
    }
    let ruled = wanted.rules();
    let mut left = MOST;
    let mut in_references = false;
    let mut kinds = Vec::with_capacity(pages.len());
    for (lines, judged) in pages.iter().zip(judged) {
        let mut page = Vec::with_capacity(lines.len());
        let hanging = hanging_blocks(lines);
        for (line, judged) in lines.iter().zip(judged) {
            let heading = match judged {
                Judged::Marked(level) => Some(level),
                Judged::Guessed(level) if !ruled || in_references || known_name(&line.text) => {
                    Some(level)
                }
                _ => None,
            };
            page.push(match (judged, heading) {
                (_, Some(level)) if left > 0 => {
                    left -= 1;
                    in_references = is_references(&line.text);
                    Kind::Heading(level)
                }
                (Judged::Caption(kind), _) => Kind::Caption(kind),
                _ if opens(line, in_references) => Kind::Opens,
                _ if in_references && is_flush(line) && hanging.contains(&line.block) => {
                    Kind::Opens
                }
                _ => Kind::Body,
            });
        }
        kinds.push(page);
    }
    kinds
}

/// Above the first numbered or known heading of the first page stand the authors and where they
/// work, often in large or bold print.
fn pass_over_authors(lines: &[Line], judged: &mut [Judged]) {
    let sure = |line: &Line| known_name(&line.text) || numbered(line.text.trim()).0.is_some();
    let Some(first) = lines
        .iter()
        .zip(judged.iter())
        .position(|(line, judged)| matches!(judged, Judged::Guessed(_)) && sure(line))
    else {
        return;
    };
    for judged in judged.iter_mut().take(first) {
        if matches!(judged, Judged::Guessed(_)) {
            *judged = Judged::Plain;
        }
    }
}

fn opens(line: &Line, in_references: bool) -> bool {
    let text = line.text.trim_start();
    text.starts_with(['\u{2022}', '\u{25aa}', '\u{25e6}', '\u{2023}'])
        || (in_references && opens_entry(text))
}

/// Whether a line begins at the left side of its block.
fn is_flush(line: &Line) -> bool {
    line.left - line.block_left < 0.6 * line.size
}

/// The blocks of a page in which a good part of the lines is set in: lists whose entries hang.
fn hanging_blocks(lines: &[Line]) -> HashSet<u32> {
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
enum Judged {
    Plain,
    /// The outline names it.
    Marked(u8),
    /// It looks like a heading.
    Guessed(u8),
    Caption(crate::CaptionKind),
}

/// The titles of the outline that have not been met yet.
struct Wanted {
    titles: HashMap<String, Vec<u8>>,
    all: usize,
    met: usize,
}

impl Wanted {
    fn new(marks: &[Mark]) -> Self {
        let mut titles: HashMap<String, Vec<u8>> = HashMap::new();
        for mark in marks.iter().rev() {
            let bare = bare(&mark.title);
            if bare.len() >= 3 {
                titles.entry(bare).or_default().push(mark.level);
            }
        }
        Self {
            titles,
            all: marks.len(),
            met: 0,
        }
    }

    fn meet(&mut self, text: &str) -> Option<u8> {
        let levels = self.titles.get_mut(&bare(text))?;
        let level = levels.pop()?;
        self.met += 1;
        Some(level)
    }

    /// Whether so much of the outline was met that nothing else is a heading.
    const fn rules(&self) -> bool {
        self.all >= 3 && self.met * 10 >= self.all * 6
    }
}

fn judge_page(lines: &[Line], title: &[usize], body: f32, wanted: &mut Wanted) -> Vec<Judged> {
    let mut judged = vec![Judged::Plain; lines.len()];
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let mut taken = 1;
        let verdict = if title.contains(&at) {
            Judged::Plain
        } else if let Some((level, count)) = marked(lines, at, body, wanted) {
            taken = count;
            Judged::Marked(level)
        } else if let Some((kind, _)) =
            caption_start(&line.text, line.bold || line.size < 0.96 * body)
        {
            Judged::Caption(kind)
        } else {
            let last = at.checked_sub(1).and_then(|before| lines.get(before));
            guess(line, last, body).map_or(Judged::Plain, Judged::Guessed)
        };
        for place in judged.iter_mut().skip(at).take(taken) {
            *place = verdict;
        }
        at += taken;
    }
    judged
}

/// The level the outline gives to the line at `at`, alone or with the lines after it.
fn marked(lines: &[Line], at: usize, body: f32, wanted: &mut Wanted) -> Option<(u8, usize)> {
    if wanted.all == 0 {
        return None;
    }
    let first = lines.get(at)?;
    if first.text.len() > 2 * LONGEST || first.size < 0.9 * body || first.text.ends_with(',') {
        return None;
    }
    let mut text = String::new();
    for (count, line) in (1..=3).zip(lines.iter().skip(at)) {
        if line.block != first.block || (line.size - first.size).abs() > 0.3 {
            break;
        }
        text.push_str(&line.text);
        if let Some(level) = wanted.meet(&text) {
            return Some((level.max(1), count));
        }
        text.push(' ');
    }
    None
}

/// The level of a line that looks like a heading.
fn guess(line: &Line, last: Option<&Line>, body: f32) -> Option<u8> {
    let text = line.text.trim();
    let length = text.chars().count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    if !(3..=LONGEST).contains(&length)
        || letters * 2 < length
        || letters < 3
        || text.ends_with([',', ';', '-'])
    {
        return None;
    }
    let (number, words) = numbered(text);
    // A line of a table of contents, or a running head, ends with its page.
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
    if known_name(text)
        && (line.bold || big || capitals || is_references(text) || stands_alone(line, last))
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
    (line.bold && stands_alone(line, last) && length <= 80 && letters >= 4).then_some(3)
}

/// Whether a line stops early and is set off from the line above it.
fn stands_alone(line: &Line, last: Option<&Line>) -> bool {
    let width = line.block_right - line.block_left;
    let short = line.right - line.left < 0.85 * width;
    let off = last
        .is_none_or(|last| last.block != line.block || last.base - line.base > 1.35 * line.size);
    short && off
}
