//! Requests without the random parts of their prompt fences, so that they can be compared.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// Returns a text without the random parts of prompt fences, `<given-7f3a2c>` as `<given>`: requests
/// that differ only in them are the same question.
pub fn without_fence_parts(text: &str) -> Cow<'_, str> {
    static PART: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(</?[a-z_]+)-(?:[0-9a-f]{6}|…)([ >])").ok());
    match &*PART {
        Some(part) => part.replace_all(text, "$1$2"),
        None => Cow::Borrowed(text),
    }
}
