//! The title: the largest print near the top of the first page.

use super::names::known_name;
use crate::layout::Line;

/// The lines of the first page that are its title: the largest print on it, near its top.
pub(crate) fn title_lines(page: &[Line]) -> Vec<usize> {
    let Some(turn) = page.first().map(|line| line.turn) else {
        return Vec::new();
    };
    let letters = |line: &Line| line.text.chars().filter(|c| c.is_alphabetic()).count();
    let candidates = || {
        page.iter()
            .enumerate()
            .filter(|(_, line)| line.turn == turn && letters(line) >= 3 && !known_name(&line.text))
    };
    let high = candidates()
        .map(|(_, line)| line.base)
        .fold(f32::MIN, f32::max);
    let low = candidates()
        .map(|(_, line)| line.base)
        .fold(f32::MAX, f32::min);
    let upper = |line: &Line| line.base > low + 0.45 * (high - low);
    let size = candidates()
        .filter(|(_, line)| upper(line))
        .map(|(_, line)| line.size)
        .fold(0.0, f32::max);
    let typical = {
        let mut sizes: Vec<f32> = candidates().map(|(_, line)| line.size).collect();
        sizes.sort_by(f32::total_cmp);
        sizes.get(sizes.len() / 2).copied().unwrap_or(10.0)
    };
    if size < 1.15 * typical {
        return Vec::new();
    }
    let mut found: Vec<usize> = Vec::new();
    for (at, line) in candidates().filter(|(_, line)| upper(line)) {
        let near = found.last().is_none_or(|last| at - last <= 1);
        if (line.size - size).abs() < 0.06 * size && near && found.len() < 6 {
            found.push(at);
        }
    }
    found
}
