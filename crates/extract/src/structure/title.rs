//! Finds the title: the largest print near the top of the first page.

use super::heading_names::is_known_section;
use crate::layout::LayoutLine;

/// The lines of the first page that are its title.
pub(crate) fn find_title_lines(page: &[LayoutLine]) -> Vec<usize> {
    let Some(turn) = page.first().map(|line| line.rotation) else {
        return Vec::new();
    };
    let letters = |line: &LayoutLine| line.text.chars().filter(|c| c.is_alphabetic()).count();
    let candidates = || {
        page.iter().enumerate().filter(|(_, line)| {
            line.rotation == turn && letters(line) >= 3 && !is_known_section(&line.text)
        })
    };
    let high = candidates()
        .map(|(_, line)| line.baseline)
        .fold(f32::MIN, f32::max);
    let low = candidates()
        .map(|(_, line)| line.baseline)
        .fold(f32::MAX, f32::min);
    let upper = |line: &LayoutLine| line.baseline > low + 0.45 * (high - low);
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
