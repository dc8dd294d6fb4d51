//! What is different between two states of a thing, as a unified diff and as a count.

use std::{collections::BTreeSet, time::Duration};

use deliberate_core::cut_to_chars;
use similar::{ChangeTag, TextDiff};

use super::files::Files;

/// Finding a small difference may take this long; after that a coarser one is good enough.
const PATIENCE: Duration = Duration::from_millis(300);

/// The longest difference that is shown.
const LONGEST: usize = 20_000;

/// The difference between two states, file by file; empty if there is none.
pub(super) fn unified(old: &Files, new: &Files) -> String {
    let mut shown = String::new();
    for name in names(old, new) {
        let (before, after) = (text(old, name), text(new, name));
        if before == after {
            continue;
        }
        let diff = TextDiff::configure()
            .timeout(PATIENCE)
            .diff_lines(before, after);
        let from = if old.contains_key(name) {
            name
        } else {
            "/dev/null"
        };
        let to = if new.contains_key(name) {
            name
        } else {
            "/dev/null"
        };
        let part = diff
            .unified_diff()
            .context_radius(3)
            .header(from, to)
            .to_string();
        shown.push_str(&part);
    }
    cut_to_chars(&shown, LONGEST)
}

/// How many lines came and went.
pub(super) fn summary(old: &Files, new: &Files) -> String {
    let (mut added, mut removed) = (0_usize, 0_usize);
    for name in names(old, new) {
        let (before, after) = (text(old, name), text(new, name));
        if before == after {
            continue;
        }
        let diff = TextDiff::configure()
            .timeout(PATIENCE)
            .diff_lines(before, after);
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => added += 1,
                ChangeTag::Delete => removed += 1,
                ChangeTag::Equal => {}
            }
        }
    }
    format!("+{added} -{removed}")
}

fn names<'f>(old: &'f Files, new: &'f Files) -> BTreeSet<&'f str> {
    old.keys().chain(new.keys()).map(String::as_str).collect()
}

fn text<'f>(files: &'f Files, name: &str) -> &'f str {
    files.get(name).map_or("", String::as_str)
}
