//! The grammar of ids. Ids become paths, so the grammar is strict.

/// The maximum length of a segment.
const MAX_SEGMENT_CHARS: usize = 100;

/// Returns whether one segment of an id is valid: `[A-Za-z0-9_][A-Za-z0-9_-]*`.
pub fn is_segment(part: &str) -> bool {
    part.len() <= MAX_SEGMENT_CHARS
        && !part.starts_with('-')
        && !part.is_empty()
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns whether a whole id is valid: segments separated by `/`.
pub fn is_id(id: &str) -> bool {
    id.split('/').all(is_segment)
}

/// Normalizes a name for comparison: case, `-`, `_` and blanks make no difference.
pub(crate) fn normalize_name(name: &str) -> String {
    name.chars()
        .map(|character| match character {
            '-' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

/// Returns whether two names are equal after normalization.
pub(crate) fn is_same_name(one: &str, other: &str) -> bool {
    normalize_name(one.trim()) == normalize_name(other.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_as_people_mix_them_up() {
        assert!(is_same_name(" Code-Quality", "code_quality"));
        assert!(is_same_name("Code quality", "code-quality"));
        assert!(!is_same_name("code-quality", "codequality"));
    }
}
