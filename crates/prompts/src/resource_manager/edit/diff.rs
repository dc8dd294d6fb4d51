//! The difference between two states of a resource, as a unified diff and as a summary.

use std::{collections::BTreeSet, time::Duration};

use deliberate_core::truncate_chars;
use similar::{ChangeTag, TextDiff};

use crate::resource_manager::disk::atomic_files::FileTexts;

/// The time for finding a minimal difference; after that a coarser one is used.
const DIFF_TIMEOUT: Duration = Duration::from_millis(300);

/// The most characters of a diff.
const MAX_DIFF_CHARS: usize = 20_000;

/// Returns the diff of two states, file by file; empty if they are equal.
pub(crate) fn unified_diff(old: &FileTexts, new: &FileTexts) -> String {
    let mut text = String::new();
    for name in file_names(old, new) {
        let (before, after) = (file_text(old, name), file_text(new, name));
        if before == after {
            continue;
        }
        let diff = TextDiff::configure()
            .timeout(DIFF_TIMEOUT)
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
        text.push_str(&part);
    }
    truncate_chars(&text, MAX_DIFF_CHARS)
}

/// Summarizes the numbers of added and removed lines.
pub(crate) fn diff_summary(old: &FileTexts, new: &FileTexts) -> String {
    let (mut added, mut removed) = (0_usize, 0_usize);
    for name in file_names(old, new) {
        let (before, after) = (file_text(old, name), file_text(new, name));
        if before == after {
            continue;
        }
        let diff = TextDiff::configure()
            .timeout(DIFF_TIMEOUT)
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

fn file_names<'f>(old: &'f FileTexts, new: &'f FileTexts) -> BTreeSet<&'f str> {
    old.keys().chain(new.keys()).map(String::as_str).collect()
}

fn file_text<'f>(files: &'f FileTexts, name: &str) -> &'f str {
    files.get(name).map_or("", String::as_str)
}
