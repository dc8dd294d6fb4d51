//! Running heads, running feet and page numbers: what stands at the edge of many pages and is
//! no part of the text.

use std::collections::HashMap;

use super::Line;

/// How many lines at each edge may be furniture.
const DEEP: usize = 3;
/// Furniture stands at least this far from the text, as a share of its size.
const SET_OFF: f32 = 1.4;

/// Takes the furniture out of the pages; returns the printed number of each page that shows
/// one.
pub(crate) fn take_out(pages: &mut [Vec<Line>]) -> Vec<Option<String>> {
    let all = pages.len();
    let edges: Vec<[Vec<usize>; 2]> = pages.iter().map(|lines| edges(lines)).collect();
    let mut seen: HashMap<(String, i32), usize> = HashMap::new();
    let mut numbered = 0;
    for (lines, edges) in pages.iter().zip(&edges) {
        let mut any = false;
        for line in edges.iter().flatten().filter_map(|at| lines.get(*at)) {
            let shape = shape(line);
            any |= is_number(&shape);
            *seen.entry((shape, place(line))).or_default() += 1;
        }
        numbered += usize::from(any);
    }
    let often = 3.max(all / 20);
    let pages_are_numbered = numbered * 2 >= all && numbered >= 2;
    let is_furniture = |line: &Line| {
        let shape = shape(line);
        if is_number(&shape) {
            return pages_are_numbered;
        }
        let place = place(line);
        // A line that falls between two places is counted in both.
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
            for at in furniture_of(&edge, lines, is_furniture) {
                let Some(line) = lines.get(at) else { continue };
                // A number that stands alone is surer than one beside words.
                let alone = is_number(&shape(line));
                if alone || label.is_none() {
                    label = printed_number(&line.text, alone);
                }
                if let Some(place) = drop.get_mut(at) {
                    *place = true;
                }
            }
        }
        // A page that is all furniture has some other kind of text: it is kept.
        if drop.iter().any(|drop| !drop) {
            let mut dropped = drop.into_iter();
            lines.retain(|_| !dropped.next().unwrap_or(false));
        }
        labels.push(label);
    }
    labels
}

/// The furniture at one edge: from the edge inwards, up to the last wide gap before the text.
/// A page of verses may begin as another did; only what is set off is no part of it.
fn furniture_of(
    edge: &[usize],
    lines: &[Line],
    is_furniture: impl Fn(&Line) -> bool,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut set_off = 0;
    let at = |place: usize| edge.get(place).and_then(|at| lines.get(*at));
    for (place, index) in edge.iter().enumerate().take(DEEP) {
        let Some(line) = at(place).filter(|line| is_furniture(line)) else {
            break;
        };
        found.push(*index);
        let gap = at(place + 1).map(|next| (line.base - next.base).abs());
        if gap.is_none_or(|gap| gap > SET_OFF * line.size) {
            set_off = found.len();
        }
    }
    found.truncate(set_off);
    found
}

/// The lines nearest to the top and those nearest to the bottom, each from the edge inwards.
fn edges(lines: &[Line]) -> [Vec<usize>; 2] {
    let Some(turn) = lines.first().map(|line| line.turn) else {
        return Default::default();
    };
    let mut order: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(|line| line.turn == turn))
        .collect();
    let base = |at: &usize| lines.get(*at).map_or(0.0, |line| line.base);
    order.sort_by(|a, b| base(b).total_cmp(&base(a)));
    let top = order.iter().copied().take(DEEP + 1).collect();
    let bottom = order.iter().rev().copied().take(DEEP + 1).collect();
    [top, bottom]
}

/// About how high on the page a line stands.
fn place(line: &Line) -> i32 {
    (line.base / 4.0).round() as i32
}

/// A line's text with its numbers made alike.
fn shape(line: &Line) -> String {
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

fn is_number(shape: &str) -> bool {
    let bare = shape.trim_matches(|c: char| !c.is_alphanumeric() && c != '#');
    matches!(bare, "#" | "page#" | "page#of#" | "#of#" | "#/#")
        || (!bare.is_empty()
            && bare.len() <= 6
            && bare.chars().all(|c| matches!(c, 'i' | 'v' | 'x')))
}

fn printed_number(text: &str, alone: bool) -> Option<String> {
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
