//! Removes running headers, footers and page numbers: lines at the edge of many pages that are not
//! part of the text.

use std::collections::HashMap;

use super::LayoutLine;

/// Lines at each edge that may be headers or footers.
const MAX_EDGE_LINES: usize = 3;
/// Minimum distance from the text, as a share of the size.
const MIN_GAP: f32 = 1.4;

/// Removes headers and footers; returns the printed number of each page that has one.
pub(crate) fn remove_running_headers(pages: &mut [Vec<LayoutLine>]) -> Vec<Option<String>> {
    let all = pages.len();
    let edges: Vec<[Vec<usize>; 2]> = pages.iter().map(|lines| edge_lines(lines)).collect();
    let mut seen: HashMap<(String, i32), usize> = HashMap::new();
    let mut numbered = 0;
    for (lines, edges) in pages.iter().zip(&edges) {
        let mut any = false;
        for line in edges.iter().flatten().filter_map(|at| lines.get(*at)) {
            let shape = number_pattern(line);
            any |= is_page_number(&shape);
            *seen.entry((shape, vertical_position(line))).or_default() += 1;
        }
        numbered += usize::from(any);
    }
    let often = 3.max(all / 20);
    let pages_are_numbered = numbered * 2 >= all && numbered >= 2;
    let is_furniture = |line: &LayoutLine| {
        let shape = number_pattern(line);
        if is_page_number(&shape) {
            return pages_are_numbered;
        }
        let place = vertical_position(line);
        // Positions are rounded, so a line is counted in the neighboring ones too.
        let count: usize = (place - 1..=place + 1)
            .filter_map(|near| seen.get(&(shape.clone(), near)))
            .sum();
        count >= often && line.text.chars().count() < 200
    };
    let mut labels = Vec::with_capacity(all);
    for (lines, edges) in pages.iter_mut().zip(edges) {
        let mut label = None;
        let mut drop = vec![false; lines.len()];
        for edge in edges {
            for at in find_running_lines(&edge, lines, is_furniture) {
                let Some(line) = lines.get(at) else { continue };
                // A number alone is more reliable than one beside words.
                let alone = is_page_number(&number_pattern(line));
                if alone || label.is_none() {
                    label = parse_page_number(&line.text, alone);
                }
                if let Some(place) = drop.get_mut(at) {
                    *place = true;
                }
            }
        }
        // A page of such lines only has some other kind of text: it is kept.
        if drop.iter().any(|drop| !drop) {
            let mut dropped = drop.into_iter();
            lines.retain(|_| !dropped.next().unwrap_or(false));
        }
        labels.push(label);
    }
    labels
}

/// The header or footer lines at one edge: from the edge inwards, up to the last wide gap before the
/// text. A page of verse may start like another; only lines that are set apart are removed.
fn find_running_lines(
    edge: &[usize],
    lines: &[LayoutLine],
    is_furniture: impl Fn(&LayoutLine) -> bool,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut set_off = 0;
    let at = |place: usize| edge.get(place).and_then(|at| lines.get(*at));
    for (place, index) in edge.iter().enumerate().take(MAX_EDGE_LINES) {
        let Some(line) = at(place).filter(|line| is_furniture(line)) else {
            break;
        };
        found.push(*index);
        let gap = at(place + 1).map(|next| (line.baseline - next.baseline).abs());
        if gap.is_none_or(|gap| gap > MIN_GAP * line.size) {
            set_off = found.len();
        }
    }
    found.truncate(set_off);
    found
}

/// The lines nearest to the top and to the bottom, each from the edge inwards.
fn edge_lines(lines: &[LayoutLine]) -> [Vec<usize>; 2] {
    let Some(turn) = lines.first().map(|line| line.rotation) else {
        return Default::default();
    };
    let mut order: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(|line| line.rotation == turn))
        .collect();
    let base = |at: &usize| lines.get(*at).map_or(0.0, |line| line.baseline);
    order.sort_by(|a, b| base(b).total_cmp(&base(a)));
    let top = order.iter().copied().take(MAX_EDGE_LINES + 1).collect();
    let bottom = order
        .iter()
        .rev()
        .copied()
        .take(MAX_EDGE_LINES + 1)
        .collect();
    [top, bottom]
}

/// The rounded height of a line on the page.
fn vertical_position(line: &LayoutLine) -> i32 {
    (line.baseline / 4.0).round() as i32
}

/// A line's text with its numbers replaced by one placeholder.
fn number_pattern(line: &LayoutLine) -> String {
    let mut shape = String::new();
    for letter in line.text.chars().take(200) {
        if letter.is_ascii_digit() {
            if !shape.ends_with('#') {
                shape.push('#');
            }
        } else if !letter.is_whitespace() {
            shape.extend(letter.to_lowercase());
        }
    }
    shape
}

fn is_page_number(shape: &str) -> bool {
    let bare = shape.trim_matches(|c: char| !c.is_alphanumeric() && c != '#');
    matches!(bare, "#" | "page#" | "page#of#" | "#of#" | "#/#")
        || (!bare.is_empty()
            && bare.len() <= 6
            && bare.chars().all(|c| matches!(c, 'i' | 'v' | 'x')))
}

fn parse_page_number(text: &str, alone: bool) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let digits = |word: &&&str| {
        !word.is_empty() && word.len() <= 5 && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    if alone {
        return words
            .iter()
            .find(digits)
            .or_else(|| words.first())
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
            .filter(|word| !word.is_empty());
    }
    [words.first(), words.last()]
        .into_iter()
        .flatten()
        .find(|word| digits(word))
        .map(|word| (*word).to_owned())
}
